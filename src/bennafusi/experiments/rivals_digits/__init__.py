"""The experiment ``rivals-digits``: ways to remember on digits learnt in turn, tuned alike."""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.experiment import Experiment, Extent, Reason, Runs, Scale
from bennafusi.experiments.rivals_digits import digits_claims
from bennafusi.experiments.rivals_digits.digits_job import DigitsRun, DigitsSettings, seconds
from bennafusi.results import Picture


def settings(scale: Scale) -> DigitsSettings:
    """It takes minutes, so that ``quick`` is all of it."""
    if scale == "smoke":
        few = ("control", "benna-fusi", "ema")
        return DigitsSettings(methods=few, visits=(10, 20), updates=100, hidden=16, look=10)
    return DigitsSettings()


def extent(settings: DigitsSettings) -> Extent:
    """Its methods, their updates and the size of what is updated."""
    size = f"{settings.updates:,} updates, {len(settings.visits)} rhythms, 9 points each"
    amount = len(settings.methods) * settings.updates * len(settings.visits) * settings.hidden
    return Extent(amount, f"{len(settings.methods)} methods, {size}")


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """The ranking, and the courses."""
    from bennafusi.experiments.rivals_digits import digits_figures

    return digits_figures.figures(runs, folder)


AVERAGES = Reason(
    "to know all tasks at once, averages of weights do best; the tuning chose as little chain as "
    "its grid has",
    "docs/rivals.md#who-keeps-digits",
)

EXPERIMENT = Experiment(
    name="rivals-digits",
    title="Who keeps digits that are learnt in turn?",
    lead="A small network learns scikit-learn's digits in five tasks that take turns, two digits "
    "each (split) or ten digits with the pixels in another order (permuted), in several rhythms. "
    "Twenty methods around the same Adam, each tuned over nine points on seeds below 10 and judged "
    "on seeds from 10 on. Nobody is told a boundary, but for one, whose name says so.",
    summary="twenty ways to remember, on digits",
    variants={"methods": {}},
    seeds=2,
    settings=settings,
    job=DigitsRun,
    claims=digits_claims.claims,
    reasons={
        statement: AVERAGES
        for statement, (better, _) in digits_claims.CLAIMS.items()
        if better in (digits_claims.MINE, digits_claims.DEEPER)
    },
    extent=extent,
    figures=figures,
    tables=digits_claims.tables,
    scores=digits_claims.scores,
    seconds=seconds,
)

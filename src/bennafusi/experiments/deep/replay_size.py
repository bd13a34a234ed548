"""The experiment ``replay-size``: Figure S3, Cart-Pole with replay databases of different size."""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.deep import claims as judge
from bennafusi.experiments.deep import scales
from bennafusi.experiments.deep.tables import numbers as numbers
from bennafusi.experiments.deep.tables import scores as scores
from bennafusi.results import Finding, Picture, RunData
from bennafusi.training.deep_settings import DeepSettings

SIZES = (1, 100, 1_000, 10_000, 100_000)
SMALL = 1_000  # and less: too small
VARIANTS: scales.Variants = {
    "benna-fusi": {},
    **{f"control-{size}": {"chain.n": 1, "schedule.replay": size} for size in SIZES},
}
DEFAULT_VARIANTS = tuple(VARIANTS)
Job = scales.jobs(VARIANTS)


def settings(scale: scales.Scale) -> DeepSettings:
    """Table S2, single task."""
    return scales.online(scale, "cartpole")


def claims(runs: list[RunData]) -> list[Finding]:
    """The paper's sentence about Figure S3; sizes between small and largest are not judged."""
    small = [f"control-{size}" for size in SIZES if size <= SMALL]
    return [
        judge.FALLS.finding(runs, small, _SMALL),
        judge.STAYS.finding(runs, [f"control-{SIZES[-1]}"], _LARGE),
        judge.STAYS.finding(runs, ["benna-fusi"], _MINE),
    ]


def figures(runs: list[RunData], folder: Path) -> list[Picture]:
    """Figure S3, and what the beakers hold at the end."""
    from bennafusi.experiments.deep import beaker_figure

    title = "Figure S3: replay databases of different size"
    caption = "Control agents by the size of their database, and the Benna-Fusi agent without one."
    curves = scales.online_figure(runs, folder, "figure-s3", title, caption, judge.WINDOW)
    return [*curves, *scales.drawn(beaker_figure.beakers(runs, folder))]


def calibrate() -> float:
    """Seconds of one paper-scale run here."""
    return scales.run_seconds(settings("paper"))


_SMALL = (
    "In the control cases, when the database is too small, the agent can not attain a stable "
    f"performance on the task: up to {SMALL:,}"
)
_LARGE = f"... and with a large one it can: {SIZES[-1]:,}"
_MINE = "... while the Benna-Fusi agent can, in just the online setting"

"""The experiment ``epsilon-floor``: Figure S5, online Cart-Pole with lasting exploration."""

from __future__ import annotations

from functools import partial

import numpy as np

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep import table_s2
from bennafusi.experiments.deep.deep_experiment import curve_figures, deep_experiment
from bennafusi.experiments.experiment import Reason, Runs
from bennafusi.results import Finding

FLOORS = ("0", "0.01", "0.05", "0.1", "0.2")
VARIANTS = {f"floor-{floor}": {"chain.n": 1, "exploration.floor": float(floor)} for floor in FLOORS}
NONE_STABLE = judge.FALLS._replace(every=True)  # "none of the runs"


def claims(runs: Runs) -> list[Finding]:
    """The paper's sentences about Figure S5."""
    return [NONE_STABLE.finding(runs, tuple(VARIANTS), _NONE), _less_stable(runs)]


def _less_stable(runs: Runs) -> Finding:
    rule = (
        "the lowest moving average in the last quarter of the run, median over seeds, is lower "
        "with some floor than without (a run that diverged counts as lowest)"
    )
    all_of_them = NONE_STABLE.finding(runs, tuple(VARIANTS), _LESS)
    if all_of_them.holds is None:
        return all_of_them._replace(expected=rule)
    ended = [run for run in runs if judge.finished(run) or measures.diverged(run)]
    lowest = {
        name: float(np.median([judge.ended(judge.lowest_late, run) for run in mine]))
        for name, mine in measures.by_variant(ended).items()
    }
    none, *floors = (lowest[name] for name in VARIANTS)
    parts = [f"{name} {judge.or_diverged(lowest[name])}" for name in VARIANTS]
    return Finding(_LESS, rule, ", ".join(parts), min(floors) < none)


_NONE = (
    "Control agents where epsilon was not allowed to decay below different minimum values: none of "
    "the runs yielded a good stable performance"
)
_LESS = "... this does not solve the problem and can actually make learning less stable"
REASONS = {
    _LESS: Reason(
        "in short runs no floor does worse than none; at full length runs with one diverge",
        "docs/results.md#the-supplement",
    ),
}

EXPERIMENT = deep_experiment(
    name="epsilon-floor",
    paper=("figS5",),
    title="Would lasting exploration do as well?",
    lead="Control agents on Cart-Pole without a replay database, whose exploration never falls "
    "below a floor.",
    summary="exploration that never ends",
    variants=VARIANTS,
    settings=table_s2.online,
    claims=claims,
    reasons=REASONS,
    figures=partial(
        curve_figures,
        stem="figure-s5",
        title="Figure S5: exploration that never ends",
        caption="Control agents by the least probability with which they act at random.",
        paper_window=judge.WINDOW,
    ),
)

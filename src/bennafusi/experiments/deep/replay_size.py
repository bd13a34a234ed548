"""The experiment ``replay-size``: Figure S3, Cart-Pole with replay databases of different size."""

from __future__ import annotations

from functools import partial

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import table_s2
from bennafusi.experiments.deep.deep_experiment import curve_figures, deep_experiment
from bennafusi.experiments.experiment import Reason, Runs
from bennafusi.results import Finding, all_of

SIZES = (1, 100, 1_000, 10_000, 100_000)
SMALL = 1_000  # and less: too small


def claims(runs: Runs) -> list[Finding]:
    """The paper's sentence about Figure S3, and what "too small" implies of a large database.

    Sizes between small and largest are not judged.
    """
    small = [f"control-{size}" for size in SIZES if size <= SMALL]
    both = [
        judge.FALLS.finding(runs, small, _MINE),
        judge.STAYS.finding(runs, ["benna-fusi"], _MINE),
    ]
    return [all_of(_MINE, both), judge.STAYS.finding(runs, [f"control-{SIZES[-1]}"], _LARGE)]


_MINE = (
    "In the control cases, when the database is too small, the agent can not attain a stable "
    f"performance on the task (up to {SMALL:,}) while the Benna-Fusi agent can"
)
_LARGE = f"... which implies that with a large one it can ({SIZES[-1]:,})"
_WHERE = "docs/results.md#the-supplement"
REASONS = {
    _MINE: Reason("a Benna-Fusi agent may fall late, as in Figure 5", _WHERE),
    _LARGE: Reason(
        "with one update per step, from one old transition, a large database does not make the "
        "control stable: not after 10,000 episodes, and not after 100,000",
        _WHERE,
    ),
}

EXPERIMENT = deep_experiment(
    name="replay-size",
    paper=("figS3",),
    title="How large a replay database does it take?",
    lead="Cart-Pole with one update per step from databases of different size, and the Benna-Fusi "
    "agent without one.",
    summary="replay instead of beakers",
    variants={
        "benna-fusi": {},
        **{f"control-{size}": {"chain.n": 1, "schedule.replay": size} for size in SIZES},
    },
    settings=table_s2.online,
    claims=claims,
    reasons=REASONS,
    figures=partial(
        curve_figures,
        stem="figure-s3",
        title="Figure S3: replay databases of different size",
        caption="Control agents by the size of their database, and the Benna-Fusi agent "
        "without one.",
        paper_window=judge.WINDOW,
    ),
)

"""The experiment ``replay-size``: Figure S3, Cart-Pole with replay databases of different size."""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import table_s2
from bennafusi.experiments.experiment import Runs
from bennafusi.results import Finding, Picture

SIZES = (1, 100, 1_000, 10_000, 100_000)
SMALL = 1_000  # and less: too small


def claims(runs: Runs) -> list[Finding]:
    """The paper's sentence about Figure S3; sizes between small and largest are not judged."""
    small = [f"control-{size}" for size in SIZES if size <= SMALL]
    return [
        judge.FALLS.finding(runs, small, _SMALL),
        judge.STAYS.finding(runs, [f"control-{SIZES[-1]}"], _LARGE),
        judge.STAYS.finding(runs, ["benna-fusi"], _MINE),
    ]


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """Figure S3, and what the beakers hold at the end."""
    title = "Figure S3: replay databases of different size"
    caption = "Control agents by the size of their database, and the Benna-Fusi agent without one."
    return table_s2.curve_figures(runs, folder, "figure-s3", title, caption, judge.WINDOW)


_SMALL = (
    "In the control cases, when the database is too small, the agent can not attain a stable "
    f"performance on the task: up to {SMALL:,}"
)
_LARGE = f"... and with a large one it can: {SIZES[-1]:,}"
_MINE = "... while the Benna-Fusi agent can, in just the online setting"

EXPERIMENT = table_s2.deep_experiment(
    name="replay-size",
    paper=("figS3",),
    title="How large a replay database does it take?",
    lead="Cart-Pole with one update per step from databases of different size, and the Benna-Fusi "
    "agent without one.",
    summary="replay instead of beakers",
    see="Small databases should not reach 500 and stay there; the Benna-Fusi agent without one "
    "should.",
    variants={
        "benna-fusi": {},
        **{f"control-{size}": {"chain.n": 1, "schedule.replay": size} for size in SIZES},
    },
    settings=table_s2.online,
    claims=claims,
    figures=figures,
)

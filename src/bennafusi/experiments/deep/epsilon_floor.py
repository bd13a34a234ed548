"""The experiment ``epsilon-floor``: Figure S5, online Cart-Pole with lasting exploration."""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.deep import claims as judge
from bennafusi.experiments.deep import scales
from bennafusi.experiments.deep.tables import numbers as numbers
from bennafusi.experiments.deep.tables import scores as scores
from bennafusi.results import Finding, Picture, RunData
from bennafusi.training.deep_settings import DeepSettings

FLOORS = ("0", "0.01", "0.05", "0.1", "0.2")
VARIANTS: scales.Variants = {
    f"floor-{floor}": {"chain.n": 1, "exploration.floor": float(floor)} for floor in FLOORS
}
DEFAULT_VARIANTS = tuple(VARIANTS)
Job = scales.jobs(VARIANTS)

NONE_STABLE = judge.FALLS._replace(every=True)  # "none of the runs"


def settings(scale: scales.Scale) -> DeepSettings:
    """Table S2, single task."""
    return scales.online(scale, "cartpole")


def claims(runs: list[RunData]) -> list[Finding]:
    """The paper's sentence about Figure S5."""
    return [NONE_STABLE.finding(runs, DEFAULT_VARIANTS, _NONE)]


def figures(runs: list[RunData], folder: Path) -> list[Picture]:
    """Figure S5."""
    title = "Figure S5: exploration that never ends"
    caption = "Control agents by the least probability with which they act at random."
    return scales.online_figure(runs, folder, "figure-s5", title, caption, judge.WINDOW)


def calibrate() -> float:
    """Seconds of one paper-scale run here."""
    return scales.run_seconds(settings("paper"))


_NONE = (
    "Control agents where epsilon was not allowed to decay below different minimum values: none of "
    "the runs yielded a good stable performance"
)

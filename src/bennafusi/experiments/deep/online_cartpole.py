"""The experiment ``online-cartpole``: Figure 5, Cart-Pole without a replay database."""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.deep import claims as judge
from bennafusi.experiments.deep import scales
from bennafusi.experiments.deep.tables import numbers as numbers
from bennafusi.experiments.deep.tables import scores as scores
from bennafusi.results import Finding, Picture, RunData
from bennafusi.training.deep_settings import DeepSettings

VARIANTS: scales.Variants = {"benna-fusi": {}, **scales.CONTROLS}
DEFAULT_VARIANTS = tuple(VARIANTS)
Job = scales.jobs(VARIANTS)


def settings(scale: scales.Scale) -> DeepSettings:
    """Table S2, single task."""
    return scales.online(scale, "cartpole")


def claims(runs: list[RunData]) -> list[Finding]:
    """The paper's sentences about Figure 5."""
    return [
        judge.LOSES.finding(runs, tuple(scales.CONTROLS), _CONTROLS),
        judge.KEEPS.finding(runs, ("benna-fusi",), _MINE),
    ]


def figures(runs: list[RunData], folder: Path) -> list[Picture]:
    """Figure 5, and what the beakers hold at the end."""
    from bennafusi.experiments.deep import beaker_figure

    title, caption = "Figure 5: Cart-Pole, learnt online", "Benna-Fusi and control agents."
    curves = scales.online_figure(runs, folder, "figure-5", title, caption, judge.LONG_WINDOW)
    return [*curves, *scales.drawn(beaker_figure.beakers(runs, folder))]


def calibrate() -> float:
    """Seconds of one paper-scale run here."""
    return scales.run_seconds(settings("paper"))


_CONTROLS = (
    "None of the control agents were able to learn and maintain a consistently good policy for the "
    "Cart-Pole task"
)
_MINE = "The Benna-Fusi agent learned to perform the task to perfection in most cases"

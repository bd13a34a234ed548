"""The experiment ``three-task``: Figure S2, Cart-Pole with a long pole, Catcher and Cart-Pole."""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.deep import claims as judge
from bennafusi.experiments.deep import scales
from bennafusi.experiments.deep.tables import numbers as numbers
from bennafusi.experiments.deep.tables import scores as scores
from bennafusi.results import Finding, Picture, RunData
from bennafusi.training.deep_settings import DeepSettings

TASKS = ("cartpole-long", "catcher", "cartpole")
CONTROL = "control-1e-3"
VARIANTS: scales.Variants = {"benna-fusi": {}, CONTROL: scales.CONTROLS[CONTROL]}
DEFAULT_VARIANTS = tuple(VARIANTS)
Job = scales.jobs(VARIANTS)


def settings(scale: scales.Scale) -> DeepSettings:
    """Table S2, multi-task, but for 24 epochs of three tasks."""
    epochs = {"epochs": 24} if scale == "paper" else {}
    return scales.multi_task(scale, {**scales.task_fields(*TASKS), **epochs})


def claims(runs: list[RunData]) -> list[Finding]:
    """The paper's sentence about Figure S2, for every task."""
    visits, faster = judge.Visits(runs), judge.Faster(judge.QUARTER)
    return [
        faster.finding(visits, "benna-fusi", [CONTROL], task, _FASTER.format(task))
        for task in TASKS
    ]


def figures(runs: list[RunData], folder: Path) -> list[Picture]:
    """Figure S2, and what the beakers hold meanwhile."""
    from bennafusi.experiments.deep import beaker_figure
    from bennafusi.experiments.deep import figures as draw

    return scales.drawn(draw.three_task(runs, folder), beaker_figure.beakers(runs, folder))


def calibrate() -> float:
    """Seconds of one paper-scale run here."""
    return scales.run_seconds(settings("paper"))


_FASTER = (
    "While the Benna-Fusi agent took a little longer to learn Catcher, by the end of the "
    "simulation it could learn to recall each task much faster than the control: {}"
)

"""The experiment ``two-task``: Figure 4, Cart-Pole and Catcher in turn."""

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

MINE, CONTROLS = "benna-fusi", tuple(scales.CONTROLS)
RATE_OF_MINE = "control-1e-3"
LONGEST = 2.0  # "1.5-2 times longer"


def settings(scale: scales.Scale) -> DeepSettings:
    """Table S2, multi-task."""
    return scales.multi_task(scale)


def claims(runs: list[RunData]) -> list[Finding]:
    """The paper's sentences about Figure 4, and about what it cost."""
    visits = judge.Visits(runs)
    faster = judge.Faster(judge.QUARTER)
    return [
        judge.relearns(visits, MINE, "cartpole", _RELEARNS),
        *(judge.forgets(visits, c, "cartpole", _FORGETS.format(c)) for c in CONTROLS),
        judge.learns_at_first(visits, CONTROLS, "cartpole", _AT_FIRST),
        faster.finding(visits, MINE, CONTROLS, "cartpole", _FASTER),
        faster.finding(visits, MINE, CONTROLS, "catcher", _CATCHER),
        *(judge.earns_more(visits, MINE, c, "cartpole", _EARNS.format(c)) for c in CONTROLS),
        judge.run_time(runs, MINE, RATE_OF_MINE, LONGEST),
    ]


def figures(runs: list[RunData], folder: Path) -> list[Picture]:
    """Figure 4, and what the beakers hold meanwhile."""
    from bennafusi.experiments.deep import beaker_figure
    from bennafusi.experiments.deep import figures as draw

    return scales.drawn(draw.two_task(runs, folder), beaker_figure.beakers(runs, folder))


def calibrate() -> float:
    """Seconds of one paper-scale run here."""
    return scales.run_seconds(settings("paper"))


_RELEARNS = (
    "The Benna-Fusi agent did not display this behaviour and, instead, relearned the task quickly "
    "in all epochs: Cart-Pole"
)
_FORGETS = (
    "Subsequent training on Catcher then left the network at a starting point that made it very "
    "hard or impossible for the agents to relearn Cart-Pole, a severe case of catastrophic "
    "forgetting: {}"
)
_AT_FIRST = "The control agents were all able to learn Cart-Pole at the beginning of training"
_FASTER = (
    "Over the course of training the Benna-Fusi agent became faster at reaching an adequate level "
    "of performance than the control agents: Cart-Pole"
)
_CATCHER = (
    "In Catcher, the Benna-Fusi agent sometimes took longer in the first few epochs, but "
    "subsequently became faster than all the control agents"
)
_EARNS = "Figure 4, bottom: more reward per episode on Cart-Pole after the first visit than {}"

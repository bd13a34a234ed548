"""The experiment ``three-task``: Figure S2, Cart-Pole with a long pole, Catcher and Cart-Pole."""

from __future__ import annotations

from functools import partial

from bennafusi.experiments.deep import depth_claims, depth_which, table_s2, visit_claims
from bennafusi.experiments.deep.deep_experiment import deep_experiment, relearning_figures
from bennafusi.experiments.experiment import Reason, Runs, Scale
from bennafusi.results import Finding
from bennafusi.training.deep_settings import DeepSettings

TASKS = ("cartpole-long", "catcher", "cartpole")
CONTROL = "control-1e-3"


def settings(scale: Scale) -> DeepSettings:
    """Table S2, multi-task, but for 24 epochs of three tasks."""
    epochs = {"smoke": {}, "quick": {"epochs": 12}, "paper": {"epochs": 24}}  # four visits at least
    return table_s2.multi_task(scale, {**table_s2.task_fields(*TASKS), **epochs[scale]})


def claims(runs: Runs) -> list[Finding]:
    """The paper's sentences about Figure S2."""
    visits, faster = visit_claims.Visits(runs), visit_claims.Faster(visit_claims.QUARTER)
    return [
        visit_claims.slower_at_first(visits, "benna-fusi", [CONTROL], "catcher", _SLOWER),
        faster.finding(visits, "benna-fusi", [CONTROL], TASKS, _FASTER),
    ]


def ours(runs: Runs) -> list[Finding]:
    """Our own sentences: what the depths know at a switch, which of them, and who can tell."""
    return [
        *depth_claims.what_depths_know(runs, "benna-fusi", TASKS),
        depth_which.near_the_epoch(runs, ["benna-fusi"]),
        *depth_claims.with_recall(runs, "benna-fusi", TASKS),
        *(depth_which.chooses_well(runs, ["benna-fusi"], judge) for judge in depth_which.JUDGES),
    ]


_SLOWER = "The Benna-Fusi agent took a little longer to learn Catcher than the control agent"
_FASTER = (
    "... by the end of the simulation the Benna-Fusi agent could learn to recall each task much "
    "faster than the control"
)
REASONS = {
    _FASTER: Reason(
        "on a small network and in short epochs the Benna-Fusi agent learns Catcher late or never, "
        "and Cart-PoleLong hardly; at the paper's size it has not been run",
        "docs/results.md#the-supplement",
    ),
}
_RARE = Reason(
    "in short epochs no depth starts a returning task better than the weights by an interval, and "
    "recall saves nothing",
    "docs/depths.md#three-tasks",
)
REASONS |= {finding.statement: _RARE for finding in ours([])}

EXPERIMENT = deep_experiment(
    name="three-task",
    paper=("figS2",),
    title="Does it remember two tasks while it learns a third?",
    lead="Cart-Pole with a long pole, Catcher and Cart-Pole, which take turns.",
    summary="three tasks in turn",
    variants={"benna-fusi": {}, CONTROL: table_s2.CONTROLS[CONTROL], **table_s2.RECALLS},
    usual_variants=lambda scale: ("benna-fusi", CONTROL),
    settings=settings,
    claims=lambda runs: [*claims(runs), *ours(runs)],
    reasons=REASONS,
    figures=partial(
        relearning_figures,
        stem="figure-s2",
        title="Figure S2: relearning three tasks in turn",
    ),
)

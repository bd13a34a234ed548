"""The experiment ``three-task``: Figure S2, Cart-Pole with a long pole, Catcher and Cart-Pole."""

from __future__ import annotations

from functools import partial

from bennafusi.experiments.deep import depth_claims, depth_which, table_s2, visit_claims
from bennafusi.experiments.deep.deep_experiment import deep_experiment, relearning_figures
from bennafusi.experiments.experiment import UNKNOWN, Reason, Runs, Scale, Why
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
REASONS: dict[str, Why] = {
    _FASTER: Reason(
        "in short epochs the Benna-Fusi agent learns Catcher late or never, and on a small network "
        "Cart-PoleLong hardly; at the paper's size it recalls both poles much faster, and Catcher "
        "in the last visits",
        "docs/results.md#three-tasks-at-the-papers-size",
    ),
}
_SHORT = 5_000  # episodes of an epoch, in which these were found; by a word of the statement
_DEPTHS = {
    "at a switch back": "no depth starts a returning task better than the weights by an interval",
    "at the end of an epoch": "what was just trained the weights play as well as any depth, but "
    "for Catcher, and beaker 2 plays it no better",
    "recall": "recall saves nothing: a depth that has the whole task is rare",
    "of the weights chooses": "neither loss nor agreement on the weights' own games tells which "
    "depth plays better",
}


def _why(words: str, of: DeepSettings) -> Reason:
    short = of.episodes <= _SHORT
    return Reason(f"in short epochs {words}", "docs/depths.md#three-tasks") if short else UNKNOWN


REASONS |= {
    finding.statement: partial(_why, words)
    for finding in ours([])
    for word, words in _DEPTHS.items()
    if word in finding.statement
}

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

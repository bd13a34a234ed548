"""The experiment ``two-task``: Figure 4, Cart-Pole and Catcher in turn."""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import depth_claims, table_s2
from bennafusi.experiments.experiment import Runs
from bennafusi.results import Finding, Picture
from bennafusi.training.deep_settings import DeepSettings

MINE, CONTROLS = "benna-fusi", tuple(table_s2.CONTROLS)
TASKS = DeepSettings.tasks
RATE_OF_MINE = "control-1e-3"
RECALL, _ = depth_claims.RECALLS
LONGEST = 2.0  # "1.5-2 times longer"


def claims(runs: Runs) -> list[Finding]:
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


def ours(runs: Runs) -> list[Finding]:
    """Our own sentences: what the depths know at a switch, which of them, and who can tell."""
    return [
        *depth_claims.what_depths_know(runs, MINE, TASKS),
        depth_claims.near_the_epoch(runs, [MINE]),
        *depth_claims.with_recall(runs, MINE, TASKS),
        *(depth_claims.chooses_well(runs, [RECALL], judge) for judge in depth_claims.JUDGES),
    ]


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """Figure 4, and what the beakers hold meanwhile."""
    title = "Figure 4: relearning two tasks in turn"
    return table_s2.relearning_figures(runs, folder, "figure-4", title)


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

EXPERIMENT = table_s2.deep_experiment(
    name="two-task",
    paper=("fig4",),
    title="Does a network remember a task while it learns another?",
    lead="Deep soft Q-learning on Cart-Pole and Catcher, which take turns. How long does each "
    "task take to relearn? Benna-Fusi and control agents; Table S2 of the paper, multi-task.",
    summary="Cart-Pole and Catcher in turn",
    see="In the upper row, the Benna-Fusi agent (orange squares) should stay low from the second "
    "visit on; controls that forget climb into the strip of ∞.",
    variants={MINE: {}, **table_s2.CONTROLS, **table_s2.RECALLS},
    # The control of the same rate; the others take as long again.
    usual_variants=lambda scale: (MINE, RATE_OF_MINE) if scale == "quick" else (MINE, *CONTROLS),
    settings=table_s2.multi_task,
    claims=lambda runs: [*claims(runs), *ours(runs)],
    figures=figures,
)

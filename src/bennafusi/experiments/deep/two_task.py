"""The experiment ``two-task``: Figure 4, Cart-Pole and Catcher in turn."""

from __future__ import annotations

from functools import partial

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import depth_claims, depth_which, table_s2, visit_claims
from bennafusi.experiments.deep.deep_experiment import deep_experiment, relearning_figures
from bennafusi.experiments.experiment import Reason, Runs, Scale
from bennafusi.results import Finding
from bennafusi.training.deep_settings import DeepSettings

MINE, CONTROLS = "benna-fusi", tuple(table_s2.CONTROLS)
TASKS = DeepSettings.tasks
RATE_OF_MINE = "control-1e-3"
LONGEST = 2.0  # "1.5-2 times longer"
QUICK = 7_500  # episodes: the shortest epochs in which each task was relearnt on seeds 0 and 1


def settings(scale: Scale) -> DeepSettings:
    """Table S2, multi-task."""
    return table_s2.multi_task(scale, {"episodes": QUICK} if scale == "quick" else None)


def claims(runs: Runs) -> list[Finding]:
    """The paper's sentences about Figure 4, and about what it cost."""
    visits, faster = visit_claims.Visits(runs), visit_claims.Faster(visit_claims.QUARTER)
    return [
        faster.finding(visits, MINE, CONTROLS, TASKS, _FASTER),
        visit_claims.learns_at_first(visits, CONTROLS, "cartpole", _AT_FIRST),
        visit_claims.forget(visits, CONTROLS, "cartpole", _FORGET),
        visit_claims.relearns(visits, MINE, "cartpole", _RELEARNS),
        visit_claims.slower_at_first(visits, MINE, CONTROLS, "catcher", _SLOWER),
        *(
            visit_claims.earns_more(visits, MINE, CONTROLS, task, _EARNS.format(task))
            for task in TASKS
        ),
        judge.run_time(runs, MINE, RATE_OF_MINE, LONGEST),
    ]


def ours(runs: Runs) -> list[Finding]:
    """Our own sentences: what the depths know at a switch, which of them, and who can tell."""
    recalled = depth_claims.Unheld.among(runs)
    return [
        *depth_claims.what_depths_know(runs, MINE, TASKS),
        depth_which.near_the_epoch(runs, [MINE]),
        *depth_claims.with_recall(runs, MINE, TASKS),
        *(
            recalled.noted(depth_which.chooses_well(recalled.runs, [depth_claims.RECALL], judge))
            for judge in depth_which.JUDGES
        ),
    ]


_FASTER = (
    "Over the course of training the Benna-Fusi agent became faster at reaching an adequate level "
    "of performance on each task than the control agents"
)
_AT_FIRST = "The control agents were all able to learn Cart-Pole at the beginning of training"
_FORGET = (
    "Subsequent training on Catcher then left the network at a starting point that made it very "
    "hard or impossible for the agents to relearn Cart-Pole, a severe case of catastrophic "
    "forgetting"
)
_RELEARNS = (
    "The Benna-Fusi agent did not display this behaviour and, instead, relearned the task quickly "
    "in all epochs"
)
_SLOWER = (
    "In Catcher, the Benna-Fusi agent sometimes took longer to converge to a good performance in "
    "the first few epochs of training"
)
_EARNS = "Figure 4, bottom: more reward per episode than the control agents, {}"
_WHERE = "docs/results.md#at-the-papers-size"
REASONS = {
    _FASTER: Reason(
        "Catcher comes slowly to the Benna-Fusi agent in short epochs; with those of the paper's "
        "length it relearns it faster than the control of its rate from the fourth visit on",
        _WHERE,
    ),
    _AT_FIRST: Reason(
        "the small rates are too slow to learn anything in short epochs; at the paper's own length "
        "the control of rate 1e-3 does",
        _WHERE,
    ),
    _FORGET: Reason(
        "controls of smaller rates forget less often than the rule asks: at the paper's length "
        "that of 1e-4 misses Cart-Pole in a tenth of its visits",
        _WHERE,
    ),
    _EARNS.format("catcher"): Reason(
        "the Benna-Fusi agent learns Catcher late, and earns little until then: in short epochs "
        "less than the control of its rate, over the paper's length more; one of rate 1e-4 earns "
        "more throughout",
        _WHERE,
    ),
}
_RARE = Reason(
    "a depth remembers a whole policy at few switches, and which depth that is differs",
    "docs/depths.md#what-came-out",
)
REASONS |= {finding.statement: _RARE for finding in ours([])}

EXPERIMENT = deep_experiment(
    name="two-task",
    paper=("fig4",),
    title="Does a network remember a task while it learns another?",
    lead="Deep soft Q-learning on Cart-Pole and Catcher, which take turns. How long does each "
    "task take to relearn? Benna-Fusi and control agents; Table S2 of the paper, multi-task.",
    summary="Cart-Pole and Catcher in turn",
    variants={MINE: {}, **table_s2.CONTROLS, **table_s2.RECALLS},
    # The control of the same rate; the others take as long again.
    usual_variants=lambda scale: (MINE, RATE_OF_MINE) if scale == "quick" else (MINE, *CONTROLS),
    settings=settings,
    claims=lambda runs: [*claims(runs), *ours(runs)],
    reasons=REASONS,
    figures=partial(
        relearning_figures,
        stem="figure-4",
        title="Figure 4: relearning two tasks in turn",
    ),
)

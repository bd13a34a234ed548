"""The experiment ``rivals-two-task``: ways to remember two tasks that take turns."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from bennafusi.experiments.deep import deep_measures, deep_tables, rival_agents, table_s2
from bennafusi.experiments.deep.deep_experiment import deep_experiment, relearning_figures
from bennafusi.experiments.deep.rival_agents import Chosen, Points
from bennafusi.experiments.experiment import Runs, Scale, drawn
from bennafusi.results import Picture, RunData
from bennafusi.training.deep_settings import DeepSettings

RULE = (
    "reward per episode from the third epoch on, in parts of each task's threshold, mean over "
    "epochs, a diverged run's being the lowest of all"
)
TOLD = "permanent-transient-told-boundaries"
AGENTS = {**rival_agents.AGENTS, **rival_agents.REPLAYS, TOLD: rival_agents.PERMANENT}
ALSO = {
    rival_agents.DOES_BETTER.format(words): (rival_agents.MINE, other)
    for other, words in {
        "synaptic-intelligence": "synaptic intelligence",
        "reservoir-replay": "a replay of all there was",
        "cascade-replay": "a replay of many ages",
        TOLD: "permanent and transient values",
    }.items()
}
TASKS = "cartpole+catcher"
# Of each agent: the highest mean score of seeds 0 and 1 at quick scale.
CHOSEN: Points = {
    "control": {TASKS: Chosen(1.0, 2e-4)},
    "benna-fusi": {TASKS: Chosen(0.1, 1e-3)},
    "online-ewc": {TASKS: Chosen(0.1, 3e-4)},
    "reservoir-replay": {TASKS: Chosen(5.0, 3e-4)},
    "synaptic-intelligence": {TASKS: Chosen(10.0, 3e-4)},
    "cascade-replay": {TASKS: Chosen(0.1, 3e-4)},
    TOLD: {TASKS: Chosen(1.0, 3e-4)},
}
# Not a rival, and not tuned by itself: what a control comes to that begins each epoch anew.
ANEW = {**rival_agents.AGENTS[rival_agents.NOTHING], **rival_agents.RESET}
REFERENCE = {deep_tables.ALONE: rival_agents.fixed("control", ANEW, CHOSEN["control"])}


def settings(scale: Scale) -> DeepSettings:
    """As ``two-task``, in epochs of 5,000 episodes at quick scale, without looks at the depths."""
    return table_s2.multi_task(scale, {"depths.games": 0})


def score(run: RunData) -> float:
    """By which agents are tuned and judged: :data:`RULE`; not a number where a task has none.

    Nor where the run diverged, which :func:`rival_agents.judged` puts behind all others: rewards
    of Catcher may be below 0, so that 0 is not the least.

    Example:
        >>> score(RunData("a", 10, []))
        nan
    """
    if deep_measures.diverged(run):
        return float("nan")
    tasks = deep_measures.epoch_tasks(run)[2:]
    rewards = deep_measures.reward_per_epoch(run)[2:]
    levels = [deep_measures.THRESHOLDS.get(task, np.nan) for task in tasks]
    parts = [reward / level for reward, level in zip(rewards, levels, strict=True)]
    return float(np.mean(parts)) if parts else float("nan")


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """Who is before whom, and how long each task takes to relearn, of the judged agents."""
    mine = rival_agents.judged_runs(runs)
    title = "Relearning two tasks in turn"
    first = rival_agents.ranking_drawn(runs, folder, score, RULE)
    return [
        *drawn(first),
        *(relearning_figures(mine, folder, "relearning", title) if mine else []),
    ]


EXPERIMENT = deep_experiment(
    name="rivals-two-task",
    title="Who remembers two tasks that take turns?",
    lead="Cart-Pole and Catcher in turn, as in two-task but, shortened, in shorter epochs. A chain "
    "against other ways to remember, each tuned over the same grid on seeds below 10 and judged on "
    "others.",
    summary="ways to remember two tasks, tuned alike",
    variants={**rival_agents.variants(CHOSEN, AGENTS), **REFERENCE},
    usual_variants=lambda scale: rival_agents.usual(CHOSEN, AGENTS),
    settings=settings,
    scores=partial(rival_agents.scores, score=score, rule=RULE),
    shown=rival_agents.shown,
    claims=partial(rival_agents.claims, score=score, rule=RULE, also=ALSO),
    tables=partial(rival_agents.tables, score=score, rule=RULE),
    figures=figures,
)

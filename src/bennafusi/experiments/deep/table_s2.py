"""Table S2 at each scale, for one task and for several in turn, and the agents beside the chain.

The paper's numbers stand in :mod:`bennafusi.training.deep_settings` and nowhere else.
"""

from __future__ import annotations

from typing import Any

from bennafusi.experiments.deep.deep_job import SWITCH_TESTS
from bennafusi.experiments.experiment import Changes, Scale
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import ONLINE, DeepSettings

# The tables name two discounts; the longer pole is given Cart-Pole's.
_CARTPOLE, _CATCHER = DeepSettings.gammas
GAMMAS = {"cartpole": _CARTPOLE, "catcher": _CATCHER, "cartpole-long": _CARTPOLE}
OTHERS = 0.99  # the discount of tasks that are not the paper's

# "10^-3 to 10^-6": one control agent for each power of ten.
CONTROLS: dict[str, Changes] = {
    f"control-{rate}": {"chain.n": 1, "optimizer.learning_rate": float(rate)}
    for rate in ("1e-3", "1e-4", "1e-5", "1e-6")
}

# Our own: the depth that plays best at a switch is poured back up.
_LOOKS: Changes = {"depths.games": SWITCH_TESTS}  # the same program as the tests at a switch
RECALLS: dict[str, Changes] = {
    "benna-fusi-recall": {**_LOOKS, "recall.kind": "explore"},
    "benna-fusi-recall-hold": {**_LOOKS, "recall.kind": "hold"},
}

# Smoke takes seconds: tests come often, so that even a handful of episodes has some. Quick takes
# minutes: the paper's network, and epochs long enough for tasks to be relearnt on seed 0; two-task
# has longer ones, which seed 1 asked for.
_SMOKE: Changes = {"network.hidden": (8, 8), "max_steps": 50, "test_every": 2}
MULTI: dict[Scale, Changes] = {
    "smoke": {**_SMOKE, "episodes": 20, "epochs": 4},
    "quick": {**_LOOKS, "episodes": 5_000, "epochs": 8},
    "paper": _LOOKS,
}
SINGLE: dict[Scale, Changes] = {
    "smoke": {**_SMOKE, "episodes": 40},
    "quick": {"episodes": 10_000},
    "paper": {},
}


def task_fields(*tasks: str) -> dict[str, Any]:
    """The settings that name the tasks.

    Example:
        >>> task_fields("catcher")
        {'tasks': ('catcher',), 'gammas': (0.99,)}
    """
    return {"tasks": tasks, "gammas": tuple(GAMMAS.get(task, OTHERS) for task in tasks)}


def multi_task(scale: Scale, changes: Changes | None = None) -> DeepSettings:
    """Several tasks in turn, Table S2's first column, but for an experiment's changes by path."""
    return changed(DeepSettings(), {**MULTI[scale], **(changes or {})})


def online(scale: Scale, task: str = "cartpole") -> DeepSettings:
    """One task learnt step by step, Table S2's second column."""
    return changed(DeepSettings(), {**ONLINE, **task_fields(task), **SINGLE[scale]})

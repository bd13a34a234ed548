"""Tasks by name: the paper's control tasks, and those of gymnax."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bennafusi.envs.cartpole import CartPole
from bennafusi.envs.catcher import Catcher
from bennafusi.envs.control import ControlTask
from bennafusi.envs.gymnax_tasks import PREFIX, GymnaxTask

TASKS: dict[str, ControlTask] = {
    "cartpole": CartPole(),
    "cartpole-long": CartPole(half_length=1.0),
    "catcher": Catcher(),
}
# Of gymnax, those that were compared with the original; the others of its list are taken as well.
GYMNAX = tuple(
    PREFIX + name
    for name in (
        "Breakout-MinAtar",
        "SpaceInvaders-MinAtar",
        "Asterix-MinAtar",
        "Freeway-MinAtar",
        "Acrobot-v1",
        "MountainCar-v0",
    )
)


def find(name: str, max_steps: int | None = None, sticky: float = 0.0) -> Any:
    """The task of a name, with limits of its own where none are given.

    Args:
        name: one of :data:`TASKS`, or ``gymnax/`` and a name of gymnax's.
        max_steps: steps after which an episode is cut short.
        sticky: how often the last action is taken again; of gymnax's tasks alone.

    Raises:
        ValueError: if there is no such task, or it cannot be had.
    """
    if name.startswith(PREFIX):
        return GymnaxTask(name.removeprefix(PREFIX), max_steps, sticky)
    if name not in TASKS:
        known = ", ".join(map(repr, (*TASKS, *GYMNAX)))
        raise ValueError(f"unknown task {name!r}; choose from {known}")
    if sticky:
        raise ValueError(f"sticky={sticky:g} with task {name!r}: only gymnax's tasks can have it")
    task: Any = TASKS[name]
    return task if max_steps is None else replace(task, max_steps=max_steps)

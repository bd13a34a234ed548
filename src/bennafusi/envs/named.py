"""The paper's control tasks by name."""

from __future__ import annotations

from bennafusi.envs.cartpole import CartPole
from bennafusi.envs.catcher import Catcher
from bennafusi.envs.control import ControlTask

TASKS: dict[str, ControlTask] = {
    "cartpole": CartPole(),
    "cartpole-long": CartPole(half_length=1.0),
    "catcher": Catcher(),
}

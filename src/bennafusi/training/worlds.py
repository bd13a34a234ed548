"""The tasks of a run behind one pair of functions, of which the task is an argument."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from bennafusi.envs.control import ControlState
from bennafusi.training.deep_settings import DeepSettings


def begin(settings: DeepSettings, task: Array, noise: Array) -> tuple[ControlState, Array]:
    """The first state of an episode of a task, and what the agent sees of it."""

    def of(world: Any) -> Any:
        def first(noise: Array) -> tuple[ControlState, Array]:
            state = world.begin(noise)
            return state, world.features(state)

        return first

    begun: tuple[ControlState, Array] = _chosen(settings, task, of, noise)
    return begun


def move(
    settings: DeepSettings, task: Array, world: ControlState, action: Array, noise: Array
) -> tuple[ControlState, Array, Array, Array, Array]:
    """One step of a task: its state, what is seen of it, reward, terminated, truncated."""

    def of(world: Any) -> Any:
        def step(state: ControlState, action: Array, noise: Array) -> Any:
            state, reward, terminated, truncated = world.move(state, action, noise)
            return state, world.features(state), reward, terminated, truncated

        return step

    moved: tuple[ControlState, Array, Array, Array, Array] = _chosen(
        settings, task, of, world, action, noise
    )
    return moved


def _chosen(settings: DeepSettings, task: Array, of: Any, *operands: Any) -> Any:
    """The same function of the task that is being trained.

    All tasks move, and one of them is kept: a few dozen numbers are worked out sooner than a branch
    is taken.
    """
    first, *others = (of(world)(*operands) for world in settings.worlds)
    for number, other in enumerate(others, start=1):
        first = jax.tree.map(partial(jnp.where, task == number), other, first)
    return first

"""The tasks of a run behind one ``reset`` and one ``step``, of which the task is an argument."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from bennafusi.envs.control import ControlState
from bennafusi.training.deep_settings import DeepSettings


def reset(settings: DeepSettings, task: Array, noise: Array) -> tuple[ControlState, Array]:
    """The first state of an episode of a task, and what the network sees of it."""

    def of(env: Any) -> Any:
        def first(noise: Array) -> tuple[ControlState, Array]:
            state = env.reset(noise)
            return state, env.features(state).ravel()

        return first

    begun: tuple[ControlState, Array] = _chosen(settings, task, of, noise)
    return begun


def step(
    settings: DeepSettings, task: Array, state: ControlState, action: Array, noise: Array
) -> tuple[ControlState, Array, Array, Array, Array]:
    """One step of a task: its state, what is seen of it, reward, terminated, truncated."""

    def of(env: Any) -> Any:
        def one(state: ControlState, action: Array, noise: Array) -> Any:
            state, reward, terminated, truncated = env.step(state, action, noise)
            return state, env.features(state).ravel(), reward, terminated, truncated

        return one

    after: tuple[ControlState, Array, Array, Array, Array] = _chosen(
        settings, task, of, state, action, noise
    )
    return after


def observe(settings: DeepSettings, task: Array, state: ControlState) -> Array:
    """What the network sees of a state of a task."""
    seen: Array = _chosen(settings, task, lambda env: lambda s: env.features(s).ravel(), state)
    return seen


def _chosen(settings: DeepSettings, task: Array, of: Any, *operands: Any) -> Any:
    """The same function of the task that is being trained.

    All tasks move, and one of them is kept: a few dozen numbers are worked out sooner than a branch
    is taken.
    """
    first, *others = (of(env)(*operands) for env in settings.envs)
    for number, other in enumerate(others, start=1):
        first = jax.tree.map(partial(jnp.where, task == number), other, first)
    return first

"""The tasks of a run behind one ``reset`` and one ``step``, of which the task is an argument.

A task is given by its number. A traced number is one of several small tasks: all of them move, and
one is kept, for a few dozen numbers are worked out sooner than a branch is taken. A Python number
is fixed while a program is compiled: that task alone moves, whatever its state is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.envs.control import NOISE
from bennafusi.envs.task import draw_chance
from bennafusi.training.deep_settings import DeepSettings

Task = Array | int
T = TypeVar("T")


def noise(settings: DeepSettings) -> int:
    """Uniform numbers that a step of any task takes out of a common block; 0 if it takes a key."""
    return 0 if settings.separate else NOISE


def chance(settings: DeepSettings, task: Task, key: Array) -> Array:
    """What a reset or a step takes, from a key of its own."""
    if isinstance(task, int):
        return draw_chance(settings.envs[task], key)
    return jax.random.uniform(key, (NOISE,))


def reset(settings: DeepSettings, task: Task, chance: Array) -> tuple[Any, Array]:
    """The first state of an episode of a task, and what the network sees of it."""

    def first(env: Any) -> tuple[Any, Array]:
        state = env.reset(chance)
        return state, _seen(settings, env, state)

    return _chosen(settings, task, first)


def step(
    settings: DeepSettings, task: Task, state: Any, action: Array, chance: Array
) -> tuple[Any, Array, Array, Array, Array]:
    """One step of a task: its state, what is seen of it, reward, terminated, truncated."""

    def moved(env: Any) -> tuple[Any, Array, Array, Array, Array]:
        after, reward, terminated, truncated = env.step(state, action, chance)
        return after, _seen(settings, env, after), reward, terminated, truncated

    return _chosen(settings, task, moved)


def observe(settings: DeepSettings, task: Task, state: Any) -> Array:
    """What the network sees of a state of a task."""
    return _chosen(settings, task, lambda env: _seen(settings, env, state))


def seal(settings: DeepSettings, state: Any) -> Array:
    """A task's state as bytes, as many for every task of the run: so it is kept between chunks."""

    def raw(x: Array) -> Array:
        whole = x.astype(jnp.uint8) if x.dtype == bool else x
        return lax.bitcast_convert_type(whole, jnp.uint8).ravel()

    flat = jnp.concatenate([raw(x) for x in jax.tree.leaves(state)])
    room = max(_size(outline) for outline, _ in _outlines(settings))
    return jnp.pad(flat, (0, room - flat.size))


def unseal(settings: DeepSettings, task: int, sealed: Array) -> Any:
    """The opposite, for the task whose state it is."""
    leaves, structure = jax.tree.flatten(_outlines(settings)[task][0])
    place, found = 0, []
    for leaf in leaves:
        width = leaf.dtype.itemsize
        raw = lax.slice(sealed, (place,), (place + leaf.size * width,))
        place += leaf.size * width
        if leaf.dtype == bool:
            found.append(raw.reshape(leaf.shape).astype(bool))
        else:
            rows = raw.reshape(*leaf.shape, width) if width > 1 else raw.reshape(leaf.shape)
            found.append(lax.bitcast_convert_type(rows, leaf.dtype))
    return jax.tree.unflatten(structure, found)


@cache  # a task of gymnax is traced for it
def _outlines(settings: DeepSettings) -> tuple[tuple[Any, Any], ...]:
    """Shapes and dtypes of every task's state, and of what is seen of it."""

    def begun(env: Any) -> Any:
        state = env.reset(draw_chance(env, jax.random.key(0)))
        return state, _features(env, state)

    return tuple(jax.eval_shape(partial(begun, env)) for env in settings.envs)


def _size(outline: Any) -> int:
    return sum(math.prod(x.shape) * x.dtype.itemsize for x in jax.tree.leaves(outline))


def _seen(settings: DeepSettings, env: Any, state: Any) -> Array:
    """What the network sees: numbers in a row; of tasks by themselves in their own shape."""
    seen = _features(env, state)
    if not settings.separate:
        return seen.ravel()
    # Bits stay bits if every task has them.
    return seen.astype(jnp.result_type(*(x.dtype for _, x in _outlines(settings))))


def _features(env: Any, state: Any) -> Array:
    features: Array = getattr(env, "features", env.observe)(state)
    return features


def _chosen(settings: DeepSettings, task: Task, of: Callable[[Any], T]) -> T:
    """What a function makes of the task that is being trained."""
    if isinstance(task, int):
        return of(settings.envs[task])
    first, *others = map(of, settings.envs)
    for number, other in enumerate(others, start=1):
        first = jax.tree.map(partial(jnp.where, task == number), other, first)
    return first

"""Episodes of an agent that neither explores nor learns: for tests, pictures and probes alike."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from bennafusi.agents.networks import Params
from bennafusi.agents.policies import choose
from bennafusi.training import multitask
from bennafusi.training.deep_settings import DeepSettings


class Trajectory(NamedTuple):
    """One episode, or several with a leading axis; entries beyond its length are void.

    Attributes:
        states: of the task, before the first step and after each, ``[max_steps + 1, ...]``.
        actions: ``[max_steps]``, int32.
        returns: reward so far, before the first step and after each, ``[max_steps + 1]``.
        length: how many steps it took, int32.
        total: its reward.
    """

    states: Any
    actions: Array
    returns: Array
    length: Array
    total: Array


class _Moment(NamedTuple):
    """A trajectory that goes on: what is seen, and whether it is over."""

    state: Any
    observation: Array
    done: Array
    so_far: Trajectory


def rollout(settings: DeepSettings, params: Params, task: Array | int, key: Array) -> Trajectory:
    """One episode of a network on any of the settings' tasks, all of whose chance is the key's.

    Args:
        settings: of a run.
        params: the network, of whatever depth of the chains.
        task: its number; a Python number if tasks have a program each (``settings.separate``).
        key: a random key.
    """
    none = jnp.zeros((), jnp.float32)

    def step(now: _Moment) -> _Moment:
        past, length = now.so_far, now.so_far.length
        rank, chance = _chance(settings, task, key, length + 1)
        q = settings.network.values(params, task, now.observation)
        action = choose(q, settings.agent.alpha, none, none, rank)
        state, observation, reward, terminated, truncated = multitask.step(
            settings, task, now.state, action, chance
        )
        total = past.total + reward
        so_far = Trajectory(
            jax.tree.map(partial(_put, length + 1), past.states, state),
            _put(length, past.actions, action),
            _put(length + 1, past.returns, total),
            length + 1,
            total,
        )
        return _Moment(state, observation, terminated | truncated, so_far)

    _, chance = _chance(settings, task, key, jnp.zeros((), jnp.int32))
    state, observation = multitask.reset(settings, task, chance)
    room = settings.max_steps + 1
    states = jax.tree.map(lambda x: jnp.zeros((room, *x.shape), x.dtype).at[0].set(x), state)
    zero = jnp.zeros((), jnp.int32)
    actions, returns = jnp.zeros(room - 1, jnp.int32), jnp.zeros(room, jnp.float32)
    first = _Moment(
        state, observation, jnp.zeros((), bool), Trajectory(states, actions, returns, zero, none)
    )
    return lax.while_loop(lambda now: ~now.done, step, first).so_far


def rollouts(
    settings: DeepSettings,
    params: Params,
    task: Array | int,
    key: Array,
    episodes: int,
    first: int | None = None,
) -> Trajectory:
    """So many episodes, with a leading axis; those that :func:`evaluate` counts for that key.

    Args:
        settings: of a run.
        params: the network.
        task: its number.
        key: of all of them.
        episodes: how many the key is for.
        first: how many of those to play, from the first on; None is all.
    """
    own = _own(settings, task)
    played: Trajectory = _rollouts(settings, own, params, task, key, episodes, first)
    return played


def evaluate(
    settings: DeepSettings, params: Params, task: Array, key: Array, episodes: int
) -> Array:
    """The rewards of so many episodes, ``[episodes]``."""
    return rollouts(settings, params, task, key, episodes).total


def _own(settings: DeepSettings, task: Array | int) -> int | None:
    return int(task) if settings.separate else None


@partial(jax.jit, static_argnames=("settings", "own", "episodes", "first"))
def _rollouts(
    settings: DeepSettings,
    own: int | None,
    params: Params,
    task: Array,
    key: Array,
    episodes: int,
    first: int | None = None,
) -> Trajectory:
    play = partial(rollout, settings, params, task if own is None else own)
    keys = jax.random.split(key, episodes)
    played: Trajectory = lax.map(play, keys if first is None else keys[:first])
    return played


def apart(played: Trajectory) -> list[Trajectory]:
    """Each of several episodes by itself, as NumPy arrays without the void."""
    host = jax.tree.map(np.asarray, played)

    def one(number: int) -> Trajectory:
        steps = int(host.length[number])
        cut = jax.tree.map(lambda x: x[number, : steps + 1] if x.ndim > 1 else x[number], host)
        whole: Trajectory = cut._replace(actions=cut.actions[:steps])
        return whole

    return [one(number) for number in range(len(host.length))]


def _put(place: Array, rows: Array, row: Any) -> Array:
    put: Array = lax.dynamic_update_index_in_dim(rows, row, place, 0)
    return put


def _chance(
    settings: DeepSettings, task: Array | int, key: Array, step: Array
) -> tuple[Array, Array]:
    """What picks the action, and what the task takes."""
    here = jax.random.fold_in(key, step)
    both = jax.random.uniform(here, (1 + multitask.noise(settings),))
    if isinstance(task, int):
        return both[0], multitask.chance(settings, task, jax.random.fold_in(here, 1))
    return both[0], both[1:]

"""An agent that plays, and neither explores nor learns."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.agents import soft_q
from bennafusi.agents.policies import choose
from bennafusi.agents.soft_q import SoftQState
from bennafusi.envs.control import NOISE, ControlState
from bennafusi.training import worlds
from bennafusi.training.deep_settings import DeepSettings


@partial(jax.jit, static_argnames=("settings", "episodes"))
def evaluate(
    settings: DeepSettings, agent: SoftQState, task: Array, key: Array, episodes: int
) -> Array:
    """Rewards of an agent that neither explores nor learns, ``[episodes]``, on any of the tasks."""

    def episode(key: Array) -> Array:
        def step(moment: Moment) -> Moment:
            return play(settings, agent, task, key, moment)

        first = first_moment(settings, task, key)
        last: Moment = lax.while_loop(lambda moment: ~moment.over, step, first)
        return last.total

    rewards: Array = lax.map(episode, jax.random.split(key, episodes))
    return rewards


class Moment(NamedTuple):
    """An episode that is only played, after some steps.

    Attributes:
        world: the task's own state.
        seen: what the agent sees of it.
        action: what it did last, int32.
        total: its reward so far.
        over: whether the episode is.
    """

    world: ControlState
    seen: Array
    action: Array
    total: Array
    over: Array


def first_moment(settings: DeepSettings, task: Array, key: Array) -> Moment:
    """The start of an episode, all of whose chance comes from ``key``."""
    world, seen = worlds.begin(settings, task, _chance(key, jnp.zeros((), jnp.int32))[1:])
    zero = jnp.zeros((), jnp.int32)
    return Moment(world, seen, zero, zero.astype(jnp.float32), zero.astype(jnp.bool_))


def play(
    settings: DeepSettings, agent: SoftQState, task: Array, key: Array, moment: Moment
) -> Moment:
    """One step of an agent that neither explores nor learns."""
    chance = _chance(key, moment.world.steps + 1)
    none = jnp.zeros((), jnp.float32)
    q = soft_q.values(settings.learner, agent, task, moment.seen)
    action = choose(q, settings.agent.alpha, none, none, chance[0])
    world, seen, reward, terminated, truncated = worlds.move(
        settings, task, moment.world, action, chance[1:]
    )
    return Moment(world, seen, action, moment.total + reward, terminated | truncated)


def _chance(key: Array, step: Array) -> Array:
    return jax.random.uniform(jax.random.fold_in(key, step), (1 + NOISE,))

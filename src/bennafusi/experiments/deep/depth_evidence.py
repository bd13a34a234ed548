"""What can be said of the depths from the weights' own games: their losses, and who agrees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bennafusi.agents.networks import Params
from bennafusi.agents.policies import soft_value
from bennafusi.training import multitask
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.rollout import rollouts


class GameSteps(NamedTuple):
    """The steps of some games of one task; those beyond a game's length count for nothing."""

    observations: Array  # before the first step and after each, [games, steps + 1, ...]
    actions: Array  # [games, steps], int32
    rewards: Array  # [games, steps]
    discounts: Array  # [games, steps]; 0 where the step was the last
    counts: Array  # whether there was such a step, [games, steps]


def evidence(
    settings: DeepSettings, players: Sequence[Params], task: int, key: Array, games: int
) -> tuple[list[float], list[float]]:
    r"""Losses and agreement, one of each per network, on the games that the first of them plays.

    The loss is the mean of :math:`(r + \gamma V(s') - Q(s, a))^2`, with the network's own values
    on both sides; agreement is the share of states, and of other networks, in which both would
    choose the same action.

    Of the games the first half is used, as for choosing by reward.
    """
    number = jnp.int32(task)
    own = task if settings.separate else None
    played = _play(settings, own, players[0], number, key, games)
    found = [_values(settings, params, number, played) for params in players]
    counts = np.asarray(played.counts)
    greedy = np.stack([np.asarray(action)[counts] for _, action in found])
    same = (greedy[:, None] == greedy).mean(axis=-1)
    others = max(len(players) - 1, 1)
    return [float(loss) for loss, _ in found], ((same.sum(axis=1) - 1) / others).tolist()


@partial(jax.jit, static_argnames=("settings", "own", "games"))
def _play(
    settings: DeepSettings, own: int | None, params: Params, number: Array, key: Array, games: int
) -> GameSteps:
    task = number if own is None else own  # tasks that have a program each are fixed in it
    whole = rollouts(settings, params, task, key, games)
    half = jax.tree.map(lambda x: x[: max(1, games // 2)], whole)
    observe = partial(multitask.observe, settings, task)
    observations = jax.vmap(jax.vmap(observe))(half.states)
    steps, last = jnp.arange(settings.max_steps, dtype=jnp.int32)[None], half.length[:, None] - 1
    ended = steps == last
    if settings.time_out == "bootstrap":  # a game that was cut short goes on
        ended &= last + 1 < settings.max_steps
    discounts = jnp.where(ended, 0.0, jnp.asarray(settings.discounts, jnp.float32)[task])
    rewards = jnp.diff(half.returns, axis=1)
    return GameSteps(observations, half.actions, rewards, discounts, steps <= last)


@partial(jax.jit, static_argnames="settings")
def _values(
    settings: DeepSettings, params: Params, task: Array, played: GameSteps
) -> tuple[Array, Array]:
    """The loss of a network, and its greedy actions, ``[games, steps]``."""
    shape = played.observations.shape
    flat = played.observations.reshape(-1, *shape[2:])
    q = settings.network.values(params, task, flat).reshape(*shape[:2], -1)
    wanted = played.rewards + played.discounts * soft_value(q[:, 1:], settings.agent.alpha)
    taken = jnp.take_along_axis(q[:, :-1], played.actions[..., None], axis=-1)[..., 0]
    loss = jnp.mean((wanted - taken) ** 2, where=played.counts)
    return loss, jnp.argmax(q[:, :-1], axis=-1)

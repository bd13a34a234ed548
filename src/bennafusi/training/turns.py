"""Agents that take turns: a new one in each epoch, or one for each task."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.agents.soft_q import SoftQState
from bennafusi.synapse.branch import when
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import DeepState, Turn
from bennafusi.training.deep_updates import newborn

BORN_KEY = 7  # its place among the purposes of deep_state.end_key


def begun(settings: DeepSettings, state: DeepState) -> DeepState:
    """A new run with all agents that wait for their turn; the first one is at work."""
    kind, zero = settings.schedule.agent_at_switch, jnp.zeros((), jnp.int32)
    if kind == "keep":
        return state
    waiting: Any = None
    if kind == "own":
        born = [_born(settings, state, task) for task in range(len(settings.different))]
        rows = partial(jax.tree.map, lambda *leaves: jnp.stack(leaves))
        waiting = rows(*born), rows(*[state.replay] * len(born))
    return state._replace(turn=Turn(zero, waiting))


def taken(settings: DeepSettings, state: DeepState) -> DeepState:
    """The state with the agent of this epoch at work, if another one still is."""
    turn = state.turn
    if turn is None:
        return state
    mine = state.epoch
    if turn.waiting is not None:
        mine = jnp.asarray(settings.order, jnp.int32)[state.epoch % len(settings.order)]
    return when(turn.whose != mine, partial(_take, settings, mine), state)


def agent_of(settings: DeepSettings, state: DeepState, task: int) -> SoftQState:
    """The agent that plays a task: its own one, where tasks have such; not to be compiled."""
    turn = state.turn
    if turn is None or turn.waiting is None or int(turn.whose) == task:
        return state.agent
    mine: SoftQState = jax.tree.map(lambda rows: rows[task], turn.waiting[0])
    return mine


def _take(settings: DeepSettings, mine: Array, state: DeepState) -> DeepState:
    turn = state.turn
    assert turn is not None
    if turn.waiting is None:
        return state._replace(agent=_born(settings, state, mine), turn=Turn(mine, None))

    def put(rows: Array, row: Array) -> Array:
        placed: Array = lax.dynamic_update_index_in_dim(rows, row, turn.whose, 0)
        return placed

    waiting = jax.tree.map(put, turn.waiting, (state.agent, state.replay))
    agent, replay = jax.tree.map(lambda rows: rows[mine], waiting)
    return state._replace(agent=agent, replay=replay, turn=Turn(mine, waiting))


def _born(settings: DeepSettings, state: DeepState, number: Array | int) -> SoftQState:
    """A new agent, of a draw of its own."""
    run = jax.random.wrap_key_data(state.key)
    key = jax.random.fold_in(jax.random.fold_in(run, 2**31 + BORN_KEY), number)
    return newborn(settings, key, state.agent.learning_rate)

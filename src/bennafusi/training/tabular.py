"""Continual Q-learning on the grid whose goal moves to the opposite corner every epoch."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.agents import q_lambda
from bennafusi.agents.q_lambda import Noise, TableState
from bennafusi.envs.grid import GridState
from bennafusi.synapse.numbers import whole_between
from bennafusi.training.rows import Rows
from bennafusi.training.tabular_settings import TabularSettings

BLOCK = 1024  # steps whose random numbers are drawn together, counted from the first step of a run
SMALLEST_BUFFER = 4096  # smaller chunks share its program


class TabularState(NamedTuple):
    """Everything a resume needs.

    Attributes:
        table: all levels of all chains, and the traces, float64.
        grid: cell, goal and steps of the current episode.
        key: the run's random key, as plain numbers; it never changes.
        epoch: epochs that have ended, int32.
        episode: episodes of this epoch that have ended, int32.
        steps: steps of the whole run, int64.
    """

    table: TableState
    grid: GridState
    key: Array
    epoch: Array
    episode: Array
    steps: Array


class Episode(NamedTuple):
    """Episodes that ended, an array for each field.

    Attributes:
        epoch: the epoch of each, from 0, int32.
        episode: its number in the epoch, from 0; 0 marks the first one after a switch.
        length: its steps.
        found: whether it ended with the reward, and not after ``max_steps``.
        end: steps of the whole run when it ended, int64.
    """

    epoch: Array
    episode: Array
    length: Array
    found: Array
    end: Array


Records = Rows[Episode]


def start(settings: TabularSettings, seed: int) -> TabularState:
    """The state of a new run; another seed, another run."""
    number = whole_between("seed", seed, 0, 2**63 - 1)
    with jax.enable_x64(True):
        first, key = jax.random.split(jax.random.key(number))
        grid = settings.grid
        zero = jnp.zeros((), jnp.int32)
        return TabularState(
            q_lambda.start(settings.learner),
            grid.place(grid.draw_start(first), grid.goals[0]),
            jax.random.key_data(key),
            epoch=zero,
            episode=zero,
            steps=jnp.zeros((), jnp.int64),
        )


def advance(
    settings: TabularSettings, state: TabularState, steps: int, epochs: int | None = None
) -> tuple[TabularState, Records]:
    """Run for ``steps`` steps, or until the last epoch ends.

    How a run is cut into chunks does not change a bit of it. Chunks of similar size share one
    compiled program.

    Args:
        settings: of the run.
        state: of the run.
        steps: at most so many.
        epochs: stop when so many epochs of the run have ended; all of them if None.

    Returns:
        The state, and the episodes that ended.

    Example:
        >>> settings = TabularSettings(epochs=2, episodes=5, size=3)
        >>> state, records = advance(settings, start(settings, seed=0), 10_000)
        >>> finished(settings, state), int(records.ended)
        (True, 10)
    """
    count = whole_between("steps", steps, 0, 2**31 - 1)
    capacity = max(SMALLEST_BUFFER, 1 << (count - 1).bit_length())
    with jax.enable_x64(True):
        result: tuple[TabularState, Records] = _advance(
            settings,
            capacity,
            state,
            jnp.asarray(count, jnp.int32),
            jnp.asarray(settings.epochs if epochs is None else epochs, jnp.int32),
        )
        return result


def finished(settings: TabularSettings, state: TabularState) -> bool:
    """Whether the last epoch has ended."""
    return int(state.epoch) >= settings.epochs


def hidden_values(settings: TabularSettings, state: TabularState) -> Array:
    r""":math:`V^k(s)` on the grid, ``[n, size, size]``, row 0 on top."""
    with jax.enable_x64(True):
        table = q_lambda.hidden_values(settings.learner, state.table)
        return table.reshape(settings.chain.n, settings.size, settings.size)


class _Loop(NamedTuple):
    """What a chunk carries from step to step."""

    state: TabularState
    left: Array
    ended: Array
    length: Array
    found: Array


@partial(jax.jit, static_argnames=("settings", "capacity"))
def _advance(
    settings: TabularSettings, capacity: int, state: TabularState, steps: Array, epochs: Array
) -> tuple[TabularState, Records]:
    begun = state
    loop = _Loop(
        state,
        steps,
        jnp.zeros((), jnp.int32),
        jnp.zeros(capacity, jnp.int32),
        jnp.zeros(capacity, jnp.bool_),
    )

    def unfinished(loop: _Loop) -> Array:
        here = loop.state.epoch
        return (loop.left > 0) & (here < epochs) & (here < settings.epochs)

    def block(loop: _Loop) -> _Loop:
        noise, cells = _draw(settings, loop.state.key, loop.state.steps // BLOCK)
        end = (loop.state.steps // BLOCK + 1) * BLOCK

        def body(loop: _Loop) -> _Loop:
            i = (loop.state.steps % BLOCK).astype(jnp.int32)
            return _step(settings, loop, jax.tree.map(lambda x: x[i], noise), cells[i])

        return lax.while_loop(lambda x: unfinished(x) & (x.state.steps < end), body, loop)

    loop = lax.while_loop(unfinished, block, loop)
    return loop.state, _records(settings, begun, loop)


def _draw(settings: TabularSettings, key: Array, block: Array) -> tuple[Noise, Array]:
    """Random numbers for one block of steps: they depend on the run's key and on nothing else."""
    keys = jax.random.split(jax.random.fold_in(jax.random.wrap_key_data(key), block))
    noise = q_lambda.draw_noise(settings.learner, keys[0], (BLOCK,))
    return noise, settings.grid.draw_start(keys[1], (BLOCK,))


def _step(settings: TabularSettings, loop: _Loop, noise: Noise, cell: Array) -> _Loop:
    """Act, move, learn; begin a new episode at ``cell`` if this one is over."""
    agent, state = settings.learner, loop.state
    here = state.grid
    action = q_lambda.act(q_lambda.values(agent, state.table, here.cell), noise)
    there, reward, found, late = settings.grid.step(here, action)
    table = q_lambda.learn(
        agent,
        state.table,
        s_tm1=here.cell,
        a_tm1=action,
        r_t=reward.astype(jnp.float64),
        # Time running out is not part of the task as the agent sees it: its value goes on.
        discount_t=jnp.where(found, 0.0, agent.rule.gamma),
        s_t=there.cell,
        first_tm1=here.steps == 0,
    )
    done = found | late
    episode = state.episode + done.astype(jnp.int32)
    switch = episode == settings.episodes
    epoch = state.epoch + switch.astype(jnp.int32)
    goals = settings.grid.goals
    grid = GridState(
        jnp.where(done, cell, there.cell),
        jnp.where(epoch % 2 == 0, jnp.int32(goals[0]), jnp.int32(goals[1])),
        jnp.where(done, 0, there.steps),
    )
    after = TabularState(
        table, grid, state.key, epoch, jnp.where(switch, 0, episode), state.steps + 1
    )
    # Written at every step and kept once an episode is over: no branch is needed.
    return _Loop(
        after,
        loop.left - 1,
        loop.ended + done.astype(jnp.int32),
        loop.length.at[loop.ended].set(there.steps),
        loop.found.at[loop.ended].set(found),
    )


def _records(settings: TabularSettings, begun: TabularState, loop: _Loop) -> Records:
    number = begun.episode + jnp.arange(loop.length.size, dtype=jnp.int32)
    first = begun.steps - begun.grid.steps.astype(jnp.int64)  # when its episode began
    end = first + jnp.cumsum(loop.length.astype(jnp.int64))
    epoch, episode = begun.epoch + number // settings.episodes, number % settings.episodes
    return Records(loop.ended, Episode(epoch, episode, loop.length, loop.found, end))

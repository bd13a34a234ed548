"""What a deep run carries from step to step, and what it leaves behind."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bennafusi.agents.replay import Memory
from bennafusi.agents.soft_q import SoftQState
from bennafusi.training.rows import Rows

MOST_TESTS = 1024  # tests that a chunk has room for


class Tally(NamedTuple):
    """What has been counted since the last test ended, and in the running episode.

    Attributes:
        reward: of the running episode.
        episodes: training episodes that ended, int32.
        rewards: of all of them.
        steps: of all of them, int32.
        loss: sum over all updates.
        updates: how many those were, int32.
        largest: the largest value of any action, by its size.
    """

    reward: Array
    episodes: Array
    rewards: Array
    steps: Array
    loss: Array
    updates: Array
    largest: Array


class Hold(NamedTuple):
    """Exploration that is held back while a recalled network earns enough.

    Attributes:
        level: what its tests must earn on average; infinite if nothing is held back.
        earned: running mean of the tests, over about the last ten.
        since: the episode of this epoch from which exploration counts, int32.
    """

    level: Array
    earned: Array
    since: Array


class Turn(NamedTuple):
    """Whose turn it is, where not all epochs are one agent's.

    Attributes:
        whose: the number of the agent at work, int32: the epoch for which it was made, or its task.
        waiting: agent and replay of each task, a row each; void of the one at work. None if agents
            are not kept.
    """

    whose: Array
    waiting: tuple[SoftQState, Memory] | None


class DeepState(NamedTuple):
    """Everything a resume needs.

    Attributes:
        agent: network, target network, moments and beakers.
        replay: transitions to learn from: of its kind's choice, of this epoch unless they are kept.
        env_state: the task's own state; between chunks as bytes, where tasks have states of
            different shape.
        observation: what the agent sees of it.
        key: the run's random key, as plain numbers; it never changes.
        epoch: epochs that have ended, int32.
        episode: episodes of this epoch that have ended, int32.
        steps: steps of the whole run, int32.
        tally: sums for the next record.
        diverged: whether values or losses have left all bounds; such a run does not go on.
        hold: of the exploration; None unless the settings ask for it.
        trained: training steps of this epoch, int32; None where epochs are counted in episodes.
        turn: of agents; None if one learns all tasks. They take turns when an epoch begins, so that
            right after a switch the one that was trained is still there to be looked at.
    """

    agent: SoftQState
    replay: Memory
    env_state: Any
    observation: Array
    key: Array
    epoch: Array
    episode: Array
    steps: Array
    tally: Tally
    diverged: Array
    hold: Hold | None = None
    trained: Array | None = None
    turn: Turn | None = None


class Trial(NamedTuple):
    """One test episode, from the compiled loop to the measures; or many, an array for each field.

    Attributes:
        epoch: the epoch of it, from 1; from 0 in the loop.
        episode: its number in the epoch, tests included, from 1; from 0 in the loop.
        task: its name; None in the loop, where the epoch says it.
        reward: of the test.
        length: its steps.
        training_reward: mean over the training episodes since the test before.
        training_length: the same of their steps.
        loss: mean over their updates, 0 without any.
        largest: the largest value of any action since the test before, by its size.
        updates: of the agent, when it ended.
        steps: of the whole run, when it ended.
    """

    epoch: Any
    episode: Any
    task: Any
    reward: Any
    length: Any
    training_reward: Any
    training_length: Any
    loss: Any
    largest: Any
    updates: Any
    steps: Any

    def record(self) -> dict[str, Any]:
        """As plain JSON, as ``metrics.jsonl`` has it."""
        return {"kind": "test", **self._asdict()}


Tests = Rows[Trial]


def empty_tally() -> Tally:
    """Before the first step after a test."""
    number, count = jnp.zeros((), jnp.float32), jnp.zeros((), jnp.int32)
    return Tally(number, count, number, count, number, count, number)


def no_hold() -> Hold:
    """Exploration as in every epoch."""
    number, count = jnp.zeros((), jnp.float32), jnp.zeros((), jnp.int32)
    return Hold(jnp.full_like(number, jnp.inf), number, count)


def no_tests(like: Trial) -> Tests:
    """Room for those of a chunk, of the types of this one."""
    columns = jax.tree.map(lambda x: jnp.zeros(MOST_TESTS, x.dtype), like)
    return Tests(jnp.zeros((), jnp.int32), columns)


def end_key(state: DeepState, purpose: int) -> Array:
    """A key for what happens at the end of an episode; steps differ from one end to the next."""
    key = jax.random.wrap_key_data(state.key)
    return jax.random.fold_in(jax.random.fold_in(key, 2**31 + purpose), state.steps)

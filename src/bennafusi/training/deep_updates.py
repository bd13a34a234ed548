"""How a run learns: from each step, or from a batch when an episode has ended."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.agents import replay, soft_q
from bennafusi.agents.replay import Transition
from bennafusi.agents.soft_q import SoftQState
from bennafusi.synapse.branch import when
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import DeepState, end_key


def learn_online(
    settings: DeepSettings, state: DeepState, task: Array, step: Transition, chance: Array
) -> DeepState:
    """One update, from the newest transition or from one that chance picks."""
    # A ring of one holds what just happened: reading it back would only hide that from XLA.
    chosen = step if settings.schedule.replay == 1 else replay.sample_one(state.replay, chance)
    wanted = soft_q.targets(settings.learner, state.agent, task, chosen)
    agent, loss = soft_q.learn(settings.learner, state.agent, task, chosen, wanted)
    if settings.schedule.target_update == "update":
        agent = soft_q.update_target(settings.learner, agent)
    return _count_loss(state, agent, loss)


def _learn_episodic(settings: DeepSettings, task: Array, state: DeepState) -> DeepState:
    """A batch of different transitions, learnt from one after the other."""
    steps = replay.sample(state.replay, end_key(state, 1), settings.schedule.batch)
    # While the target stands still, what it says of the whole batch is one product of matrices.
    still = settings.schedule.target_update == "episode"
    judge = partial(soft_q.targets, settings.learner)
    wanted = jax.vmap(judge, (None, None, 0))(state.agent, task, steps) if still else None

    def update(due: bool | None, agent: SoftQState, given: tuple[Transition, Any]) -> Any:
        step, goal = given
        goal = judge(agent, task, step) if goal is None else goal
        agent, loss = soft_q.learn(settings.learner, agent, task, step, goal, due)
        return (agent if still else soft_q.update_target(settings.learner, agent)), loss

    given = (steps, wanted)
    if settings.schedule.batch != settings.chain.every:
        agent, losses = lax.scan(partial(update, None), state.agent, given)
        return _count_loss(state, agent, jnp.sum(losses))
    # One step of the chains per batch: all updates but the last are spared from asking.
    first = jax.tree.map(lambda x: x[:-1], given)
    last = jax.tree.map(lambda x: x[-1], given)
    agent, losses = lax.scan(partial(update, False), state.agent, first)
    agent, loss = update(True, agent, last)
    return _count_loss(state, agent, jnp.sum(losses) + loss)


def _count_loss(state: DeepState, agent: SoftQState, loss: Array) -> DeepState:
    """The state with an agent that has learnt, at that loss."""
    made = soft_q.updates_made(agent) - soft_q.updates_made(state.agent)
    tally = state.tally._replace(loss=state.tally.loss + loss, updates=state.tally.updates + made)
    diverged = state.diverged | ~jnp.isfinite(loss)
    return state._replace(agent=agent, tally=tally, diverged=diverged)


def learn_after_episode(settings: DeepSettings, task: Array, state: DeepState) -> DeepState:
    """What a training episode leaves to learn at its end."""
    if settings.schedule.kind == "episodic":
        enough = replay.stored(state.replay) >= settings.schedule.batch
        state = when(enough, partial(_learn_episodic, settings, task), state)
    if settings.schedule.target_update == "episode":
        state = state._replace(agent=soft_q.update_target(settings.learner, state.agent))
    return state

"""How a run learns: from each step, from minibatches, or from a batch when an episode has ended."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.agents import cascade_replay, permanent, replay, reservoir_replay, soft_q, stream_q
from bennafusi.agents.replay import Memory, Transition
from bennafusi.agents.soft_q import SoftQState
from bennafusi.synapse.branch import when
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import DeepState, end_key

MINIBATCH_KEY, REPLAY_KEY, BOUNDARY_KEY = 4, 6, 8  # their places among the purposes of end_key


def newborn(settings: DeepSettings, key: Array, learning_rate: Array) -> SoftQState:
    """An agent that has learnt nothing, of the settings' kind."""
    if settings.schedule.kind == "stream":
        return stream_q.start(settings.streamer, settings.sizes, key, learning_rate)
    return soft_q.start(settings.learner, settings.sizes, key, learning_rate)


def learn_online(
    settings: DeepSettings, state: DeepState, task: Array | int, step: Transition, chance: Array
) -> DeepState:
    """One update, from the newest transition or from one that chance picks."""
    # A ring of one holds what just happened: reading it back would only hide that from XLA.
    if settings.schedule.replay == 1:
        chosen = step
    else:
        chosen = _as_seen(state, replay.sample_one(state.replay, chance))
    wanted = soft_q.targets(settings.learner, state.agent, task, chosen)
    agent, loss = soft_q.learn(settings.learner, state.agent, task, chosen, wanted)
    if settings.schedule.target_update == "update":
        agent = _follow(settings, agent)
    return _count_loss(state, agent, loss)


def learn_stream(
    settings: DeepSettings, state: DeepState, task: Array | int, step: Transition, done: Array
) -> DeepState:
    """One update of stream-Q."""
    gamma = jnp.asarray(settings.discounts, jnp.float32)[task]
    agent, loss = stream_q.learn(settings.streamer, state.agent, task, step, gamma, done)
    return _count_loss(state, agent, loss)


def empty_replay(settings: DeepSettings, observation: Array) -> Memory:
    """A replay of the settings' kind for observations like this one."""
    zero, schedule = jnp.zeros((), jnp.int32), settings.schedule
    stored = replay.packed(Transition(observation, zero, zero, zero, observation)).observation
    made: dict[str, Callable[..., Memory]] = {
        "fifo": replay.empty,
        "reservoir": reservoir_replay.empty,
        "cascade": cascade_replay.empty,
    }
    return made[schedule.replay_kind](schedule.replay, stored.shape, stored.dtype, settings.mixed)


def remember(
    settings: DeepSettings, state: DeepState, task: Array | int, step: Transition
) -> DeepState:
    """The state with one more transition in its replay."""
    if settings.mixed:
        step = step._replace(task=jnp.asarray(task, jnp.int32))
    memory = state.replay.add(replay.packed(step), end_key(state, REPLAY_KEY))
    return state._replace(replay=memory)


def _as_seen(state: DeepState, drawn: Transition) -> Transition:
    """Transitions out of the replay, with observations of the shape that the agent sees."""
    return replay.unpacked(drawn, state.observation)


def learn_minibatch(settings: DeepSettings, state: DeepState, task: Array | int) -> DeepState:
    """One update from a whole batch, if it is time for one."""
    schedule = settings.schedule
    enough = state.replay.stored() >= max(schedule.warmup, schedule.batch)
    due = enough & (state.steps % schedule.every == 0)

    def update(state: DeepState) -> DeepState:
        key = end_key(state, MINIBATCH_KEY)
        steps = _as_seen(state, replay.sample_with_return(state.replay, key, schedule.batch))
        wanted = soft_q.targets(settings.learner, state.agent, task, steps)
        moves = (soft_q.updates_made(state.agent) + 1) % settings.chain.every == 0
        known = True if settings.chain.every == 1 else moves
        agent, loss = soft_q.learn(settings.learner, state.agent, task, steps, wanted, known)
        if schedule.target_update == "update":
            agent = _follow(settings, agent)
        return _count_loss(state, agent, loss)

    return when(due, update, state)


def told_of_switch(settings: DeepSettings, state: DeepState, task: Array | int) -> DeepState:
    """The end of an epoch: what the agent makes of that if it is of the kind that is told.

    With a rate that is too large it loses its values there.
    """
    if not settings.network.permanent:
        return state

    def draw(key: Array) -> Transition:
        drawn = replay.sample_with_return(state.replay, key, settings.boundary.batch)
        return _as_seen(state, drawn)

    key = end_key(state, BOUNDARY_KEY)
    change = partial(permanent.crossed, settings.network, settings.boundary, task, draw, key)
    agent = when(state.replay.stored() > 0, change, state.agent)
    finite = [jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(agent.params)]
    return state._replace(agent=agent, diverged=state.diverged | ~jnp.stack(finite).all())


def _follow(settings: DeepSettings, agent: SoftQState) -> SoftQState:
    """Let the target follow after an update, if it is time for that."""
    move = partial(soft_q.update_target, settings.learner)
    if settings.schedule.target_every == 1:
        return move(agent)
    return when(soft_q.updates_made(agent) % settings.schedule.target_every == 0, move, agent)


def _learn_episodic(settings: DeepSettings, task: Array | int, state: DeepState) -> DeepState:
    """A batch of different transitions, learnt from one after the other."""
    drawn = replay.sample(state.replay, end_key(state, 1), settings.schedule.batch)
    steps = _as_seen(state, drawn)
    # While the target stands still, what it says of the whole batch is one product of matrices.
    still = settings.schedule.target_update == "episode"
    judge = partial(soft_q.targets, settings.learner)
    wanted = jax.vmap(judge, (None, None, 0))(state.agent, task, steps) if still else None

    def update(due: bool | None, agent: SoftQState, given: tuple[Transition, Any]) -> Any:
        step, goal = given
        goal = judge(agent, task, step) if goal is None else goal
        agent, loss = soft_q.learn(settings.learner, agent, task, step, goal, due)
        return (agent if still else _follow(settings, agent)), loss

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


def learn_after_episode(settings: DeepSettings, task: Array | int, state: DeepState) -> DeepState:
    """What a training episode leaves to learn at its end."""
    if settings.schedule.kind == "episodic":
        enough = state.replay.stored() >= settings.schedule.batch
        state = when(enough, partial(_learn_episodic, settings, task), state)
    if settings.schedule.target_update == "episode":
        state = state._replace(agent=soft_q.update_target(settings.learner, state.agent))
    return state

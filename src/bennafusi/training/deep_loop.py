"""Deep soft Q-learning, whole in one compiled program: act, move, remember, learn, test, switch."""

from __future__ import annotations

from functools import cache, partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.agents import soft_q
from bennafusi.agents.policies import choose
from bennafusi.agents.replay import Transition
from bennafusi.synapse.branch import when
from bennafusi.synapse.numbers import whole_between
from bennafusi.training import deep_updates, multitask, turns
from bennafusi.training.compiling import IN_HASTE, WIDE, WITHOUT_YNNPACK, known
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.deep_state import (
    MOST_TESTS,
    DeepState,
    Hold,
    Tests,
    Trial,
    empty_tally,
    end_key,
    no_hold,
    no_tests,
)

HELD_TESTS = 10  # over about so many a recalled network must earn enough
BLOCK = 1024  # steps whose random numbers are drawn together, counted from the first step of a run
LARGEST = 2**31 - 1  # of seeds and budgets, which are int32
STEP_KEY = 5  # of a task that takes a key at each step: its place among the purposes of end_key


def start(
    settings: DeepSettings, seed: int | Array, learning_rate: float | Array | None = None
) -> DeepState:
    """The state of a new run; another seed, another run.

    Both arguments may be traced, so that ``vmap`` makes a batch of agents.
    """
    if not isinstance(seed, Array):
        seed = whole_between("seed", seed, 0, LARGEST)
    rate = settings.optimizer.learning_rate if learning_rate is None else learning_rate
    given = jnp.asarray(seed), jnp.asarray(rate, jnp.float32)
    state: DeepState = (_start_within if _traced(given) else _start_alone)(settings, *given)
    return state


def _start(settings: DeepSettings, seed: Array, rate: Array) -> DeepState:
    born, first, key = jax.random.split(jax.random.key(seed), 3)
    zero = jnp.zeros((), jnp.int32)
    env_state, observation = _reset(settings, 0 if settings.separate else zero, first)
    state = DeepState(
        deep_updates.newborn(settings, born, rate),
        deep_updates.empty_replay(settings, observation),
        multitask.seal(settings, env_state) if settings.separate else env_state,
        observation,
        jax.random.key_data(key),
        epoch=zero,
        episode=zero,
        steps=zero,
        tally=empty_tally(),
        diverged=jnp.zeros((), jnp.bool_),
        hold=no_hold() if settings.recall.kind == "hold" else None,
        trained=None if settings.steps is None else zero,
    )
    return turns.begun(settings, state)


# Op by op it would take seconds. It runs once, and is mostly draws.
_start_within = jax.jit(_start, static_argnames="settings")
_start_alone = jax.jit(_start, static_argnames="settings", compiler_options=IN_HASTE)


def advance(
    settings: DeepSettings, state: DeepState, steps: int, episodes: int
) -> tuple[DeepState, Tests]:
    """Run for so many steps or episodes, or until the epoch ends, whatever comes first.

    How a run is cut into chunks does not change a bit of it, and all chunks share one program; or
    all of one task, where tasks are not of the paper's small kind (``settings.separate``).
    """
    given = ("steps", steps), ("episodes", episodes)
    budget = (jnp.int32(whole_between(*x, 0, LARGEST)) for x in given)
    filters = bool(settings.network.filters)
    chunk = _advance_within if _traced(state) else _advance_alone(filters)
    if not settings.separate:
        result: tuple[DeepState, Tests] = chunk(settings, None, state, *budget)
        return result
    epoch = int(state.epoch)
    state, tests = chunk(settings, _number(settings, epoch), state, *budget)
    if int(state.epoch) != epoch:  # the only thing that two tasks have to do with each other
        env_state, observation = _begin(settings, _number(settings, epoch + 1), state)
        state = state._replace(env_state=env_state, observation=observation)
    return state, tests


def _number(settings: DeepSettings, epoch: int) -> int:
    return settings.order[epoch % len(settings.order)]


def finished(settings: DeepSettings, state: DeepState) -> bool:
    """Whether the last epoch has ended."""
    return int(state.epoch) >= settings.epochs


class _Loop(NamedTuple):
    """What a chunk carries from step to step."""

    state: DeepState
    done: Array
    steps_left: Array
    episodes_left: Array
    tests: Tests


def _chunk(
    settings: DeepSettings, own: int | None, state: DeepState, steps: Array, episodes: Array
) -> tuple[DeepState, Tests]:
    """A chunk; ``own`` is the number of the task if it is fixed, as it is within an epoch."""
    epoch = state.epoch
    state = turns.taken(settings, state)
    if own is not None:
        state = state._replace(env_state=multitask.unseal(settings, own, state.env_state))
    tests = no_tests(jax.eval_shape(_trial, state))
    loop = _Loop(state, jnp.zeros((), jnp.bool_), steps, episodes, tests)

    def unfinished(loop: _Loop) -> Array:
        left = (loop.steps_left > 0) & (loop.episodes_left > 0) & (loop.tests.ended < MOST_TESTS)
        now = loop.state
        return left & (now.epoch == epoch) & (now.epoch < settings.epochs) & ~now.diverged

    def block(loop: _Loop) -> _Loop:
        number = loop.state.steps // BLOCK
        key = jax.random.fold_in(jax.random.wrap_key_data(loop.state.key), number)
        noise = jax.random.uniform(key, (BLOCK, 3 + multitask.noise(settings)))
        end = (number + 1) * BLOCK
        part = partial(_part, settings, own, noise, end)
        return lax.while_loop(lambda x: unfinished(x) & (x.state.steps < end), part, loop)

    loop = lax.while_loop(unfinished, block, loop)
    state = loop.state
    if own is not None:
        state = state._replace(env_state=multitask.seal(settings, state.env_state))
    return state, loop.tests


_compiled = partial(jax.jit, _chunk, static_argnames=("settings", "own"))
_advance_within = _compiled()


@cache
def _advance_alone(filters: bool) -> Any:
    """The program of a chunk, as a whole."""
    options = {**WIDE, **WITHOUT_YNNPACK} if filters else WIDE
    return _compiled(compiler_options=known(options))


def _traced(tree: Any) -> bool:
    """Whether a caller compiles: JAX takes options for a whole program alone, not for a part."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


@partial(jax.jit, static_argnames=("settings", "task"))
def _begin(settings: DeepSettings, task: int, state: DeepState) -> tuple[Array, Array]:
    """Another task's state at its start, as bytes, and what is seen of it."""
    env_state, observation = _reset(settings, task, end_key(state, 0))
    return multitask.seal(settings, env_state), observation


def _part(settings: DeepSettings, own: int | None, noise: Array, end: Array, loop: _Loop) -> _Loop:
    """The rest of an episode, as far as the block of noise and the chunk reach."""
    task = _task(settings, loop.state) if own is None else own
    testing = _is_test(settings, loop.state)
    epsilon = _epsilon(settings, loop.state)

    def going(loop: _Loop) -> Array:
        rest = (loop.steps_left > 0) & (loop.state.steps < end)
        return rest & ~loop.done & ~loop.state.diverged

    def train(loop: _Loop) -> _Loop:
        state, done, step, chance = _act(settings, loop, noise, task, epsilon)
        state = deep_updates.remember(settings, state, task, step)
        if state.trained is not None:
            state = state._replace(trained=state.trained + 1)
        if settings.schedule.kind == "online":
            state = deep_updates.learn_online(settings, state, task, step, chance)
        if settings.schedule.kind == "stream":
            state = deep_updates.learn_stream(settings, state, task, step, done)
        if settings.schedule.kind == "minibatch":
            state = deep_updates.learn_minibatch(settings, state, task)
        return loop._replace(state=state, done=done, steps_left=loop.steps_left - 1)

    def test(loop: _Loop) -> _Loop:
        state, done, _, _ = _act(settings, loop, noise, task, jnp.zeros_like(epsilon))
        return loop._replace(state=state, done=done, steps_left=loop.steps_left - 1)

    loop = lax.while_loop(lambda x: going(x) & ~testing, train, loop)
    loop = lax.while_loop(lambda x: going(x) & testing, test, loop)
    look_back = partial(deep_updates.learn_after_episode, settings, task)
    trained = loop.done & ~testing & ~loop.state.diverged
    loop = loop._replace(state=when(trained, look_back, loop.state))
    # A run that diverged stays in its episode, so that one can say in which it happened.
    ended = loop.done & ~loop.state.diverged
    return when(ended, partial(_finish, settings, own, testing), loop)


def _act(
    settings: DeepSettings, loop: _Loop, noise: Array, task: Array | int, epsilon: Array
) -> tuple[DeepState, Array, Transition, Array]:
    """One step in the world: the state after it, whether it was the last, and what happened."""
    state = loop.state
    chance = noise[state.steps % BLOCK]
    q = soft_q.values(settings.learner, state.agent, task, state.observation)
    action = choose(q, settings.agent.alpha, epsilon, chance[0], chance[1])
    own = chance[3:]
    if settings.separate:
        own = multitask.chance(settings, task, end_key(state, STEP_KEY))
    env_state, observation, reward, terminated, truncated = multitask.step(
        settings, task, state.env_state, action, own
    )
    terminal = terminated | truncated if settings.time_out == "terminal" else terminated
    gamma = jnp.asarray(settings.discounts, jnp.float32)[task]
    discount = jnp.where(terminal, jnp.zeros_like(gamma), gamma)
    size = reduce(jnp.maximum, [jnp.abs(q[action]) for action in range(q.size)])
    tally = state.tally._replace(
        reward=state.tally.reward + reward, largest=jnp.maximum(state.tally.largest, size)
    )
    after = state._replace(
        env_state=env_state,
        observation=observation,
        steps=state.steps + 1,
        tally=tally,
        diverged=state.diverged | ~(size <= settings.largest_value),  # NaN is not below anything
    )
    step = Transition(state.observation, action, reward, discount, observation)
    return after, terminated | truncated, step, chance[2]


def _finish(settings: DeepSettings, own: int | None, testing: Array, loop: _Loop) -> _Loop:
    """What happens when an episode is over: counting, switching, beginning anew."""
    state = loop.state
    tally, length = state.tally, state.env_state.steps
    tests = when(testing, partial(_record, state), loop.tests)
    counted = tally._replace(
        episodes=tally.episodes + 1,
        rewards=tally.rewards + tally.reward,
        steps=tally.steps + length,
        reward=jnp.zeros_like(tally.reward),
    )
    if state.hold is not None:
        held = when(testing, partial(_judge, tally.reward, state.episode), state.hold)
        state = state._replace(hold=held)
    tally = jax.tree.map(partial(jnp.where, testing), empty_tally(), counted)
    state = _next_episode(settings, own, state._replace(tally=tally))
    return _Loop(state, jnp.zeros_like(loop.done), loop.steps_left, loop.episodes_left - 1, tests)


def _judge(reward: Array, episode: Array, hold: Hold) -> Hold:
    """After a test: exploration starts over once the running mean is below the level."""
    earned = hold.earned + (reward - hold.earned) / HELD_TESTS
    over = (earned < hold.level) & jnp.isfinite(hold.level)
    return Hold(
        jnp.where(over, jnp.inf, hold.level).astype(hold.level.dtype),
        earned,
        jnp.where(over, episode + 1, hold.since),
    )


def _next_episode(settings: DeepSettings, own: int | None, state: DeepState) -> DeepState:
    episode = state.episode + 1
    switch = episode == settings.episodes
    if settings.steps is not None and state.trained is not None:
        switch = state.trained >= settings.steps
    state = when(switch, partial(_switch, settings), state._replace(episode=episode))
    task = _task(settings, state) if own is None else own
    env_state, observation = _reset(settings, task, end_key(state, 0))
    return state._replace(env_state=env_state, observation=observation)


def _reset(settings: DeepSettings, task: Array | int, key: Array) -> tuple[Any, Array]:
    return multitask.reset(settings, task, multitask.chance(settings, task, key))


def _switch(settings: DeepSettings, state: DeepState) -> DeepState:
    """Between two epochs; the moments of Adam are left alone."""
    state = deep_updates.told_of_switch(settings, state, _task(settings, state))
    return state._replace(
        agent=soft_q.sync_target(state.agent),
        replay=state.replay if settings.schedule.keep else state.replay.clear(),
        epoch=state.epoch + 1,
        episode=jnp.zeros_like(state.episode),
        tally=empty_tally(),
        hold=None if state.hold is None else no_hold(),
        trained=None if state.trained is None else jnp.zeros_like(state.trained),
    )


def _record(state: DeepState, tests: Tests) -> Tests:
    put = partial(lax.dynamic_update_index_in_dim, index=tests.ended, axis=0)
    return Tests(tests.ended + 1, jax.tree.map(put, tests.columns, _trial(state)))


def _trial(state: DeepState) -> Trial:
    """The test that ends in this state."""
    tally = state.tally
    episodes = jnp.maximum(tally.episodes, 1).astype(jnp.float32)
    updates = jnp.maximum(tally.updates, 1).astype(jnp.float32)
    return Trial(
        epoch=state.epoch,
        episode=state.episode,
        task=None,
        reward=tally.reward,
        length=state.env_state.steps,
        training_reward=tally.rewards / episodes,
        training_length=tally.steps.astype(jnp.float32) / episodes,
        loss=tally.loss / updates,
        largest=tally.largest,
        updates=soft_q.updates_made(state.agent),
        steps=state.steps,
    )


def _task(settings: DeepSettings, state: DeepState) -> Array:
    place = state.epoch % len(settings.tasks)
    if len(settings.different) == len(settings.tasks):
        return place
    return jnp.asarray(settings.order, jnp.int32)[place]


def _is_test(settings: DeepSettings, state: DeepState) -> Array:
    return state.episode % settings.test_every == settings.test_every - 1


def _epsilon(settings: DeepSettings, state: DeepState) -> Array:
    exploration, hold = settings.exploration, state.hold
    age = state.episode if hold is None else state.episode - hold.since
    decay = jnp.float32(exploration.decay) ** age.astype(jnp.float32)
    epsilon = jnp.maximum(exploration.epsilon * decay, exploration.floor)
    if hold is None:
        return epsilon
    return jnp.where(jnp.isfinite(hold.level), jnp.float32(settings.recall.epsilon), epsilon)

"""Tasks of any shape in the compiled loop: a program for each, one state that fits all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.training import deep_loop, multitask
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import MINIBATCH, DeepSettings
from bennafusi.training.rollout import apart, evaluate, rollouts
from bennafusi.training.rows import trimmed

# Observations of 6 and of 2 numbers, states of different shape, keys at each step.
TASKS = ("gymnax/Acrobot-v1", "gymnax/MountainCar-v0")
ORDER = (*TASKS, TASKS[1], TASKS[0])
SMALL = {
    **MINIBATCH,
    "tasks": ORDER,
    "gammas": (0.99,) * 4,
    "epochs": 4,
    "steps": 70,
    "max_steps": 20,
    "test_every": 2,
    "network.hidden": (6,),
    "schedule.replay": 64,
    "schedule.batch": 8,
    "schedule.warmup": 10,
    "schedule.target_every": 5,
    "chain.n": 2,
    "chain.g12": 0.1,
}
EVER = 10**6


@pytest.fixture(scope="module")
def settings():
    pytest.importorskip("gymnax")
    return changed(DeepSettings(), SMALL)


def to_the_end(settings, steps, episodes):
    state, columns = deep_loop.start(settings, 0), []
    while not deep_loop.finished(settings, state):
        state, tests = deep_loop.advance(settings, state, steps, episodes)
        columns.append(trimmed(tests))
    return state, {name: np.concatenate([c[name] for c in columns]) for name in columns[0]}


@pytest.fixture(scope="module")
def whole(settings):
    program = deep_loop._advance_alone(filters=False)
    before = program._cache_size()
    ended = to_the_end(settings, EVER, EVER)
    assert program._cache_size() <= before + 2, "a program for each different task"
    return ended


def test_a_task_that_comes_twice_is_one_task(settings, whole):
    del whole  # which counts programs
    assert settings.different == TASKS
    assert settings.order == (0, 1, 1, 0)
    assert len(settings.envs) == len(settings.discounts) == 2
    told = changed(settings, {"network.per_task": True})
    assert told.sizes.tasks == 2
    state = deep_loop.start(settings, 0)
    seen = []
    while not deep_loop.finished(settings, state):
        seen.append(np.flatnonzero(np.asarray(state.observation)).max())
        state, _ = deep_loop.advance(settings, state, EVER, EVER)
    assert [last > 1 for last in seen] == [True, False, False, True], "two numbers, or six"


def test_what_is_seen_is_padded_and_the_state_fits_every_task(settings):
    assert settings.separate
    assert settings.sizes == ((6,), 3, 1)
    state = deep_loop.start(settings, 0)
    assert state.observation.shape == (6,)
    rooms = set()
    for task, env in enumerate(settings.envs):
        first, seen = multitask.reset(settings, task, jax.random.key(task))
        sealed = multitask.seal(settings, first)
        again = multitask.unseal(settings, task, sealed)
        assert jax.tree.structure(again) == jax.tree.structure(first)
        for one, two in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
            assert one.dtype == two.dtype
            np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(seen, env.observe(again))
        rooms.add(sealed.shape)
    assert rooms == {state.env_state.shape}


def test_chunks_change_no_bit(settings, whole):
    state, tests = to_the_end(settings, 37, EVER)
    for one, two in zip(jax.tree.leaves(state), jax.tree.leaves(whole[0]), strict=True):
        np.testing.assert_array_equal(one, two)
    for name, column in tests.items():
        np.testing.assert_array_equal(column, whole[1][name], err_msg=name)


def test_an_epoch_is_so_many_training_steps_and_tasks_take_turns(settings, whole):
    state, tests = whole
    # Both tasks cost 1 per step and random play does not end them: episodes of 20 steps, of which
    # every second is a test. 70 training steps end with the fourth training episode, the seventh.
    assert int(state.epoch) == 4
    assert int(state.steps) == 4 * (4 * 20 + 3 * 20)
    assert tests["epoch"].tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    assert tests["length"].tolist() == [20] * 12
    assert int(state.trained) == 0
    assert int(state.replay.stored()) == 64, "it is kept over a switch"


def test_one_update_from_each_batch(settings, whole):
    state, tests = whole
    every, warmup = settings.schedule.every, settings.schedule.warmup
    # Training steps are in episodes of 20 from 0, 40, 80 (and 140, ...); counted after the step.
    trained = [e * 140 + 40 * k + s for e in range(4) for k in range(4) for s in range(1, 21)]
    due = [n for n, step in enumerate(trained, start=1) if step % every == 0 and n >= warmup]
    assert int(state.agent.optimizer.optimizer.count) == len(due)
    assert int(tests["updates"][-1]) < len(due)


def test_the_target_is_a_copy_that_stands_still(settings):
    state = deep_loop.start(settings, 0)
    start = state.agent.params
    changes = []
    for _ in range(60):
        before = state.agent.target
        state, _ = deep_loop.advance(settings, state, 1, EVER)
        if any(jax.tree.leaves(jax.tree.map(differ, before, state.agent.target))):
            changes.append(int(state.agent.optimizer.optimizer.count))
            assert not any(jax.tree.leaves(jax.tree.map(differ, *both(state.agent))))
    assert changes == [5]
    assert any(jax.tree.leaves(jax.tree.map(differ, start, state.agent.params)))


def both(agent):
    return agent.params, agent.target


def differ(one, two):
    return bool(jnp.any(one != two))


def test_agents_play_any_of_their_tasks(settings, whole):
    params = whole[0].agent.params
    for task, _ in enumerate(TASKS):
        played = apart(rollouts(settings, params, jnp.int32(task), jax.random.key(1), 2))
        rewards = evaluate(settings, params, jnp.int32(task), jax.random.key(1), 2)
        assert [float(p.total) for p in played] == rewards.tolist()
        assert played[0].states.steps.tolist() == list(range(len(played[0].returns)))


def test_bits_are_stored_in_bytes():
    pytest.importorskip("gymnax")
    game = {"tasks": ("gymnax/Breakout-MinAtar",), "gammas": (0.99,), "network.filters": 2}
    settings = changed(DeepSettings(), {**SMALL, **game})
    state = deep_loop.start(settings, 0)
    assert state.observation.dtype == bool
    assert state.observation.shape == (10, 10, 4)
    assert state.replay.transitions.observation.shape == (64, 50)
    assert settings.network.layers(settings.sizes) == ((36, 2), (128, 6), (6, 6))


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"tasks": ("gymnax/Pong-v7",)}, ("unknown task 'gymnax/Pong-v7'",)),
        ({"tasks": ("gymnax/Pendulum-v1",)}, ("tasks: ", "Pendulum-v1", "continuous")),
        (
            {"tasks": ("gymnax/Acrobot-v1", "gymnax/Breakout-MinAtar"), "gammas": (1, 1)},
            ("tasks: ", "(6,)", "(10, 10, 4)", "cannot be padded"),
        ),
        (
            {"tasks": ("gymnax/Acrobot-v1",), "network.filters": 4},
            ("network.filters=4", "(6,)", "filters=0"),
        ),
        (
            {"tasks": ("gymnax/Acrobot-v1",), "recall.kind": "hold", "depths.games": 2},
            ("recall.kind='hold'", "recall.kind='none'"),
        ),
    ],
)
def test_bad_tasks_are_refused_in_a_line(changes, parts):
    pytest.importorskip("gymnax")
    gammas = (0.99,) * len(changes["tasks"])
    with pytest.raises(ValueError, match=r".") as error:
        changed(DeepSettings(), {**SMALL, "gammas": gammas, **changes})
    message = str(error.value)
    assert "\n" not in message
    assert all(part in message for part in parts), message

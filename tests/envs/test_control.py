"""What holds for every control task, whatever it is about."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.envs import task as task_of_any
from bennafusi.envs.cartpole import CartPole
from bennafusi.envs.catcher import Catcher
from bennafusi.envs.control import NOISE, canvas, paint_box, paint_rod
from bennafusi.envs.grid import Grid
from bennafusi.envs.named import TASKS

VARIANTS = [
    *TASKS.values(),
    CartPole(half_length=2, max_steps=7),
    Catcher(lives=3, no_op=True, rounding=True, clip=False, max_steps=60, start=25),
]
every_task = pytest.mark.parametrize("task", VARIANTS, ids=repr)


def test_the_catalogue_holds_the_paper_s_tasks():
    assert list(TASKS) == ["cartpole", "cartpole-long", "catcher"]
    assert [getattr(task, "half_length", None) for task in TASKS.values()] == [0.5, 1.0, None]
    assert {task.max_steps for task in TASKS.values()} == {500}


@pytest.mark.parametrize("x64", [False, True])
@every_task
def test_every_state_has_one_shape_and_type(task, x64):
    """``lax.switch`` and ``scan`` need this, also where the tables of other agents are float64."""
    with jax.enable_x64(x64):
        noise = jnp.zeros(NOISE, jnp.float32)
        state = jax.eval_shape(task.reset, noise)
        after, *signals = jax.eval_shape(task.step, state, jnp.int32(1), noise)
        seen = jax.eval_shape(task.observe, after), jax.eval_shape(task.features, after)
    found = [(x.shape, x.dtype.name, x.weak_type) for x in (*state, *after, *signals, *seen)]
    values, number, flag = ((4,), "float32", False), ((), "int32", False), ((), "bool", False)
    reward = ((), "float32", False)
    assert found == [values, number, number] * 2 + [reward, flag, flag, values, values]


@every_task
def test_chance_is_noise_where_a_task_takes_noise_and_a_key_where_not(task):
    key = jax.random.key(5)
    assert (task.noise, task_of_any.observation_size(task)) == (NOISE, 4)
    chance = task_of_any.draw_chance(task, key)
    np.testing.assert_array_equal(chance, jax.random.uniform(key, (NOISE,)))
    assert task_of_any.draw_chance(Grid(), key) is key
    assert task_of_any.observation_shape(Grid()) == ()
    assert int(Grid().reset(key).cell) == int(Grid().draw_start(key))


def test_one_compiled_loop_switches_between_tasks():
    """In one program: a task chosen by number, many agents at once, step after step."""
    tasks = list(TASKS.values())

    def rollout(number, noise):
        begin = [task.reset for task in tasks]
        move = [task.step for task in tasks]

        def step(state, now):
            action = (now[3] > 0.5).astype(jnp.int32)
            state, *_ = jax.lax.switch(number, move, state, action, now)
            return state, state.values

        return jax.lax.scan(step, jax.lax.switch(number, begin, noise[0]), noise[1:])[1]

    noise = jax.random.uniform(jax.random.key(0), (3, 21, NOISE))
    together = jax.jit(jax.vmap(rollout))(jnp.arange(3, dtype=jnp.int32), noise)
    for task, values, numbers in zip(tasks, together, noise, strict=True):
        state = task.reset(numbers[0])
        for now, expected in zip(numbers[1:], values, strict=True):
            state, *_ = task.step(state, (now[3] > 0.5).astype(jnp.int32), now)
            np.testing.assert_allclose(state.values, expected, atol=1e-5)


@every_task
def test_time_runs_out_in_the_last_step_alone(task):
    state = task.reset(jnp.full(NOISE, 0.5))
    last = state._replace(steps=jnp.int32(task.max_steps - 2))
    for late in (False, True):
        last, _, terminated, truncated = task.step(last, jnp.int32(1), jnp.zeros(NOISE))
        assert (bool(terminated), bool(truncated)) == (False, late)
    assert int(last.steps) == task.max_steps


@every_task
def test_features_are_the_observation_centred_and_scaled(task):
    state = task.reset(jnp.full(NOISE, 0.9))
    centre, scale = task.normal
    np.testing.assert_allclose(task.features(state) * scale + centre, state.values, rtol=1e-6)
    np.testing.assert_array_equal(task.observe(state), state.values)


@every_task
def test_no_gathers_and_no_loops_in_a_step(task):
    noise = jnp.zeros(NOISE, jnp.float32)
    program = str(jax.make_jaxpr(task.step)(task.reset(noise), jnp.int32(1), noise))
    assert not any(name in program for name in ("gather", "scatter", "while", "scan", "cond["))


def test_boxes_and_rods_have_smooth_edges():
    picture = canvas(4, 6, (0, 0, 0))
    paint_box(picture, (200, 100, 50), x=1.5, y=1, w=2, h=1)
    assert picture[1, :, 0].tolist() == [0, 100, 200, 100, 0, 0]
    assert picture[[0, 2, 3]].max() == 0
    paint_rod(picture, (0, 0, 80), (1.5, 3.5), (3.5, 3.5), radius=0.5)
    assert picture[3, :, 2].tolist() == [0, 80, 80, 80, 0, 0]

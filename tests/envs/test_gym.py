import subprocess
import sys

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import bennafusi.envs.gym
from bennafusi.envs import registration

CONTROL = [name for name in registration.ENTRY_POINTS if name != "bennafusi/Grid-v0"]


@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
@pytest.mark.parametrize("name", registration.ENTRY_POINTS)
def test_check_env_is_content(name, render_mode):
    check_env(gymnasium.make(name, render_mode=render_mode).unwrapped)


def rollout(seed, name, **settings):
    env = gymnasium.make(name, **settings)
    env.action_space.seed(seed)
    history = [np.array(env.reset(seed=seed)[0]).tolist()]
    for _ in range(200):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        history += [np.array(observation).tolist(), reward, terminated, truncated]
        if terminated or truncated:
            history.append(np.array(env.reset()[0]).tolist())
    return history


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("bennafusi/Grid-v0", {"size": 3, "max_steps": 30, "goal": "lower left"}),
        ("bennafusi/CartPole-v0", {"max_steps": 30}),
        ("bennafusi/CartPoleLong-v0", {}),
        ("bennafusi/Catcher-v0", {"lives": 3, "no_op": True}),
    ],
)
def test_same_seed_same_rollout(name, settings):
    first, again, other = (rollout(seed, name, **settings) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert 1.0 in first


@pytest.mark.parametrize("name", CONTROL)
def test_pictures_move(name):
    env = gymnasium.make(name, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    for _ in range(5):
        env.step(1)
    after = env.render()
    assert before.shape == after.shape
    assert (before != after).any()


def test_settings_reach_the_task():
    def task(name, **settings):
        return gymnasium.make(f"bennafusi/{name}-v0", **settings).unwrapped.task

    assert task("CartPole").half_length == 0.5
    assert task("CartPoleLong").half_length == 1.0
    assert task("CartPoleLong", half_length=2).half_length == 2.0
    assert task("Catcher", lives=3).lives == 3
    assert task("Catcher", no_op=True).actions == 3
    with pytest.raises(ValueError, match="lives=0: choose a whole number"):
        task("Catcher", lives=0)
    with pytest.raises(ValueError, match="half_length=nan: must be finite"):
        task("CartPole", half_length=float("nan"))


def test_the_way_to_the_reward():
    env = gymnasium.make("bennafusi/Grid-v0", render_mode="ansi")
    env.reset(seed=0)
    for action in [np.int64(0)] * 9 + [1] * 9:
        _, reward, terminated, _, _ = env.step(action)
        assert (reward, terminated) == (0.0, False)
    assert env.render().splitlines()[0] == ". . . . . . . . . *"
    assert env.step(4) == (9, 1.0, True, False, {})


def test_names_are_found_without_an_import_by_the_user():
    program = """
import sys, gymnasium
gymnasium.make("bennafusi.envs:bennafusi/Catcher-v0").reset(seed=0)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_library_itself_registers_nothing_and_needs_no_gymnasium():
    program = """
import sys, bennafusi
sys.exit(any(name in sys.modules for name in ("gymnasium", "jax", "bennafusi.envs")))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_registering_twice_does_no_harm():
    registration.register()
    assert gymnasium.spec("bennafusi/Grid-v0").entry_point == "bennafusi.envs.gym:make_grid"


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="render_mode='human': unknown"):
        bennafusi.envs.gym.make_grid("human")
    env = bennafusi.envs.gym.make_grid("ansi")
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step(0)
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.render()
    env.reset(seed=0)
    with pytest.raises(gymnasium.error.InvalidAction, match=r"action=7: choose .* 0 to 4"):
        env.step(7)
    assert bennafusi.envs.gym.make_grid().render() is None


class Box:
    """A task with real observations, as Cart-Pole will be."""

    actions, noise = 2, None
    observations = (np.zeros(2, np.float32), np.ones(2, np.float32))

    def reset(self, key):
        return np.float32(0.5)

    def step(self, state, action, key):
        return state, np.float32(1), np.bool(False), np.bool(True)

    def observe(self, state):
        return jnp.stack([state, state])


def test_tasks_with_real_observations():
    env = bennafusi.envs.gym.TaskEnv(Box())
    assert env.observation_space.contains(env.reset(seed=0)[0])
    observation, reward, terminated, truncated, _ = env.step(1)
    assert observation.tolist() == [0.5, 0.5]
    assert (reward, terminated, truncated) == (1.0, False, True)

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import bennafusi.envs.gym
from bennafusi.envs import registration


@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
def test_check_env_is_content(render_mode):
    check_env(gymnasium.make("bennafusi/Grid-v0", render_mode=render_mode).unwrapped)


def rollout(seed):
    env = gymnasium.make("bennafusi/Grid-v0", size=3, max_steps=30, goal="lower left")
    env.action_space.seed(seed)
    history = [env.reset(seed=seed)[0]]
    for _ in range(200):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        history += [observation, reward, terminated, truncated]
        if terminated or truncated:
            history.append(env.reset()[0])
    return history


def test_same_seed_same_rollout():
    assert rollout(3) == rollout(3)
    assert rollout(3) != rollout(4)
    assert 1.0 in rollout(3)


def test_the_way_to_the_reward():
    env = gymnasium.make("bennafusi/Grid-v0", render_mode="ansi")
    env.reset(seed=0)
    for action in [np.int64(0)] * 9 + [1] * 9:
        _, reward, terminated, _, _ = env.step(action)
        assert (reward, terminated) == (0.0, False)
    assert env.render().splitlines()[0] == ". . . . . . . . . *"
    assert env.step(4) == (9, 1.0, True, False, {})


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

    actions = 2
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

"""Episodes that are only played: every step of them, against the task and the network by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.rollout import apart, evaluate, rollouts

SETTINGS = changed(DeepSettings(), {"network.hidden": (8, 8), "max_steps": 60, "chain.n": 1})
KEY, COUNT = jax.random.key(4), 12


@pytest.fixture(scope="module")
def params():
    return SETTINGS.network.start(jax.random.key(1), SETTINGS.sizes)


@pytest.fixture(scope="module", params=range(2))
def played(request, params):
    task = jnp.int32(request.param)
    return task, rollouts(SETTINGS, params, task, KEY, COUNT)


def test_rewards_are_those_of_the_whole_episodes(played, params):
    task, trajectories = played
    rewards = evaluate(SETTINGS, params, task, KEY, COUNT)
    np.testing.assert_array_equal(rewards, trajectories.total)
    np.testing.assert_array_equal(
        trajectories.total, trajectories.returns[jnp.arange(COUNT), trajectories.length]
    )


def test_every_step_is_one_of_the_task_with_the_network_s_favourite_action(played, params):
    task, trajectories = played
    world, lengths = SETTINGS.envs[int(task)], []
    step, values = jax.jit(world.step), jax.jit(SETTINGS.network.values)
    for key, episode in zip(jax.random.split(KEY, COUNT), apart(trajectories), strict=True):
        steps = int(episode.length)
        assert episode.actions.shape == (steps,)
        assert episode.returns.shape == (steps + 1,)
        assert episode.states.values.shape == (steps + 1, 4)
        assert episode.returns[0] == 0
        lengths.append(steps)
        for place in range(steps):
            state, after = (
                jax.tree.map(lambda x, i=i: x[i], episode.states) for i in (place, place + 1)
            )
            q = values(params, task, world.features(state))
            action = int(episode.actions[place])
            assert action == int(jnp.argmax(q)) or abs(float(q[1] - q[0])) < 0.2  # of soft choice
            chance = jax.random.uniform(jax.random.fold_in(key, place + 1), (5,))[1:]
            expected, reward, terminated, truncated = step(state, jnp.int32(action), chance)
            jax.tree.map(
                lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), after, expected
            )
            gained = episode.returns[place + 1] - episode.returns[place]
            assert gained == float(reward)
            assert bool(terminated | truncated) == (place == steps - 1)
    assert len(set(lengths)) > 1 or lengths[0] == SETTINGS.max_steps


def test_another_key_another_episode(params):
    task = jnp.int32(0)
    one, two = (rollouts(SETTINGS, params, task, jax.random.key(seed), 1) for seed in (0, 1))
    assert not np.array_equal(one.states.values, two.states.values)

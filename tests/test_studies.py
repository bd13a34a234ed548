"""The programs behind explanations in docs/results.md."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.agents import q_lambda

FILE = Path(__file__).parents[1] / "docs" / "studies" / "grid_stall.py"


@pytest.fixture(scope="module")
def stall():
    spec = importlib.util.spec_from_file_location("grid_stall", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_pair_without_inflow_drains_by_the_leak_alone(stall):
    agent = stall.settings_of("modified").learner
    assert stall.fading(agent, 0.0, visited=False) == pytest.approx(1e-5 / 4 / 4)


def test_a_plain_pair_drains_as_its_matrix_by_hand(stall):
    agent = stall.settings_of("benna-fusi").learner
    # Tubes 1e-5, 5e-6, 2.5e-6 (the leak) between areas 1, 2, 4.
    held = np.array([[-(5e-6 + 2.5e-6), 2.5e-6], [1.25e-6, -(1.25e-6 + 6.25e-7)]])
    assert stall.fading(agent, 1.0, visited=True) == pytest.approx(-np.linalg.eigvals(held).max())
    assert stall.fading(agent, 1.0, visited=False) < stall.fading(agent, 1.0, visited=True) / 4


@pytest.mark.parametrize("variant", ["modified", "benna-fusi"])
def test_the_mean_system_of_one_step_is_that_step(stall, variant):
    agent = stall.settings_of(variant).learner
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), 3)
        levels = tuple(jax.random.uniform(key, (500,), jnp.float64) for key in keys)
        table = q_lambda.TableState(levels, jnp.zeros(500))
        here, there, action = jnp.int32(42), jnp.int32(43), jnp.int32(2)
        best = 43 * 5 + int(jnp.argmax(q_lambda.values(agent, table, there)))
        after = q_lambda.learn(
            agent, table, here, action, jnp.float64(0), jnp.float64(0.9), there, jnp.bool_(True)
        )
    walk = stall.Walk(np.array([42 * 5 + 2]), np.array([best]), np.array([True]))
    matrix, mean = stall.system(agent, walk, modulated=variant == "modified")
    assert mean[42 * 5 + 2] == mean.sum() == 1
    change = np.concatenate(after.levels) - np.concatenate(levels)
    # The flow sees the weight after the update: a product of two small numbers apart.
    np.testing.assert_allclose(matrix @ np.concatenate(levels), change, rtol=0, atol=1e-7)
    assert np.abs(change).max() > 5e-4

"""Permanent and transient values: whose gradient there is, and what a boundary does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.agents import permanent, soft_q
from bennafusi.agents.adam import Adam
from bennafusi.agents.chains import NetworkChains
from bennafusi.agents.networks import Network, Sizes, half
from bennafusi.agents.permanent import Boundary
from bennafusi.agents.replay import Transition
from bennafusi.agents.soft_q import SoftQ
from bennafusi.experiments.deep.deep_job import DeepRun
from bennafusi.training import deep_loop
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings

AGENT = SoftQ(Network(hidden=(3,), permanent=True), NetworkChains(n=1), Adam(0.01))
SIZES, TASK = Sizes(inputs=2, actions=2, tasks=2), jnp.int32(1)
SEEN = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
STEPS = Transition(
    jnp.asarray(SEEN), jnp.array([0, 1, 1, 0]), jnp.ones(4), jnp.zeros(4), jnp.asarray(SEEN)
)


@jax.jit
def begin():
    return soft_q.start(AGENT, SIZES, jax.random.key(2))


@jax.jit
def parts(params):
    alone = AGENT.network.alone
    return [alone.values(half(params, i), TASK, SEEN) for i in range(2)]


@jax.jit
def learnt(state):
    step = jax.tree.map(lambda x: x[0], STEPS)
    return soft_q.learn(AGENT, state, TASK, step, jnp.array([5.0, -5.0]))[0]


@jax.jit
def crossed(state):
    rule = Boundary(rate=0.1, updates=1, decay=0.75)
    key = jax.random.key(0)
    return permanent.crossed(AGENT.network, rule, TASK, lambda key: STEPS, key, state)


def test_values_are_a_sum_and_errors_move_the_transient_part_alone():
    before = begin()
    after = learnt(before)
    together = jax.jit(AGENT.network.values)(before.params, TASK, SEEN)
    np.testing.assert_allclose(together, sum(parts(before.params)), rtol=1e-5)
    for one, two in zip(*(half(s.params, 1).weights for s in (before, after)), strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(*(half(s.params, 0).weights for s in (before, after)), strict=True):
        assert (np.asarray(one) != np.asarray(two)).any()


def test_a_boundary_moves_the_permanent_part_to_the_sum_and_fades_the_transient_one():
    before = begin()
    after = crossed(before)
    old, new = parts(before.params), parts(after.params)
    np.testing.assert_allclose(new[0], 0.75 * old[0], rtol=1e-5)
    # One step down the slope of the squared error of the taken actions, by differences in float64.
    kept = half(before.params, 1)
    first, last = (np.asarray(w, np.float64) for w in kept.weights)
    wanted = (old[0] + old[1])[np.arange(4), STEPS.action]

    def error(last):
        values = np.maximum(SEEN @ first, 0) @ last
        return np.mean((values[np.arange(4), np.asarray(STEPS.action)] - wanted) ** 2)

    expected = last.copy()
    for place in np.ndindex(last.shape):
        shift = np.zeros_like(last)
        shift[place] = 1e-5
        expected[place] -= 0.1 * (error(last + shift) - error(last - shift)) / 2e-5
    np.testing.assert_allclose(half(after.params, 1).weights[1], expected, rtol=1e-4, atol=1e-5)


def told(**fields):
    """A run of two short epochs."""
    return changed(
        DeepSettings(),
        {
            **{"epochs": 2, "episodes": 6, "max_steps": 20, "network.hidden": (4,), "chain.n": 1},
            **{"schedule.replay": 100, "schedule.batch": 16, "network.permanent": True},
            **fields,
        },
    )


def test_who_loses_its_values_at_a_boundary_has_diverged_there():
    job = DeepRun(told(**{"boundary.rate": 1e6}), 0)
    state = job.initial()
    while int(state.epoch) == 0:
        assert job.check(state) is None
        state, records = job.advance(state)
    assert job.check(state).startswith("diverged at the switch that ended epoch 1: ")
    assert job.check(state).endswith("A smaller boundary.rate may help")
    assert "switch" not in {record["kind"] for record in records if record.get("epoch") == 1}


def test_in_the_compiled_loop_a_switch_is_such_a_boundary():
    settings = told()
    born = deep_loop.start(settings, 0)
    ending, _ = deep_loop.advance(settings, born, 10**6, 5)
    switched, _ = deep_loop.advance(settings, ending, 10**6, 1)
    assert (int(ending.epoch), int(switched.epoch)) == (0, 1)
    first, second, third = (half(s.agent.params, 1).weights[0] for s in (born, ending, switched))
    np.testing.assert_array_equal(first, second)
    assert (np.asarray(second) != np.asarray(third)).any()
    with pytest.raises(ValueError, match=r"chain.n=2 with network.permanent=True: it would move"):
        changed(settings, {"chain.n": 2})
    with pytest.raises(ValueError, match=r"schedule.kind='online' with network.permanent=True"):
        changed(settings, {"schedule.kind": "online", "schedule.batch": 1})

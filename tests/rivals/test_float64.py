"""In float64 the rivals are as exact as their weights: their equations, to 1e-12."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.special import expit

from bennafusi import Chain, rivals
from tests.promotion import lenient
from tests.rivals.oracles import Ewc, Intelligence

RATE = 0.05
PULLED = {"strength": 0.7, "mean_decay": 0.9, "importance_decay": 0.8}


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


def noise(seed=0, count=40, size=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, size)), rng.normal(size=size)


def drive(optimizer, grads, start, **extra):
    """The weights after each of the given gradients, ``[T, size]``."""
    weights, found = jnp.asarray(start), []
    state = optimizer.init(weights)
    for t, g in enumerate(grads):
        now = {name: jnp.asarray(values[t]) for name, values in extra.items()}
        steps, state = optimizer.update(jnp.asarray(g), state, weights, **now)
        assert steps.dtype == jnp.float64
        weights = weights + steps
        found.append(weights)
    return np.stack(found)


def sgd():
    return lenient(optax.sgd(RATE))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_pulls_to_the_mean():
    grads, start = noise()
    loud = noise(seed=1)[0]
    close(
        drive(rivals.online_ewc(sgd(), **PULLED), grads, start),
        Ewc(**PULLED).run(grads, start, RATE),
    )
    close(
        drive(rivals.mas(sgd(), **PULLED), grads, start, output_grads=loud),
        Ewc(**PULLED).run(grads, start, RATE, importance=np.abs(loud)),
    )
    settings = PULLED | {"damping": 0.01}
    close(
        drive(rivals.synaptic_intelligence(sgd(), **settings), grads, start),
        Intelligence(**settings).run(grads, start, RATE),
    )


@pytest.mark.parametrize("name", ["hare_and_tortoise", "lookahead"])
def test_weights_that_are_set_back(name):
    grads, start = noise()
    optimizer = getattr(rivals, name)(sgd(), step_size=0.3, period=4)
    fast, slow, expected = start, start, []
    for t, g in enumerate(grads, 1):
        fast = fast - RATE * g
        if name == "hare_and_tortoise" or t % 4 == 0:
            slow = slow + 0.3 * (fast - slow)
        fast = slow if t % 4 == 0 else fast
        expected.append(fast)
    close(drive(lenient(optimizer), grads, start), np.stack(expected))


def test_a_rate_that_falls():
    grads, start = noise()
    c = 1 / np.sqrt(np.pi * np.sqrt(2.0))
    factor = np.minimum(1, c / np.sqrt(0.3 * np.arange(1, 41)))
    optimizer = lenient(rivals.annealed(sgd(), Chain(8, 0.3)))
    close(drive(optimizer, grads, start), start - RATE * np.cumsum(factor[:, None] * grads, 0))


def test_steps_that_cannot_overshoot():
    grads, start = noise()
    errors = 3 * np.random.default_rng(2).normal(size=40)
    optimizer = rivals.obgd(learning_rate=0.7, kappa=2.3, discount=0.9, trace_decay=0.7)
    found = drive(optimizer, grads, start, delta=errors, reset=np.arange(40) % 7 == 6)
    weights, trace, expected = start, np.zeros(5), []
    for t, (g, error) in enumerate(zip(grads, errors, strict=True)):
        trace = 0.9 * 0.7 * trace + g
        most = 0.7 * 2.3 * max(abs(error), 1) * np.abs(trace).sum()
        weights = weights + 0.7 / max(most, 1) * error * trace
        trace = trace * (t % 7 != 6)
        expected.append(weights)
    close(found, np.stack(expected))


def test_what_is_useful_is_protected():
    grads, start = noise()
    settings = {"noise": 0.0, "decay": 0.01, "utility_decay": 0.9}
    found = drive(rivals.upgd(sgd(), key=jax.random.key(0), **settings), grads, start)
    weights, utility, expected = start, np.zeros(5), []
    for g in grads:
        utility = 0.9 * utility - 0.1 * g * weights
        free = expit(-utility / max(utility.max(), np.finfo("f4").tiny))  # 1 - sigmoid
        weights = weights - free * RATE * g - 0.01 * weights
        expected.append(weights)
    close(found, np.stack(expected))


def test_each_weight_has_the_exactness_of_its_own_type():
    """In a tree of both, the float32 of it is what it is by itself, to the bit."""
    grads, start = noise()
    both = {"wide": jnp.asarray(start), "narrow": jnp.asarray(start, jnp.float32)}

    def run(params):
        optimizer = rivals.online_ewc(sgd(), **PULLED)
        state = optimizer.init(params)
        for g in grads:
            now = jax.tree.map(lambda p, g=g: jnp.asarray(g, p.dtype), params)
            steps, state = optimizer.update(now, state, params)
            params = jax.tree.map(jnp.add, params, steps)
        return params

    together = run(both)
    for name, weights in both.items():
        np.testing.assert_array_equal(together[name], run({name: weights})[name])

"""Laws that hold for every chain, searched for counterexamples."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from hypothesis import given
from hypothesis import strategies as st

from bennafusi import Chain, beakers, consolidate, recall, simulate

STEPS, WIDTH = 64, 3  # fixed, so that hypothesis does not compile a program per example
METHODS = st.sampled_from(["euler", "multirate", "exact"])
SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def chains(draw, **fixed):
    return Chain(
        n=draw(st.sampled_from([1, 3, 8])),
        g12=draw(st.sampled_from([0.01, 0.6])),
        **{
            "growth": draw(st.sampled_from([2.0, 1.7])),
            "leak": draw(st.booleans()),
            "gated": draw(st.booleans()),
            **fixed,
        },
    )


def inputs(seed, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal((STEPS, WIDTH)).astype(np.float32)


def levels(chain, seed):
    return np.random.default_rng(seed).standard_normal((chain.n, WIDTH)).astype(np.float32)


@given(chains(), METHODS, SEEDS, SEEDS, st.floats(-3, 3), st.floats(-3, 3))
def test_linear(chain, method, seed, other, a, b):
    def run(dw, u0):
        return np.asarray(simulate(chain, jnp.asarray(dw), u0=jnp.asarray(u0), method=method))

    a, b = np.float32(a), np.float32(b)
    x, y = (inputs(seed), levels(chain, seed + 1)), (inputs(other), levels(chain, other + 1))
    mixed = run(a * x[0] + b * y[0], a * x[1] + b * y[1])
    np.testing.assert_allclose(mixed, a * run(*x) + b * run(*y), atol=2e-4, rtol=2e-4)


@given(chains(), METHODS, SEEDS)
def test_bounded_by_its_highest_and_lowest_level(chain, method, seed):
    """Without input no level leaves the range of the old ones and 0, whatever the step size."""
    u0 = levels(chain, seed)
    still = jnp.zeros((STEPS, WIDTH))
    path = np.asarray(simulate(chain, still, u0=jnp.asarray(u0), method=method, record_every=1))
    margin = 1e-5
    assert np.all(path <= np.maximum(u0.max(0), 0) + margin)
    assert np.all(path >= np.minimum(u0.min(0), 0) - margin)


@given(chains(leak=False, gated=False), METHODS, SEEDS)
def test_liquid_is_conserved(chain, method, seed):
    dw, u0 = inputs(seed), levels(chain, seed + 1)
    u = np.asarray(simulate(chain, jnp.asarray(dw), u0=jnp.asarray(u0), method=method), np.float64)
    poured = chain.areas @ u0.astype(np.float64) + dw.astype(np.float64).sum(0)
    scale = chain.areas @ np.abs(u0) + np.abs(dw).sum(0)
    np.testing.assert_allclose((chain.areas @ u - poured) / scale, 0, atol=2e-5)


@functools.cache
def plain_and_chained(every, method):
    """One program for each kind of chain: its optimiser without and with one beaker."""
    plain = optax.sgd(0.1, momentum=0.9)
    chained = consolidate(plain, Chain(1, 0.3, leak=False), every=every, method=method, dt=1.0)

    @jax.jit
    def run(params, gradients):
        def body(carry, gradient):
            (p, s), (q, t) = carry
            updates, s = plain.update(gradient, s, p)
            twins, t = chained.update(gradient, t, q)
            return ((optax.apply_updates(p, updates), s), (optax.apply_updates(q, twins), t)), None

        start = ((params, plain.init(params)), (params, chained.init(params)))
        ((p, _), (q, t)), _ = jax.lax.scan(body, start, gradients)
        return p, q, beakers(t)

    return run


@given(SEEDS, st.sampled_from([1, 4]), METHODS)
def test_one_beaker_without_leak_equals_the_plain_optimiser(seed, every, method):
    p, q, u = plain_and_chained(every, method)(jnp.ones(WIDTH), inputs(seed)[:12])
    np.testing.assert_array_equal(p, q)
    assert u.shape == (1, WIDTH)


@given(chains(gated=False), SEEDS)
def test_exact_and_euler_agree_for_small_steps(chain, seed):
    """The gap between them closes linearly with dt."""
    u0 = jnp.asarray(levels(chain, seed))
    still = jnp.zeros((STEPS, WIDTH))

    def gap(dt):
        one, other = (
            simulate(chain, still, u0=u0, dt=dt, method=method) for method in ("exact", "euler")
        )
        return float(jnp.abs(one - other).max())

    largest = chain.largest_step
    assert gap(largest / 100) < 5e-3 * float(jnp.abs(u0).max()) + 1e-6
    assert gap(largest / 1000) < 1e-3 * float(jnp.abs(u0).max()) + 1e-6


@given(chains(), SEEDS)
def test_multirate_stays_with_euler(chain, seed):
    dw, u0 = inputs(seed), levels(chain, seed + 1)
    one, other = (
        np.asarray(simulate(chain, jnp.asarray(dw), u0=jnp.asarray(u0), method=method))
        for method in ("multirate", "euler")
    )
    np.testing.assert_allclose(one, other, atol=0.05 * np.abs(u0).max())


@functools.cache
def trained_and_recalled(n, depth):
    """One program per chain and depth: train for so many updates, then recall."""
    tx = consolidate(optax.sgd(0.1), Chain(n, 0.05, gated=False), every=2)

    @jax.jit
    def run(params, gradients, updates):
        def body(index, carry):
            params, state = carry
            step, state = tx.update(gradients[index], state, params)
            return optax.apply_updates(params, step), state

        params, state = jax.lax.fori_loop(0, updates, body, (params, tx.init(params)))
        after = recall(state, params, depth, overwrite=True)
        return params, state, after, beakers(state), beakers(after.state)

    return run


@given(SEEDS, st.sampled_from([(3, 2), (3, 3), (8, 4), (8, 7)]), st.integers(0, 40))
def test_recall_changes_what_it_says_and_nothing_else(seed, which, updates):
    """Levels above take the depth's; those below stay; the liquid is what is reported."""
    (n, depth), chain = which, Chain(which[0], 0.05)
    start = jnp.asarray(levels(chain, seed)[0])
    params, state, after, before, now = trained_and_recalled(n, depth)(
        start, jnp.asarray(inputs(seed)), updates
    )
    before = np.asarray(before).copy()
    before[0] = params  # between two steps of the chain the weight has moved on
    expected = before.copy()
    expected[:depth] = before[depth - 1]
    np.testing.assert_array_equal(now, expected)
    np.testing.assert_array_equal(after.params, before[depth - 1])
    poured = chain.areas @ (expected.astype(np.float64) - before)
    np.testing.assert_allclose(after.created, poured, rtol=1e-5, atol=1e-4)
    counters = [(s.flow.updates, s.flow.chain.steps) for s in (state, after.state)]
    assert counters[0] == counters[1] == (updates % 2, updates // 2)

"""The checks that optax makes of every wrapper it ships, made of `consolidate`."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bennafusi import Chain, add_flow, beakers, consolidate
from tests.compiling import AS_RUNS_DO

CHAIN = Chain(6, 0.01, leak=False)
PACKED = pytest.mark.parametrize("packed", [False, True])
# What optax's own optimisers do to types and ranks is theirs; the suite is strict with us.
pytestmark = pytest.mark.usefixtures("lenient")


@pytest.fixture
def lenient():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def parabola(dtype):
    final = jnp.array([1.0, -1.0, 1.0], dtype)
    return jnp.array([-1.0, 10.0, 1.0], dtype), final, lambda p: jnp.sum((p - final) ** 2)


def rosenbrock(dtype):
    valley = lambda p: (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2  # noqa: E731
    return jnp.zeros(2, dtype), jnp.ones(2, dtype), valley


def matrix(dtype):
    final = jnp.array([[3.0, -2.0], [1.0, 4.0]], dtype)
    return jnp.zeros((2, 2), dtype), final, lambda p: jnp.sum((p - final) ** 2)


def mixed(dtype):
    one, two = parabola(dtype), matrix(dtype)
    return (one[0], two[0]), (one[1], two[1]), lambda p: one[2](p[0]) + two[2](p[1])


def stepper(tx, loss):
    def step(params, state):
        updates, state = tx.update(jax.grad(loss)(params), state, params)
        return optax.apply_updates(params, updates), state

    return step


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("target", [parabola, rosenbrock, matrix, mixed])
def test_converges_after_its_state_was_mapped(target, every):
    params, final, loss = target(jnp.float32)
    tx = consolidate(optax.adam(1e-2), CHAIN, every=every)
    state = optax.tree.map_params(tx, lambda v: v, tx.init(params))
    step = stepper(tx, loss)
    (params, _), _ = jax.jit(
        partial(jax.lax.scan, lambda carry, _: (step(*carry), None), length=30_000)
    )((params, state))
    for found, wanted in zip(jax.tree.leaves(params), jax.tree.leaves(final), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=3e-2, atol=3e-2)


def test_every_array_belongs_to_a_parameter_and_has_its_shape_behind_the_beakers():
    params = {"w": jnp.ones((4, 3)), "b": jnp.zeros(3), "scalar": jnp.ones(())}
    # Long enough for three groups, with liquid between them.
    tx = consolidate(optax.adam(1e-3), Chain(9, 0.05))
    seen = []

    def look(leaf, param):
        seen.append((leaf.shape, param.shape))
        return leaf + 1.0

    state = tx.init(params)
    mapped = optax.tree.map_params(tx, look, state, params)
    assert len(state.flow.chain.levels) == 3
    assert len(seen) == (2 + 3) * 3  # two moments of Adam and three groups, three parameters
    assert all(leaf[leaf != param :] == param for leaf, param in seen)
    others = optax.tree.map_params(tx, lambda leaf: None, mapped)
    assert {leaf.shape for leaf in jax.tree.leaves(others)} == {()}  # counters alone are left
    before, after = (jax.tree.leaves(s.flow.chain.levels) for s in (state, mapped))
    for u, v in zip(before, after, strict=True):
        np.testing.assert_array_equal(u + 1.0, v)


def test_map_params_behind_a_mask_and_as_a_link():
    params = {"w": jnp.ones((4, 3)), "b": jnp.zeros(3)}
    masked = consolidate(optax.sgd(0.1), CHAIN, mask={"w": True, "b": False})
    linked = optax.chain(optax.sgd(0.1), add_flow(CHAIN))
    for tx in (masked, linked):
        state = optax.tree.map_params(tx, lambda v: v * 2, tx.init(params))
        np.testing.assert_array_equal(beakers(state)["w"], np.full((6, 4, 3), 2.0))


@PACKED
def test_can_be_made_by_inject_hyperparams(packed):
    factory = partial(consolidate, optax.adam(1e-2))
    settings = {"chain": CHAIN, "every": 2, "dt": 3.0, "packed": packed}
    plain = factory(**settings)
    injected = optax.inject_hyperparams(factory, ("every", "dt", "packed"))(**settings)
    params = [-jnp.ones((2, 3)), jnp.ones((2, 5, 2))]
    grads = [jnp.ones((2, 3)), -jnp.ones((2, 5, 2))]
    one, state = jax.jit(plain.update)(grads, jax.jit(plain.init)(params), params)
    two, other = jax.jit(injected.update)(grads, jax.jit(injected.init)(params), params)
    jax.tree.map(np.testing.assert_array_equal, (one, state), (two, other.inner_state))


@pytest.mark.parametrize(("name", "value"), [("every", 2), ("dt", 3.0)])
def test_what_is_injected_under_jit_is_refused_in_words(name, value):
    factory = partial(consolidate, optax.adam(1e-2), CHAIN)
    others = {"every", "dt"} - {name}  # optax injects defaults, too
    injected = optax.inject_hyperparams(factory, others)(**{name: value})
    params = jnp.ones(2)
    with pytest.raises(TypeError, match=rf"^{name}=.*known before compiling.* '{name}'"):
        jax.jit(injected.update)(params, injected.init(params), params)


@PACKED
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_keeps_the_type_and_accumulates_gradients(dtype, packed):
    tx = consolidate(optax.adam(1e-2), CHAIN, packed=packed)
    params = jnp.array([1.0, 2.0], dtype)
    grads = 2 * params
    updates, _ = jax.jit(tx.update)(grads, jax.jit(tx.init)(params), params)
    assert updates.dtype == params.dtype
    slow = optax.MultiSteps(tx, every_k_schedule=4)
    updates, _ = jax.jit(slow.update)(grads, jax.jit(slow.init)(params), params)
    np.testing.assert_array_equal(updates, np.zeros(2))
    assert updates.dtype == params.dtype


@PACKED
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_state_keeps_its_shapes_and_types(dtype, packed):
    """Both branches of a ``cond`` must be alike, so an update must not change any of them."""
    with jax.enable_x64(dtype == "float64"):
        params, _, loss = parabola(jnp.dtype(dtype))
        tx = consolidate(optax.sgd(0.01), CHAIN, every=2, packed=packed)
        state = tx.init(params)
        grads = jax.grad(loss)(params)

        @jax.jit
        def maybe(flag, state):
            return jax.lax.cond(
                flag, lambda: tx.update(grads, state, params), lambda: (params, state)
            )

        for flag in (True, False):
            updates, new = maybe(flag, state)
            assert updates.dtype == params.dtype
            assert jax.tree.map(jnp.shape, new) == jax.tree.map(jnp.shape, state)
        assert beakers(state).dtype == ("float64" if dtype == "float64" else "float32")


def test_takes_a_schedule_as_the_optimiser_takes_it():
    params, _, loss = parabola(jnp.float32)
    ends = []
    for rate in (1e-3, optax.constant_schedule(1e-3)):
        tx = consolidate(optax.adam(rate), CHAIN)
        step, p, state = jax.jit(stepper(tx, loss)), params, tx.init(params)
        for _ in range(10):
            p, state = step(p, state)
        ends.append(p)
    np.testing.assert_allclose(*ends, rtol=1e-6)


@pytest.mark.parametrize("every", [1, 3])
def test_packing_changes_no_bit(every):
    """Two small parameters, one large; a flow for each; every group moves."""
    key = jax.random.key(0)
    params = {
        name: jax.random.normal(jax.random.fold_in(key, i), shape)
        for i, (name, shape) in enumerate({"w": (130, 130), "b": (7,), "v": (5, 3)}.items())
    }
    flow = {"w": 1.0, "b": jnp.linspace(0.0, 2.0, 7), "v": 0.5}
    ends = []
    # The emitter that tests are compiled with rounds a last digit of some numbers differently.
    for packed in (False, True):
        tx = consolidate(optax.sgd(0.1), Chain(12, 0.05), every=every, packed=packed)

        @partial(jax.jit, compiler_options=AS_RUNS_DO)
        def run(params, tx=tx):
            def body(carry, _):
                params, state = carry
                updates, state = tx.update(params, state, params, flow=flow)
                return (optax.apply_updates(params, updates), state), None

            (params, state), _ = jax.lax.scan(body, (params, tx.init(params)), None, length=600)
            return params, beakers(state)

        ends.append(run(params))
    jax.tree.map(np.testing.assert_array_equal, *ends)
    state = consolidate(optax.sgd(0.1), Chain(12, 0.05), packed=True).init(params)
    assert len(jax.tree.leaves(state.flow.chain.levels[0])) == 2


def test_a_link_that_is_not_the_last_is_refused():
    params = jnp.ones(2)
    for early in (
        optax.chain(optax.sgd(0.1), add_flow(CHAIN), optax.scale(0.5)),
        optax.chain(optax.chain(optax.sgd(0.1), add_flow(CHAIN)), optax.clip(1.0)),
        optax.chain(consolidate(optax.sgd(0.1), CHAIN), optax.scale(0.5)),
        optax.named_chain(("flow", add_flow(CHAIN)), ("sgd", optax.sgd(0.1))),
    ):
        with pytest.raises(ValueError, match="must be the last link"):
            jax.jit(early.update)(params, early.init(params), params)
    last = optax.named_chain(("sgd", optax.sgd(0.1)), ("flow", add_flow(CHAIN)))
    last.update(params, last.init(params), params)
    # An optimiser that is called from inside another's update is not a link of that one.
    inner = consolidate(optax.sgd(0.1), CHAIN)
    outer = optax.chain(
        optax.stateless(lambda g, p: inner.update(g, inner.init(p), p)[0]), optax.scale(1.0)
    )
    outer.update(params, outer.init(params), params)

"""`consolidate`, tested the way optax tests its own wrappers."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from optax._src import alias

from bennafusi import Chain, add_flow, beakers, consolidate, linear_variance, readout, recall
from tests.promotion import lenient
from tests.reference.euler import euler

# Every optimiser optax exports, found by looking, so that a new one is tested too.
OPTIMIZERS = sorted(
    name
    for name, function in vars(alias).items()
    if inspect.isfunction(function)
    and hasattr(optax, name)
    and function.__module__ == alias.__name__
    and name != "optimistic_adam"  # deprecated
)
TARGET = {
    "w": np.array([[0.5, -1.0], [0.25, 0.75]], np.float32),
    "b": np.array([0.5, 0.1], np.float32),
}


def build(name):
    takes_rate = "learning_rate" in inspect.signature(getattr(optax, name)).parameters
    rate = {"adadelta": 1.0, "lars": 0.1}.get(name, 0.03)
    if name in ("lbfgs", "polyak_sgd"):
        return lenient(getattr(optax, name)())
    options = {"key": 0} if name == "noisy_sgd" else {}
    arguments = (rate,) if takes_rate else ()
    return lenient(getattr(optax, name)(*arguments, **options))


def lenient_adam(rate):
    return lenient(optax.adam(rate))


def loss(params):
    return sum(
        jnp.sum((p - t) ** 2)
        for p, t in zip(jax.tree.leaves(params), jax.tree.leaves(TARGET), strict=True)
    )


def start():
    return jax.tree.map(lambda t: jnp.full(t.shape, 0.9, t.dtype), TARGET)


def arguments(name, params, grads):
    value = loss(params)
    return {
        "lbfgs": {"value": value, "grad": grads, "value_fn": loss},
        "polyak_sgd": {"value": value},
    }.get(name, {})


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_around_every_optimiser(name):
    """Converges under jit and scan, keeps types, accepts unknown arguments, compiles once."""
    wrapped = consolidate(build(name), Chain(5, 0.001))
    # lbfgs hands what it does not know to its own value function
    unknown = {} if name == "lbfgs" else {"nobody_knows_me": 1}

    def stepper(transform):
        def step(params, state):
            grads = jax.grad(loss)(params)
            updates, state = transform.update(
                grads, state, params, **arguments(name, params, grads), **unknown
            )
            return optax.apply_updates(params, updates), state

        return jax.jit(step)

    def twice(transform):
        step = stepper(transform)
        params, state = step(start(), transform.init(start()))
        return step, step(params, state)

    plain, _ = twice(build(name))
    step, (params, state) = twice(wrapped)
    assert step._cache_size() == plain._cache_size()  # 1, but for lbfgs, which begins weakly typed
    assert jax.tree.map(lambda p: (p.shape, p.dtype), params) == jax.tree.map(
        lambda t: (t.shape, t.dtype), TARGET
    )
    (params, state), _ = jax.lax.scan(
        lambda carry, _: (step(*carry), None), (params, state), None, length=400
    )
    assert loss(params) < 0.6 * loss(start())
    levels = beakers(state)
    assert all(np.isfinite(u).all() for u in jax.tree.leaves(levels))
    assert jax.tree.map(jnp.shape, levels) == {"w": (5, 2, 2), "b": (5, 2)}
    for u, p in zip(jax.tree.leaves(levels), jax.tree.leaves(params), strict=True):
        np.testing.assert_allclose(u[0], p, rtol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_beaker_without_leak_is_the_optimiser_to_the_bit(name):
    plain, wrapped = build(name), consolidate(build(name), Chain(1, 0.1, leak=False), every=3)
    plain = optax.with_extra_args_support(plain)

    @jax.jit
    def run(params):
        def body(carry, _):
            (p, s), (q, t) = carry
            grads = jax.grad(loss)(p)
            updates, s = plain.update(grads, s, p, **arguments(name, p, grads))
            grads = jax.grad(loss)(q)
            twins, t = wrapped.update(grads, t, q, **arguments(name, q, grads))
            return (
                (optax.apply_updates(p, updates), s),
                (optax.apply_updates(q, twins), t),
            ), None

        start = ((params, plain.init(params)), (params, wrapped.init(params)))
        ((p, _), (q, _)), _ = jax.lax.scan(body, start, None, length=20)
        return p, q

    p, q = run(start())
    jax.tree.map(np.testing.assert_array_equal, p, q)


def drive(transform, dws, params=None, **extra):
    """Parameters and state after updates that are exactly ``dws``."""
    params = jnp.zeros(dws.shape[1:], dws.dtype) if params is None else params

    @jax.jit
    def run(params, dws):
        def body(carry, dw):
            params, state = carry
            updates, state = transform.update(-dw, state, params, **extra)
            return (optax.apply_updates(params, updates), state), params

        return jax.lax.scan(body, (params, transform.init(params)), dws)[0]

    return run(params, dws)


@pytest.mark.parametrize("method", ["euler", "multirate"])
def test_updates_then_flow_as_the_oracle_says(method):
    dws = np.random.default_rng(0).standard_normal((3000, 16)).astype(np.float32)
    chain = Chain(6, 0.05)
    params, state = drive(
        consolidate(optax.sgd(1.0), chain, method=method, hidden="zeros"), jnp.asarray(dws)
    )
    reference = euler(6, 0.05, dws, gated=True, input_first=True)
    awake = chain.timescales < len(dws)
    errors = np.sqrt(((beakers(state) - reference) ** 2).mean(1) / (reference**2).mean(1))
    assert errors[awake].max() < 5e-3
    np.testing.assert_allclose(beakers(state)[0], params, rtol=1e-6)


def test_one_chain_step_of_64_after_64_updates():
    dws = np.random.default_rng(1).standard_normal((640, 8)).astype(np.float32)
    chain = Chain(4, 0.001625)
    params, state = drive(
        consolidate(optax.sgd(1.0), chain, every=64, method="euler", hidden="zeros"),
        jnp.asarray(dws),
    )
    batches = dws.reshape(10, 64, 8).sum(1)
    reference = euler(4, 0.001625, batches, dt=64.0, gated=True, input_first=True)
    np.testing.assert_allclose(beakers(state), reference, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(params, reference[0], rtol=1e-4, atol=1e-5)


def test_between_two_chain_steps_it_is_the_plain_optimiser():
    transform = consolidate(optax.sgd(1.0), Chain(4, 0.01), every=5, hidden="zeros")
    dws = jnp.ones((4, 2))
    params, state = drive(transform, dws)
    np.testing.assert_array_equal(params, [4.0, 4.0])
    np.testing.assert_array_equal(beakers(state), np.zeros((4, 2)))


def test_a_caller_who_counts_is_heard_and_one_who_cannot_know_is_refused():
    transform = consolidate(optax.sgd(1.0), Chain(2, 0.1, gated=False), every=4, hidden="zeros")
    params = jnp.ones(2)
    state = transform.init(params)

    def weight(**said):
        updates, _ = transform.update(jnp.zeros(2), state, params, **said)
        return (params + updates).tolist()

    assert weight(due=True) == pytest.approx([0.6, 0.6])
    assert weight(due=False) == weight(due=None) == weight() == [1.0, 1.0]
    for unknown in (np.bool_(True), jnp.bool_(True), 1):
        with pytest.raises(TypeError, match=r"due=.*: must be True, False or None"):
            weight(due=unknown)
    with pytest.raises(TypeError, match=r"due=.*: must be True, False or None"):
        jax.jit(lambda due: weight(due=due))(True)
    nobody = consolidate(optax.sgd(1.0), Chain(2, 0.1), every=4, mask=False)
    nobody.update(jnp.zeros(2), nobody.init(params), params, due=True)


def test_gates_count_updates():
    # 2 / 0.1 = 20 updates: shut at the chain step after 16 updates, open at the one after 24.
    def weight_after(updates):
        transform = consolidate(
            optax.sgd(1.0), Chain(2, 0.1, leak=False), every=8, method="euler", hidden="zeros"
        )
        return float(drive(transform, jnp.zeros((updates, 1)), params=jnp.ones(1))[0][0])

    assert weight_after(16) == 1.0
    assert weight_after(24) < 1.0


def test_dt_of_its_own():
    transform = consolidate(
        optax.sgd(1.0),
        Chain(2, 0.1, gated=False, leak=False),
        dt=3.0,
        method="euler",
        hidden="zeros",
    )
    params, _ = drive(transform, jnp.zeros((1, 1)), params=jnp.ones(1))
    np.testing.assert_allclose(params, [0.7], rtol=1e-6)


def test_exact_takes_any_dt():
    transform = consolidate(
        optax.sgd(1.0), Chain(8, 0.1, gated=False), every=10, dt=1e4, method="exact"
    )
    params, state = drive(transform, jnp.ones((100, 3)))
    assert np.isfinite(beakers(state)).all()
    assert 0 < float(params[0]) < 100


@pytest.mark.parametrize("hidden", ["copy", "zeros"])
def test_hidden_start(hidden):
    params = {"w": jnp.array([1.0, -2.0])}
    u = beakers(consolidate(optax.sgd(0.1), Chain(3, 0.1), hidden=hidden).init(params))["w"]
    expected = params["w"] if hidden == "copy" else jnp.zeros(2)
    np.testing.assert_array_equal(u, jnp.stack([params["w"], expected, expected]))


def test_linear_variance_start():
    n = 10
    params = {"w": 0.2 * jax.random.normal(jax.random.key(0), (300, 400)), "b": jnp.zeros(5)}
    transform = consolidate(
        optax.sgd(0.1), Chain(n, 0.1), hidden="linear-variance", key=jax.random.key(1)
    )
    u = jax.jit(lambda params: beakers(transform.init(params)))(params)
    expected = 0.2**2 * (1 - np.arange(2, n + 1) / n)
    np.testing.assert_allclose(u["w"][1:].var((1, 2)), expected, rtol=0.02, atol=1e-9)
    np.testing.assert_array_equal(u["b"], np.zeros((n, 5)))
    other = consolidate(
        optax.sgd(0.1), Chain(n, 0.1), hidden="linear-variance", key=jax.random.key(2)
    )
    drawn = jax.jit(lambda params: beakers(other.init(params)))(params)["w"]
    assert not np.array_equal(drawn, u["w"])


def test_hidden_function_sees_weight_chain_key_and_path():
    seen = {}

    def hidden(weight, chain, key, path):
        seen[path] = weight.shape
        return linear_variance(weight, chain, key, variance=0.0) + 7.0

    params = {"layer": {"gain": jnp.ones(2), "bias": jnp.zeros(3)}}
    transform = consolidate(optax.sgd(0.1), Chain(3, 0.1), hidden=hidden, key=jax.random.key(0))
    u = beakers(transform.init(params))
    assert seen == {"layer/gain": (2,), "layer/bias": (3,)}
    np.testing.assert_array_equal(u["layer"]["gain"], [[1, 1], [7, 7], [7, 7]])


def test_mask_chooses_parameters():
    params = {"w": jnp.ones(2), "b": jnp.ones(3)}
    chain = Chain(3, 0.1, gated=False)
    for mask in ({"w": True, "b": False}, lambda p: {"w": True, "b": False}):
        transform = consolidate(optax.sgd(1.0), chain, hidden="zeros", mask=mask)
        state = transform.init(params)
        updates, state = transform.update(jax.tree.map(jnp.zeros_like, params), state, params)
        np.testing.assert_array_equal(updates["b"], np.zeros(3))
        np.testing.assert_allclose(updates["w"], [-0.1, -0.1], rtol=1e-6)
        assert beakers(state)["w"].shape == (3, 2)
        assert isinstance(beakers(state)["b"], optax.MaskedNode)


def test_integers_may_ride_along_behind_a_mask():
    params = {"w": jnp.ones(2), "steps": jnp.zeros((), jnp.int32)}
    transform = add_flow(Chain(3, 0.1))
    with pytest.raises(TypeError, match=r"'steps' has dtype int32.*mask="):
        transform.init(params)
    optax.masked(transform, {"w": True, "steps": False}).init(params)


@pytest.mark.parametrize("method", ["euler", "multirate"])
def test_flow_as_number_and_as_tree(method):
    params = {"w": jnp.ones((2, 2)), "b": jnp.ones(3)}
    transform = consolidate(
        optax.sgd(1.0), Chain(3, 0.1, gated=False), hidden="zeros", method=method
    )
    still = jax.tree.map(jnp.zeros_like, params)

    @jax.jit
    def second(flow):
        _, state = transform.update(still, transform.init(params), params, flow=flow)
        return jax.tree.map(lambda u: u[1], beakers(state))

    np.testing.assert_allclose(second(1.0)["w"], np.full((2, 2), 0.05), rtol=1e-6)
    np.testing.assert_allclose(second(jnp.float32(2.0))["w"], np.full((2, 2), 0.1), rtol=1e-6)
    tree = {"w": jnp.array([[0.0, 1.0], [2.0, 3.0]]), "b": 4.0}
    np.testing.assert_allclose(second(tree)["w"], 0.05 * np.arange(4).reshape(2, 2), atol=1e-7)
    np.testing.assert_allclose(second(tree)["b"], np.full(3, 0.2), rtol=1e-6)


def test_flow_as_a_function_of_the_drop():
    # Rising levels are let through twice as fast, falling ones not at all.
    params = {"w": jnp.array([1.0, -1.0]), "b": jnp.ones(3)}
    transform = consolidate(optax.sgd(1.0), Chain(3, 0.1, gated=False), hidden="zeros")
    still = jax.tree.map(jnp.zeros_like, params)
    flow = lambda drop: jnp.where(drop > 0, 2.0, 0.0)  # noqa: E731
    _, state = transform.update(still, transform.init(params), params, flow=flow)
    np.testing.assert_allclose(beakers(state)["w"][1], [0.1, 0.0], atol=1e-7)
    np.testing.assert_allclose(beakers(state)["b"][1], np.full(3, 0.1), rtol=1e-6)


def test_flow_reaches_only_masked_in_parameters():
    params = {"w": jnp.ones(2), "b": jnp.ones(3)}
    transform = consolidate(
        optax.sgd(1.0), Chain(2, 0.1), hidden="zeros", mask={"w": True, "b": False}
    )
    _, state = transform.update(
        jax.tree.map(jnp.zeros_like, params),
        transform.init(params),
        params,
        flow={"w": jnp.array([1.0, 2.0]), "b": jnp.ones(3)},
    )
    np.testing.assert_allclose(beakers(state)["w"][1], [0.05, 0.1], rtol=1e-6)


def test_vmap_over_seeds_and_learning_rates_equals_single_runs():
    chain = Chain(9, 0.1)
    dws = jax.random.normal(jax.random.key(0), (200, 4))

    def run(seed, rate):
        transform = consolidate(
            optax.sgd(rate), chain, every=2, hidden="linear-variance", key=jax.random.key(seed)
        )
        params, state = drive(transform, dws, params=jnp.arange(4.0))
        return params, beakers(state)

    seeds, rates = jnp.arange(3), jnp.array([0.1, 0.2, 0.3])
    many, alone = jax.jit(jax.vmap(run))(seeds, rates), jax.jit(run)
    for i in range(3):
        single = alone(seeds[i], rates[i])
        jax.tree.map(
            lambda a, b, i=i: np.testing.assert_allclose(a[i], b, rtol=1e-4, atol=1e-6),
            many,
            single,
        )
    assert not np.allclose(many[1][0][1:], many[1][1][1:])


def other_wrappers():
    chained = consolidate(lenient_adam(0.05), Chain(4, 0.01))
    inject = optax.inject_hyperparams(
        lambda learning_rate: consolidate(lenient_adam(learning_rate), Chain(4, 0.01))
    )
    schedule = optax.exponential_decay(0.1, 100, 0.5)
    return {
        "masked": optax.masked(chained, {"w": True, "b": True}),
        "multi_transform": optax.multi_transform(
            {"chained": chained, "other": consolidate(optax.sgd(0.05), Chain(4, 0.02))},
            {"w": "chained", "b": "other"},
        ),
        "MultiSteps": optax.MultiSteps(chained, 2),
        "inject_hyperparams": inject(learning_rate=0.05),
        "schedule": consolidate(lenient_adam(schedule), Chain(4, 0.01)),
        "apply_if_finite": optax.apply_if_finite(chained, 5),
        "chain": optax.chain(optax.clip(1.0), lenient_adam(0.05), add_flow(Chain(4, 0.01))),
    }


@pytest.mark.parametrize("name", other_wrappers())
def test_inside_and_around_other_wrappers(name):
    transform = lenient(other_wrappers()[name])

    @jax.jit
    def run(params):
        def body(carry, _):
            params, state = carry
            updates, state = transform.update(jax.grad(loss)(params), state, params)
            return (optax.apply_updates(params, updates), state), None

        return jax.lax.scan(body, (params, transform.init(params)), None, length=300)[0]

    params, state = run(start())
    assert loss(params) < 0.3 * loss(start())
    assert jax.tree.map(jnp.shape, beakers(state)) == {"w": (4, 2, 2), "b": (4, 2)}


def test_the_flow_is_not_scaled_by_the_learning_rate():
    # With no gradient, all that moves the weight is the chain; the rate must not matter.
    def after(rate):
        transform = consolidate(optax.sgd(rate), Chain(4, 0.1, gated=False), hidden="zeros")
        return np.asarray(drive(transform, jnp.zeros((50, 1)), params=jnp.ones(1))[0])

    np.testing.assert_array_equal(after(1.0), after(1e-6))


def test_weights_changed_by_hand_are_respected():
    transform = consolidate(optax.sgd(1.0), Chain(2, 0.1, gated=False, leak=False), hidden="zeros")
    state = transform.init(jnp.zeros(1))
    updates, state = transform.update(jnp.zeros(1), state, jnp.full(1, 10.0))
    np.testing.assert_allclose(updates, [-1.0], rtol=1e-6)
    np.testing.assert_allclose(beakers(state)[:, 0], [9.0, 0.5], rtol=1e-6)


def test_low_precision_parameters_keep_their_type_and_their_beakers_float32():
    params = jnp.ones(4, jnp.bfloat16)
    transform = consolidate(optax.sgd(0.1), Chain(4, 0.1))
    state = transform.init(params)
    updates, state = transform.update(jnp.ones(4, jnp.bfloat16), state, params)
    assert updates.dtype == jnp.bfloat16
    assert optax.apply_updates(params, updates).dtype == jnp.bfloat16
    assert beakers(state).dtype == jnp.float32


@pytest.mark.parametrize("packed", [False, True])
def test_parameters_may_be_python_s_numbers(packed):
    transform = consolidate(optax.sgd(0.1), Chain(3, 0.1), hidden="zeros", packed=packed)
    numbers, arrays = {"w": 1.0}, {"w": jnp.array(1.0)}
    one, _ = transform.update(numbers, transform.init(numbers), numbers)
    two, _ = transform.update(arrays, transform.init(arrays), arrays)
    assert float(one["w"]) == float(two["w"])
    again = recall(transform.init(numbers), numbers, 2)
    assert (float(again.params["w"]), float(again.created["w"])) == (0.0, -1.0)


def test_complex_parameters_flow():
    transform = consolidate(optax.sgd(1.0), Chain(2, 0.1, gated=False), hidden="zeros")
    params = jnp.array([1.0 + 2.0j])
    updates, _ = transform.update(jnp.zeros(1, jnp.complex64), transform.init(params), params)
    np.testing.assert_allclose(updates, [-0.1 - 0.2j], rtol=1e-6)


def test_state_is_saved_and_restored_as_a_tree():
    transform = consolidate(lenient_adam(0.1), Chain(9, 0.1), every=3)
    params, state = drive(transform, jax.random.normal(jax.random.key(0), (50, 4)))
    leaves, structure = jax.tree.flatten(state)
    restored = jax.tree.unflatten(structure, [jnp.asarray(np.asarray(x)) for x in leaves])
    one, _ = transform.update(jnp.ones(4), state, params)
    two, _ = transform.update(jnp.ones(4), restored, params)
    np.testing.assert_array_equal(one, two)


def test_a_bad_gradient_poisons_the_chain_unless_guarded():
    params, chain = jnp.ones(2), Chain(3, 0.1)
    bad = jnp.array([jnp.nan, 1.0])
    plain = consolidate(optax.sgd(0.1), chain)
    _, state = plain.update(bad, plain.init(params), params)
    assert np.isnan(beakers(state)[:, 0]).any()
    guarded = optax.apply_if_finite(plain, max_consecutive_errors=10)
    updates, state = guarded.update(bad, guarded.init(params), params)
    np.testing.assert_array_equal(updates, np.zeros(2))
    np.testing.assert_array_equal(beakers(state), np.ones((3, 2)))


def test_readout():
    transform = consolidate(optax.sgd(0.1), Chain(3, 0.1), hidden="zeros")
    state = transform.init({"w": jnp.array([3.0, 6.0])})
    np.testing.assert_allclose(readout(state, [1 / 3] * 3)["w"], [1.0, 2.0], rtol=1e-6)
    with pytest.raises(ValueError, match=r"depth has shape \(2,\).*3 beakers"):
        readout(state, [0.5, 0.5])
    with pytest.raises(ValueError, match="holds no beakers"):
        beakers(optax.adam(0.1).init(jnp.ones(2)))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"every": 0}, ValueError, "every=0.*every >= 1"),
        ({"every": 1.5}, TypeError, "every=1.5.*whole number"),
        ({"every": 64, "chain": Chain(4, 0.1)}, ValueError, r"dt \* g12 = 6.4.*at most 1.*exact"),
        ({"method": "rk4"}, ValueError, "method='rk4'.*'multirate'"),
        ({"hidden": "random"}, ValueError, "hidden='random'.*'copy', 'zeros', 'linear-variance'"),
        ({"hidden": "linear-variance"}, ValueError, r"key=None.*jax\.random\.key"),
        ({"key": 0}, TypeError, r"key=0: must be a random key, such as jax\.random\.key\(0\)"),
        ({"chain": 4}, TypeError, "chain=4.*bennafusi.Chain"),
    ],
)
def test_bad_settings(settings, error, message):
    with pytest.raises(error, match=message):
        consolidate(optax.sgd(0.1), **{"chain": Chain(4, 0.01), **settings})


def test_bad_calls():
    chain, params = Chain(3, 0.1), {"w": jnp.ones(2)}
    transform = consolidate(optax.sgd(0.1), chain)
    state = transform.init(params)
    for wrong in (optax.sgd, chain):
        with pytest.raises(TypeError, match=r"optimizer=.*must be an optax optimiser"):
            consolidate(wrong, chain)
    with pytest.raises(ValueError, match="params=None"):
        transform.update(params, state)
    with pytest.raises(ValueError, match=r"flow: its tree .* is no prefix"):
        transform.update(params, state, params, flow={"v": 1.0})
    for factor in (jnp.ones(3), jnp.ones((4, 2))):
        with pytest.raises(ValueError, match=r"flow: a factor of shape .* for a parameter of .*2,"):
            transform.update(params, state, params, flow={"w": factor})
    with pytest.raises(ValueError, match=r"mask: its tree .* is no prefix"):
        consolidate(optax.sgd(0.1), chain, mask={"v": True}).init(params)
    with pytest.raises(TypeError, match="mask: holds 'yes'"):
        consolidate(optax.sgd(0.1), chain, mask={"w": "yes"}).init(params)
    with pytest.raises(TypeError, match=r"'n' has dtype int32"):
        transform.init({"n": jnp.zeros(2, jnp.int32)})
    with pytest.raises(ValueError, match=r"returned shape \(1,\) for parameter 'w'.*need \(2, 2\)"):
        consolidate(optax.sgd(0.1), chain, hidden=lambda *_: jnp.zeros(1)).init(params)
    exact = consolidate(optax.sgd(0.1), chain, method="exact")
    with pytest.raises(ValueError, match="flow: method='exact'"):
        exact.update(params, exact.init(params), params, flow=2.0)


@pytest.mark.parametrize("n", [4, 12])
def test_a_batch_of_states_is_read_member_by_member(n):
    transform = consolidate(optax.sgd(0.1), Chain(n, 0.1), hidden="zeros")
    batch = {"w": jnp.arange(8.0).reshape(4, 2)}
    state = jax.vmap(transform.init)(batch)
    assert beakers(state)["w"].shape == (4, n, 2)
    first = np.eye(n)[0]
    np.testing.assert_array_equal(readout(state, first)["w"], batch["w"])


def test_two_chains_on_one_parameter_are_not_taken_for_one():
    twice = consolidate(consolidate(optax.sgd(0.1), Chain(3, 0.1)), Chain(5, 0.1))
    with pytest.raises(ValueError, match="several chains"):
        beakers(twice.init(jnp.ones(2)))

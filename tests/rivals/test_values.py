"""Each rival against numbers worked out by hand, or against a slow oracle in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bennafusi import Chain, beakers, rivals
from bennafusi.synapse.retention import kernel
from tests.promotion import lenient, standard_promotion
from tests.rivals.oracles import Ewc, Intelligence, TaskIntelligence

KEY = jax.random.key(0)


def sgd(rate=1.0):
    return lenient(optax.sgd(rate))


def drive(optimizer, grads, start, **extra):
    """The weights after each of the given gradients, ``[T, size]``."""
    update = jax.jit(optimizer.update)
    weights, state, found = jnp.asarray(start), optimizer.init(jnp.asarray(start)), []
    for t, g in enumerate(grads):
        now = {name: values[t] for name, values in extra.items()}
        steps, state = update(jnp.asarray(g), state, weights, **now)
        weights = weights + steps
        found.append(weights)
    return np.stack(found)


def noise(count=60, size=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, size)).astype(np.float32), rng.normal(size=size).astype("f4")


# --- a pull on the gradient -------------------------------------------------------------------


def test_l2_init_pulls_to_the_start():
    # w0 = 1; at w = 3 the pull is 2 * 0.25 * 2 = 1, with g = 4 the step is -5 * 0.1.
    optimizer = rivals.l2_init(sgd(0.1), strength=0.25)
    state = optimizer.init(jnp.array([1.0]))
    steps, state = optimizer.update(jnp.array([4.0]), state, jnp.array([3.0]))
    np.testing.assert_allclose(steps, [-0.5], rtol=1e-6)
    assert state.memory.start.tolist() == [1.0]


def test_online_ewc_against_its_equations():
    grads, start = noise()
    settings = {"strength": 0.7, "mean_decay": 0.9, "importance_decay": 0.8}
    found = drive(rivals.online_ewc(sgd(0.05), **settings), grads, start)
    np.testing.assert_allclose(found, Ewc(**settings).run(grads, start, 0.05), rtol=2e-5, atol=1e-6)


def test_nothing_pulls_where_the_weights_have_always_been():
    """Averages of 0.999 are corrected to all digits, or the mean would not be the weight."""
    optimizer = rivals.online_ewc(sgd(), strength=1.0)
    w = jnp.array([3.0])
    state = optimizer.init(w)
    for _ in range(3):
        steps, state = optimizer.update(jnp.array([2.0]), state, w)
        np.testing.assert_allclose(steps, [-2.0], rtol=2e-6)


def test_mas_is_ewc_with_the_outputs_sensitivity():
    grads, start = noise()
    loud = noise(seed=1)[0]
    settings = {"strength": 0.7, "mean_decay": 0.9, "importance_decay": 0.8}
    found = drive(rivals.mas(sgd(0.05), **settings), grads, start, output_grads=jnp.asarray(loud))
    expected = Ewc(**settings).run(grads, start, 0.05, importance=np.abs(loud))
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


def test_synaptic_intelligence_against_its_equations():
    grads, start = noise()
    settings = {"strength": 0.3, "mean_decay": 0.9, "importance_decay": 0.8, "damping": 0.01}
    found = drive(rivals.synaptic_intelligence(sgd(0.05), **settings), grads, start)
    expected = Intelligence(**settings).run(grads, start, 0.05)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_synaptic_intelligence_with_boundaries_against_its_equations():
    grads, start = noise()
    boundary = jnp.arange(60) % 20 == 0
    settings = {"strength": 0.3, "damping": 0.1}
    optimizer = rivals.synaptic_intelligence_with_boundaries(sgd(0.05), **settings)
    found = drive(optimizer, grads, start, boundary=boundary)
    expected = TaskIntelligence(**settings).run(grads, start, 0.05, np.asarray(boundary))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    # Before the first boundary nothing pulls.
    np.testing.assert_allclose(found[:20], start - 0.05 * np.cumsum(grads[:20], 0), atol=1e-5)
    assert np.abs(found[25] - (start - 0.05 * grads[:26].sum(0))).max() > 1e-3


def test_the_pull_goes_through_the_optimiser():
    """Around Adam, gradient and pull are one: the first step is the rate, whatever they are."""
    optimizer = rivals.l2_init(lenient(optax.adam(0.1)), strength=5.0)
    state = optimizer.init(jnp.array([1.0]))
    steps, _ = optimizer.update(jnp.array([-1.0]), state, jnp.array([2.0]))
    np.testing.assert_allclose(steps, [-0.1], rtol=1e-5)  # -1 + 10, downhill


# --- decay and noise --------------------------------------------------------------------------


def test_shrink_and_perturb_has_the_right_mean_and_deviation():
    size = 40_000
    optimizer = lenient(rivals.shrink_and_perturb(sgd(), decay=0.1, noise=0.5, key=KEY, every=2))
    w = jnp.full(size, 2.0)
    first, state = optimizer.update(jnp.ones(size), optimizer.init(w), w)
    np.testing.assert_array_equal(first, -np.ones(size))
    second, _ = optimizer.update(jnp.ones(size), state, w)
    np.testing.assert_allclose(second.mean(), -1 - 0.2, atol=4 * 0.5 / size**0.5)
    np.testing.assert_allclose(second.std(), 0.5, rtol=0.02)


def test_each_update_shakes_anew():
    size, update = 20_000, rivals.shrink_and_perturb(sgd(), decay=0.0, noise=0.3, key=KEY)
    w, total = jnp.ones(size), jnp.zeros(size)
    state = update.init(w)
    for _ in range(4):
        steps, state = update.update(jnp.zeros(size), state, w)
        total = total + steps
    np.testing.assert_allclose(total.std(), 2 * 0.3, rtol=0.03)  # 4 times, were it the same noise


def test_a_shorter_period_shakes_a_state_of_a_longer_one():
    long, short = (
        rivals.shrink_and_perturb(sgd(), decay=0.5, noise=0.0, key=KEY, every=n) for n in (64, 4)
    )
    w = jnp.array([4.0])
    state, shaken = long.init(w), []
    for step in range(39):
        optimizer = long if step < 30 else short
        steps, state = optimizer.update(jnp.zeros(1), state, w)
        shaken.append(float(steps[0]) == -2)
    assert np.flatnonzero(shaken).tolist() == [30, 34, 38]


def test_shrink_and_perturb_takes_gradients_of_another_type_than_the_weights():
    optimizer = lenient(rivals.shrink_and_perturb(sgd(), decay=0.5, noise=0.0, key=KEY, every=2))
    w, g = jnp.array([4.0]), jnp.array([1.0], jnp.bfloat16)
    first, state = optimizer.update(g, optimizer.init(w), w)
    second, _ = optimizer.update(g, state, w)
    assert first.dtype == second.dtype == jnp.bfloat16
    assert (float(first[0]), float(second[0])) == (-1, -3)


def upgd_step(weights, grads, **settings):
    optimizer = rivals.upgd(sgd(), **({"noise": 0.0, "key": KEY} | settings))
    w = jnp.asarray(weights, jnp.float32)
    return optimizer.update(jnp.asarray(grads, jnp.float32), optimizer.init(w), w)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def test_upgd_protects_what_is_useful():
    # Utilities -g w: 2, 1, -4 and 0; the largest is 2.
    steps, state = upgd_step([1, 1, 2, 0], [-2, -1, 2, 3])
    expected = -np.array([-2, -1, 2, 3]) * (1 - sigmoid([1, 0.5, -2, 0]))
    np.testing.assert_allclose(steps, expected, rtol=1e-5)
    np.testing.assert_allclose(state.utility, 0.001 * np.array([2, 1, -4, 0]), rtol=1e-5)


def test_upgd_protects_nobody_if_nobody_is_useful():
    steps, _ = upgd_step([1.0, 0.0], [1.0, 1.0])
    np.testing.assert_allclose(steps, [-1.0, -0.5])


def test_upgd_in_its_adam_form_and_with_decay():
    steps, _ = upgd_step([1.0, 0.0], [-1.0, 1.0], scale=2.0, decay=0.25)
    np.testing.assert_allclose(steps, [2 * (1 - sigmoid(1)) - 0.25, -1.0], rtol=1e-6)


@pytest.mark.parametrize("every", [1, 4])
def test_upgd_shakes_by_what_is_free_and_as_much_however_often(every):
    size = 20_000
    optimizer = rivals.upgd(sgd(), noise=0.3, key=KEY, every=every)
    w = jnp.ones(size)
    state, total = optimizer.init(w), jnp.zeros(size)
    update = jax.jit(optimizer.update)
    for _ in range(4):
        steps, state = update(jnp.zeros(size), state, w)
        total = total + steps
    np.testing.assert_allclose(total.std(), 0.5 * 0.3 * 2, rtol=0.03)  # half free, four updates
    assert abs(float(total.mean())) < 0.01


# --- slower weights ---------------------------------------------------------------------------


def test_ema_follows():
    optimizer = lenient(rivals.ema(sgd(), step_size=0.5))
    w = jnp.array([0.0])
    steps, state = optimizer.update(jnp.array([-4.0]), optimizer.init(w), w)
    assert (float(steps[0]), float(state.average[0])) == (4.0, 2.0)
    _, state = optimizer.update(jnp.array([0.0]), state, w + steps)
    assert float(state.average[0]) == 3.0


def test_the_hare_is_set_back():
    # Fast 0 -> 4 -> 8, slow 0 -> 2 -> 5, and after the second update the fast one is there too.
    found = drive(
        lenient(rivals.hare_and_tortoise(sgd(), step_size=0.5, period=2)),
        -4 * np.ones((3, 1), "f4"),
        np.zeros(1, "f4"),
    )
    assert found.ravel().tolist() == [4.0, 5.0, 9.0]


def test_lookahead_is_optax_s():
    grads, start = noise(12)
    ours = drive(lenient(rivals.lookahead(sgd(0.1), period=3, step_size=0.4)), grads, start)
    theirs = lenient(optax.lookahead(optax.sgd(0.1), 3, 0.4))
    params = optax.LookaheadParams.init_synced(jnp.asarray(start))
    state = theirs.init(params)
    for g, expected in zip(grads, ours, strict=True):
        steps, state = theirs.update(jnp.asarray(g), state, params)
        params = optax.apply_updates(params, steps)
        np.testing.assert_allclose(params.fast, expected, rtol=1e-6)


def test_schedule_free_is_optax_s_at_any_constant_rate():
    grads, start = noise(12)
    ours = drive(lenient(rivals.schedule_free(sgd(0.1), b1=0.8)), grads, start)
    other = optax.contrib.schedule_free(optax.sgd(0.1), learning_rate=0.1, b1=0.8)
    np.testing.assert_allclose(ours, drive(lenient(other), grads, start), rtol=1e-4, atol=1e-5)


def test_schedule_free_by_hand_while_its_share_changes():
    """x and z do not jump where b1 does; y is made with the new one, and x is found with it."""
    rng = np.random.default_rng(0)
    with jax.enable_x64(True), standard_promotion():
        make = optax.inject_hyperparams(rivals.schedule_free, static_args=("optimizer",))
        optimizer = make(optax.sgd(0.1), b1=0.9)
        y = x = z = rng.normal(size=5)
        weights = jnp.asarray(y)
        state = optimizer.init(weights)
        for t in range(1, 41):
            b1 = 0.9 if t < 20 else 0.5
            state = state._replace(hyperparams=state.hyperparams | {"b1": jnp.asarray(b1)})
            pull = rng.normal(size=5)
            steps, state = optimizer.update(jnp.sin(weights) + pull, state, weights)
            weights = weights + steps
            z = z - 0.1 * (np.sin(y) + pull)
            x = x + (z - x) / t
            y = (1 - b1) * z + b1 * x
            np.testing.assert_allclose(weights, y, rtol=1e-12, atol=1e-14)
            assert state.inner_state.b1 == b1
            found = optax.contrib.schedule_free_eval_params(state.inner_state, weights)
            np.testing.assert_allclose(found, x, rtol=1e-12, atol=1e-14)


def test_schedule_free_restored_with_another_share_finds_the_same_mean():
    """What it evaluates with does not jump, and the weights go on as the new share has them."""
    w = jnp.asarray([1.0, -2.0])
    one, other = (lenient(rivals.schedule_free(sgd(0.1), b1=b1)) for b1 in (0.9, 0.5))
    state = one.init(w)
    for g in ([0.5, 1.0], [-2.0, 0.3], [1.0, 1.0]):
        updates, state = one.update(jnp.asarray(g), state, w)
        w = w + updates
    x = optax.contrib.schedule_free_eval_params(state, w)
    updates, state = other.update(jnp.ones(2), state, w)
    found = optax.contrib.schedule_free_eval_params(state, w + updates)
    np.testing.assert_allclose(found, x + (state.z - x) / 4, rtol=1e-5)
    np.testing.assert_allclose(w + updates, 0.5 * state.z + 0.5 * found, rtol=1e-5)


def test_a_share_given_as_an_array_can_be_donated_with_the_state():
    share, w = jnp.float32(0.5), jnp.ones(2)
    optimizer = rivals.schedule_free(lenient(optax.sgd(0.1)), b1=share)
    step = jax.jit(optimizer.update, donate_argnums=1)
    state = optimizer.init(w)
    for _ in range(2):
        _, state = step(w, state, w)
    assert float(share) == 0.5, "it is still there"


def after_updates(optimizer, count, w, grads):
    """The state after so many of the same update, of weights that stay where they are."""
    optimizer = lenient(optimizer)
    later = jax.lax.fori_loop(
        0, count, lambda i, state: optimizer.update(grads, state, w)[1], optimizer.init(w)
    )
    return jax.tree.map(np.asarray, later)


def test_schedule_free_counts_in_half_precision_too():
    """In bfloat16, 256 + 1 is 256, and the mean of all weights would be one of the last few."""
    w = jnp.ones(2, jnp.bfloat16)
    state = after_updates(rivals.schedule_free(sgd(), b1=0.95), 300, w, jnp.zeros_like(w))
    assert state.weight_sum == 300
    assert state.b1 == np.float32(0.95)  # with which the mean is found again
    assert state.z.dtype == np.float32


def test_the_slow_momentum_of_ademamix_forgets_in_half_precision_too():
    """In bfloat16, 0.999 is 1."""
    w = jnp.ones(2, jnp.bfloat16)
    momentum = after_updates(rivals.ademamix(0.1, b3=0.999), 3000, w, jnp.ones_like(w))[0].m2
    np.testing.assert_allclose(momentum, [1 - 0.999**3000] * 2, rtol=1e-3)


def test_slow_weights_are_two_beakers_that_lose_nothing():
    optimizer = rivals.slow_weights(sgd(), g12=0.1)
    w = jnp.array([0.0])
    steps, state = optimizer.update(jnp.array([-1.0]), optimizer.init(w), w)
    # Fast 0 -> 1, of which 0.1 flows into the slow one, twice as wide.
    np.testing.assert_allclose(steps, [0.9], rtol=1e-6)
    np.testing.assert_allclose(beakers(state), [[0.9], [0.05]], rtol=1e-6)
    for _ in range(200):
        w = w + steps
        steps, state = optimizer.update(jnp.array([0.0]), state, w)
    np.testing.assert_allclose(beakers(state), [[1 / 3], [1 / 3]], rtol=1e-4)


# --- a rate that falls like a chain's kernel --------------------------------------------------


@pytest.mark.parametrize("growth", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("g12", [0.1, 0.001])
def test_the_rate_is_the_kernel_of_a_long_chain(growth, g12):
    """The closed form of its constant against the theory of a chain, over whole periods."""
    chain = Chain(40, g12, growth=growth, gated=False)
    ages = 1e4 / g12 * growth ** np.linspace(0, 4, 256, endpoint=False)  # two beakers' periods
    rate = np.asarray(rivals.kernel_schedule(chain)(ages - 1), float)
    ratio = kernel(chain, ages) / rate
    np.testing.assert_allclose(ratio.mean(), 1, atol=1e-4)
    np.testing.assert_allclose(ratio, 1, atol={1.5: 1e-4, 2.0: 0.003, 3.0: 0.04}[growth])


@pytest.mark.parametrize(
    ("growth", "ripple", "young"), [(2.0, 0.0023, 0.02), (4.0, 0.083, 0.11), (8.0, 0.28, 0.30)]
)
def test_how_far_the_rate_is_from_the_kernel_is_as_documented(growth, ripple, young):
    chain = Chain(40, 0.001, growth=growth, gated=False)

    def farthest(first):
        ages = first / chain.g12 * growth ** np.linspace(0, 4, 1000, endpoint=False)
        rate = np.asarray(rivals.kernel_schedule(chain)(ages - 1), float)
        return np.abs(kernel(chain, ages) / rate - 1).max()

    assert farthest(1e4) == pytest.approx(ripple, rel=0.03)
    assert farthest(1.0) == pytest.approx(young, rel=0.03)


def test_the_constant_of_the_paper_s_growth():
    rate = rivals.kernel_schedule(Chain(30, 0.01))
    np.testing.assert_allclose(float(rate(10**6 - 1)) * (0.01 * 10**6) ** 0.5, 0.475, rtol=2e-3)
    assert float(rate(0)) == 1.0


# --- learning from a stream -------------------------------------------------------------------


def test_obgd_by_hand():
    optimizer = rivals.obgd(learning_rate=0.5, kappa=2.0, discount=0.5, trace_decay=0.5)
    w = jnp.zeros(2)
    state = optimizer.init(w)
    # |z| = 0.2, M = 0.5 * 2 * 1 * 0.2 < 1: the whole rate.
    g = jnp.array([0.1, -0.1])
    steps, state = optimizer.update(g, state, w, delta=0.5, reset=False)
    np.testing.assert_allclose(steps, [0.025, -0.025], rtol=1e-6)
    # z = g / 4 + g2 = (2.025, -1.025), M = 0.5 * 2 * 4 * 3.05 = 12.2.
    steps, state = optimizer.update(jnp.array([2.0, -1.0]), state, w, delta=-4.0, reset=True)
    np.testing.assert_allclose(steps, 0.5 / 12.2 * -4 * np.array([2.025, -1.025]), rtol=1e-6)
    assert state.trace.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("wrong", [{"delta": jnp.ones(2)}, {"reset": jnp.zeros(2, bool)}])
def test_obgd_has_one_error(wrong):
    """Several would each go to a weight of its own, if there are as many."""
    optimizer, w = rivals.obgd(), jnp.zeros(2)
    with pytest.raises(ValueError, match=rf"{next(iter(wrong))}: must be one number.* \(2,\)"):
        optimizer.update(w, optimizer.init(w), **({"delta": 1.0, "reset": False} | wrong))


def test_a_boundary_is_one_for_all_weights():
    optimizer, w = rivals.synaptic_intelligence_with_boundaries(sgd()), jnp.zeros(2)
    with pytest.raises(ValueError, match=r"boundary: must be one number.* \(2,\)"):
        optimizer.update(w, optimizer.init(w), w, boundary=jnp.zeros(2, bool))


def test_obgd_a_new_episode_ends_a_trace_that_is_not_finite():
    optimizer, w = rivals.obgd(), jnp.zeros(1)
    broken = jnp.array([jnp.nan])
    _, state = optimizer.update(broken, optimizer.init(w), w, delta=1.0, reset=True)
    steps, _ = optimizer.update(jnp.ones(1), state, w, delta=1.0, reset=False)
    assert np.isfinite(steps).all()


def test_obgd_never_overshoots_a_linear_value():
    rng = np.random.default_rng(0)
    optimizer = rivals.obgd(trace_decay=0.0)
    for _ in range(50):
        x, w = jnp.asarray(rng.normal(size=8), "f4"), jnp.asarray(rng.normal(size=8), "f4")
        delta = float(rng.normal() * 10)
        steps, _ = optimizer.update(x, optimizer.init(w), w, delta=delta, reset=False)
        moved = float(steps @ x)
        # A step moves the value towards the target, and by no more than the largest input allows.
        assert 0 <= moved * np.sign(delta) <= max(abs(delta), 1) * float(jnp.abs(x).max()) / 2


@pytest.mark.parametrize("make", [rivals.lookahead, rivals.hare_and_tortoise])
def test_a_count_beyond_a_shorter_period_sets_back_at_once(make):
    w, g = jnp.zeros(1), -jnp.ones(1)
    state = make(optax.sgd(1.0), step_size=0.1, period=100).init(w)
    state = state._replace(updates=jnp.int32(60))
    updates, state = make(optax.sgd(1.0), step_size=0.1, period=50).update(g, state, w)
    assert int(state.updates) == 0
    np.testing.assert_allclose(updates, [0.1], rtol=1e-6)


def test_a_gradient_of_each_example_is_refused():
    w = jnp.zeros(3)
    optimizer = rivals.mas(optax.sgd(0.1))
    with pytest.raises(ValueError, match=r"output_grads: '' has shape \(5, 3\).*\(3,\)"):
        optimizer.update(w, optimizer.init(w), w, output_grads=jnp.ones((5, 3)))

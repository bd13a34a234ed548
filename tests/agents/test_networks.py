import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bennafusi.agents.networks import Network, Params, Sizes
from tests.reference import soft_q as reference


def random_params(network, sizes, seed, dtype=np.float64):
    """Parameters of any sign, gains included."""
    random = np.random.default_rng(seed)
    layers = network.layers(sizes)
    tables = tuple((sizes.tasks, columns) for _, columns in layers)
    shapes = Params(layers, tables, tables)
    draw = lambda shape: jnp.asarray(random.normal(size=shape), dtype)  # noqa: E731
    return Params(*(tuple(map(draw, part)) for part in shapes))


# At once: op by op it is a dozen programs.
start = jax.jit(
    lambda network, sizes: network.start(jax.random.key(0), sizes), static_argnums=(0, 1)
)


@pytest.mark.parametrize(
    ("gain", "expected"),
    [("after", [-3.0, 4.0]), ("before", [3.0, -2.0]), ("none", [6.0, 2.5])],
)
def test_forward_by_hand(gain, expected):
    # Task 1 sees gains (1, -2) and biases (0, 1); the observation is (1, 2).
    # Sums: 1 - 2 + 0 = -1 and 0 + 2 + 1 = 3. After the rectification: 1 * 0 = 0 and -2 * 3 = -6;
    # before it: max(0, -1) = 0 and max(0, -6) = 0.
    # Last layer, biases (3, 1), gains (1, -2), weights ((9, 9), (1, 0.5)): sums -6 + 3 = -3 and
    # -3 + 1 = -2, or 3 and 1; values (-3, 4) or (3, -2). Without gains: 0 and 3 after the
    # rectification, values 3 + 3 = 6 and 1.5 + 1 = 2.5.
    params = Params(
        (jnp.array([[1.0, 0.0], [-1.0, 1.0]]), jnp.array([[9.0, 9.0], [1.0, 0.5]])),
        (jnp.array([[7.0, 7.0], [1.0, -2.0]]), jnp.array([[7.0, 7.0], [1.0, -2.0]])),
        (jnp.array([[7.0, 7.0], [0.0, 1.0]]), jnp.array([[7.0, 7.0], [3.0, 1.0]])),
    )
    network = Network(hidden=(2,), gain=gain)
    q = network.values(params, jnp.int32(1), jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(q, expected)


def networks():
    width = st.integers(1, 6)
    return st.builds(
        Network,
        hidden=st.lists(width, min_size=1, max_size=3).map(tuple),
        gain=st.sampled_from(["after", "before", "none"]),
    )


def all_sizes():
    return st.builds(Sizes, st.integers(1, 6), st.integers(1, 6), st.integers(1, 3))


@settings(max_examples=6)
@given(networks(), all_sizes(), st.integers(0, 2**16), st.data())
def test_factors_make_the_gradient_of_the_plain_loss(network, sizes, seed, data):
    task = data.draw(st.integers(0, sizes.tasks - 1))
    random = np.random.default_rng(seed)
    with jax.enable_x64(True):
        params = random_params(network, sizes, seed)
        x = jnp.asarray(random.normal(size=sizes.inputs))
        wanted = jnp.asarray(random.normal(size=sizes.actions))

        def loss(q):
            return jnp.sum((q - wanted) ** 2)

        def of(params):
            return loss(network.values(params, jnp.int32(task), x))

        @jax.jit
        def both(params):
            value, slopes = network.slopes(loss, params, jnp.int32(task), x)
            ours = value, network.gradient(params, slopes, jnp.int32(task))
            return ours, jax.value_and_grad(of)(params)

        (value, gradient), (plain, expected) = both(params)
        np.testing.assert_allclose(value, plain, rtol=1e-14)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13),
            gradient,
            expected,
        )
    # and neither is wrong in the same way as the other
    slow = [np.asarray(p) for p in jax.tree.leaves(params)]
    q, memory = reference.forward(slow, task, np.asarray(x), network.gain)
    by_hand = reference.backward(slow, task, memory, 2 * (q - np.asarray(wanted)), network.gain)
    for one, other in zip(jax.tree.leaves(gradient), by_hand, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    for table in (*gradient.gains, *gradient.biases):
        others = np.delete(np.asarray(table), task, axis=0)
        np.testing.assert_array_equal(others, np.zeros_like(others))


def test_rows_of_observations_give_rows_of_values():
    network = Network(hidden=(5,))
    params = random_params(network, Sizes(3, 2, 2), 0, np.float32)
    rows = jnp.asarray(np.random.default_rng(1).normal(size=(4, 3)), jnp.float32)
    values = jax.jit(network.values)
    many = values(params, jnp.int32(1), rows)
    for row, q in zip(rows, many, strict=True):
        np.testing.assert_allclose(values(params, jnp.int32(1), row), q, rtol=1e-5)


def test_tasks_see_their_own_gains_and_biases():
    network = Network(hidden=(5,))
    params = random_params(network, Sizes(3, 2, 3), 0, np.float32)
    changed = params._replace(
        gains=tuple(g.at[1].add(1.0) for g in params.gains),
        biases=tuple(b.at[1].add(1.0) for b in params.biases),
    )
    for task in range(3):
        before, after = (network.values(p, jnp.int32(task), jnp.ones(3)) for p in (params, changed))
        assert np.array_equal(before, after) == (task != 1)


def test_birth():
    network, sizes = Network(hidden=(60,)), Sizes(inputs=20, actions=60, tasks=2)
    params, layers = start(network, sizes), network.layers(sizes)
    for w, (rows, columns) in zip(params.weights, layers, strict=True):
        assert w.shape == (rows, columns)
        np.testing.assert_allclose(np.var(w) * rows, 1.0, 5 * np.sqrt(2 / w.size))
        assert abs(np.mean(w)) < 5 / np.sqrt(rows * w.size)
    for gain, bias, (_, columns) in zip(params.gains, params.biases, layers, strict=True):
        np.testing.assert_array_equal(gain, np.ones((2, columns)))
        np.testing.assert_array_equal(bias, np.zeros((2, columns)))


@pytest.mark.parametrize("normalise", [False, True])
def test_biases_of_the_first_layer_start_where_they_are_told_to(normalise):
    network = Network(hidden=(3, 2), first_bias=0.25, normalise=normalise)
    biases = start(network, Sizes(inputs=4, actions=2)).biases
    rows = [[0.0] * 4] * normalise + [[0.25] * 3, [0.0] * 2, [0.0] * 2]
    assert [bias.tolist() for bias in biases] == [[row] for row in rows]


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ({"inputs": 0}, ValueError, "inputs=0: choose a whole number from 1"),
        ({"actions": -1}, ValueError, "actions=-1: choose"),
        ({"tasks": 2**21}, ValueError, r"tasks=2097152: choose .* to 2\^20"),
        ({"hidden": (4, 0)}, ValueError, "hidden=0: choose"),
        ({"hidden": ()}, ValueError, r"hidden=\(\): list the units"),
        ({"hidden": 400}, ValueError, "hidden=400: list the units"),
        ({"hidden": (1.5,)}, TypeError, "hidden=1.5: must be a whole number"),
        ({"inputs": True}, TypeError, "inputs=True: must be a whole number"),
        (
            {"gain": "during"},
            ValueError,
            "gain='during': unknown; choose 'after' or 'before' or 'none'",
        ),
        ({"first_bias": math.inf}, ValueError, "first_bias=inf: must be finite"),
    ],
)
def test_bad_sizes_are_refused(sizes, error, message):
    own = {name: value for name, value in sizes.items() if hasattr(Network, name)}
    other = {name: value for name, value in sizes.items() if name not in own}
    with pytest.raises(error, match=message):
        Network(**own).size(Sizes(4, 2)._replace(**other))


GRID = Sizes(inputs=(5, 4, 3), actions=2)


def test_filters_are_a_convolution():
    network = Network(hidden=(4,), filters=6)
    params = start(network, GRID)
    x = np.random.default_rng(1).normal(size=(7, 5, 4, 3)).astype(np.float32)

    @jax.jit
    def three(params, x):
        kernel = params.weights[0].reshape(3, 3, 3, 6)
        wanted = jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        hidden = jax.nn.relu(wanted).reshape(7, -1)
        wanted = jax.nn.relu(hidden @ params.weights[1]) @ params.weights[2]
        return wanted, network.values(params, 0, x), network.values(params, 0, x[0])

    wanted, found, alone = three(params, x)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(alone, found[0], atol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"gain": "before", "units": "crelu"}, {"units": "leaky-relu"}]
)
def test_values_and_gradient_of_filters_are_those_of_the_plain_formula(options):
    network = Network(hidden=(4,), filters=6, **options)
    random = np.random.default_rng(1)
    rectify = {"leaky-relu": lambda y: jnp.where(y > 0, y, 0.01 * y)}.get(
        network.units, lambda y: jnp.maximum(y, 0)
    )

    def units(y, gain, bias):
        y = y + bias[0]
        signs = (1, -1) if network.units == "crelu" else (1,)
        if network.gain == "before":
            return jnp.concatenate([rectify(gain[0] * (sign * y)) for sign in signs], -1)
        return jnp.concatenate([gain[0] * rectify(sign * y) for sign in signs], -1)

    @jax.numpy_rank_promotion("allow")
    def plain(params, x):
        kernel = params.weights[0].reshape(3, 3, 3, 6)
        y = jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        y = units(y, params.gains[0], params.biases[0]).reshape(len(x), -1)
        y = units(y @ params.weights[1], params.gains[1], params.biases[1])
        return (y @ params.weights[2] + params.biases[2][0]) * params.gains[2][0]

    with jax.enable_x64(True):
        params = random_params(network, GRID, 2)
        x, wanted = (jnp.asarray(random.normal(size=shape)) for shape in ((11, 5, 4, 3), (11, 2)))

        def loss(q):
            return jnp.mean((q - wanted) ** 2)

        @jax.jit
        def both(params, x):
            value, slopes = network.slopes(loss, params, 0, x)
            alone = jnp.stack([network.values(params, 0, one) for one in x[:2]])
            ours = value, slopes, network.values(params, 0, x), alone
            value, slopes = jax.value_and_grad(lambda p: loss(plain(p, x)))(params)
            return ours, (value, slopes, plain(params, x), plain(params, x)[:2])

        for found, expected in zip(*map(jax.tree.leaves, both(params, x)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_layer_norm_and_crelu_by_hand():
    params = Params(
        (jnp.array([[1.0, 3.0]]), jnp.ones((4, 1))),
        (jnp.array([[1.0, 2.0]]), jnp.ones((1, 1))),
        (jnp.array([[0.5, 0.0]]), jnp.zeros((1, 1))),
    )
    # Sums 2 and 6 become -1 and 1; with the bias -0.5 and 1. CReLU: 0, 1, 0.5, 0; gains 1, 2, 1, 2.
    network = Network(hidden=(2,), layer_norm=True, units="crelu")
    assert network.layers(Sizes(1, 1)) == ((1, 2), (4, 1))
    np.testing.assert_allclose(network.values(params, 0, jnp.array([2.0])), [2.5], atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"layer_norm": True, "units": "crelu", "filters": 2}])
def test_the_gradient_of_a_batch_is_the_mean_of_single_ones(options):
    network = Network(hidden=(3,), **options)
    params = start(network, GRID)
    x = np.random.default_rng(1).normal(size=(4, 5, 4, 3)).astype(np.float32)

    def loss(q):
        return jnp.sum(q * q) / (1 if q.ndim == 1 else q.shape[0])

    @jax.jit
    def gradient(observation):
        return network.gradient(params, network.slopes(loss, params, 0, observation)[1], 0)

    found = gradient(x)
    single = [gradient(one) for one in (x.reshape(4, -1) if network.factored else x)]
    mean = jax.tree.map(lambda *g: np.mean(g, 0), *single)
    for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(mean), strict=True):
        np.testing.assert_allclose(one, two, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(("shape", "filters"), [((3,), 0), ((4, 4, 2), 2)])
def test_a_batch_may_hold_several_tasks(shape, filters):
    network, tasks = Network(hidden=(5,), filters=filters), jnp.array([1, 0, 1])
    sizes = Sizes(inputs=shape if filters else shape[0], actions=2, tasks=2)
    draw = np.random.default_rng(0)
    params = jax.tree.map(
        lambda x: jnp.asarray(draw.normal(size=x.shape), jnp.float32),
        jax.eval_shape(lambda: network.start(jax.random.key(0), sizes)),
    )
    seen = jnp.asarray(draw.normal(size=(3, *shape)), jnp.float32)

    @jax.jit
    def both(params, seen):
        alone = jax.vmap(network.values, (None, 0, 0))(params, tasks, seen)
        return network.values(params, tasks, seen), alone

    np.testing.assert_allclose(*both(params, seen), rtol=1e-5)

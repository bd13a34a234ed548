"""Units that are born again: which ones, when, and what becomes of their weights."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bennafusi import Chain, beakers, consolidate, rivals
from bennafusi.rivals import Units, continual_backprop, redo
from bennafusi.rivals.redo import silent
from tests.promotion import lenient

KEY = jax.random.key(0)
LAYERS = (Units("a/w", "b/w", "a/b", "b/b"), Units("b/w", "c/w", "b/b"))


def three_layers():
    rng = np.random.default_rng(0)
    sizes = {"a": (2, 4), "b": (4, 3), "c": (3, 1)}
    return {
        name: {
            "w": jnp.asarray(rng.normal(size=size) + 3, jnp.float32),
            "b": jnp.ones(size[1]),
        }
        for name, size in sizes.items()
    }


def still(params):
    return jax.tree.map(jnp.zeros_like, params)


def first_and_second(one, two):
    return [jnp.asarray(one, jnp.float32)[None], jnp.asarray(two, jnp.float32)[None]]


def after(optimizer, params, state, h):
    steps, state = jax.jit(optimizer.update)(still(params), state, params, activations=h)
    return optax.apply_updates(params, steps), state


def test_redo_recycles_the_silent_and_only_them():
    params = three_layers()
    optimizer = redo(lenient(optax.sgd(0.0)), LAYERS, key=KEY, threshold=0.1, period=1)
    # Of the first layer the mean is 1.02, and 0.08 is below a tenth of it; the second is loud.
    h = first_and_second([0.08, 2.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    new, _ = after(optimizer, params, optimizer.init(params), h)
    assert (np.asarray(new["a"]["w"])[:, 0] != np.asarray(params["a"]["w"])[:, 0]).all()
    assert np.abs(new["a"]["w"][:, 0]).max() <= 1.0  # Glorot's bound, sqrt(6 / (2 + 4))
    np.testing.assert_allclose(new["a"]["w"][:, 1:], params["a"]["w"][:, 1:])
    assert new["a"]["b"].tolist() == [0, 1, 1, 1]
    assert new["b"]["w"][0].tolist() == [0, 0, 0]
    np.testing.assert_allclose(new["b"]["w"][1:], params["b"]["w"][1:])
    jax.tree.map(np.testing.assert_array_equal, new["c"], params["c"])


@pytest.mark.parametrize("method", ["redo", "continual_backprop"])
def test_units_are_born_again_around_optimisers_that_hide_parameters(method):
    """As ``optax.multi_transform`` does: each of its parts sees some of them."""
    params = three_layers()
    kinds = {"a": {"w": "adam", "b": "sgd"}, "b": {"w": "adam", "b": "sgd"}}
    kinds["c"] = {"w": "sgd", "b": "sgd"}
    both = {"adam": optax.adam(0.1), "sgd": optax.sgd(0.1)}
    around = lenient(optax.multi_transform(both, kinds))
    if method == "redo":
        optimizer = redo(around, LAYERS, key=KEY, threshold=0.1, period=1)
    else:
        optimizer = continual_backprop(around, LAYERS, key=KEY, replacement_rate=1.0, maturity=0)
    h = first_and_second([0.0, 2.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    grads = jax.tree.map(jnp.ones_like, params)
    _, state = jax.jit(optimizer.update)(grads, optimizer.init(params), params, activations=h)
    mu = optax.tree.get(state, "mu")["a"]["w"]
    assert mu[:, 0].tolist() == [0, 0], "of the silent unit"
    assert (mu[:, 1:] != 0).all()


def test_an_optimiser_whose_state_has_another_shape_is_refused_in_words():
    params = three_layers()
    optimizer = redo(lenient(optax.adafactor(0.1)), LAYERS, key=KEY, period=1)
    h = first_and_second([0.0, 2.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"optimizer: keeps an array of shape \(1,\)"):
        after(optimizer, params, optimizer.init(params), h)


@pytest.mark.parametrize("method", ["redo", "continual_backprop"])
def test_what_an_optimiser_remembers_of_a_unit_is_born_again_with_it(method):
    """Beakers, averages and starts are those of the new weights; 0 would pull them there."""
    params = three_layers()
    chain = consolidate(lenient(optax.sgd(0.0)), Chain(3, 0.01), hidden="copy")
    remembering = {
        "beakers": (chain, lambda state: jax.tree.map(lambda u: u[2], beakers(state))),
        "average": (rivals.ema(lenient(optax.sgd(0.0)), step_size=0.1), lambda s: s.average),
        "start": (rivals.l2_init(lenient(optax.sgd(0.0))), lambda state: state.memory.start),
    }
    for optimizer, read in remembering.values():
        again = {
            "redo": lambda base: redo(base, LAYERS, key=KEY, threshold=0.1, period=1),
            "continual_backprop": lambda base: continual_backprop(
                base, LAYERS, key=KEY, replacement_rate=1.0, maturity=0
            ),
        }[method](optimizer)
        h = first_and_second([0.0, 2.0, 1.0, 1.0], [1.0, 1.0, 1.0])
        state = again.init(params)
        new = params
        for _ in range(2):
            new, state = after(again, new, state, h)
        changed = np.asarray(new["a"]["w"] != params["a"]["w"])
        assert changed[:, 0].all()
        remembered = read(state.optimizer)
        np.testing.assert_allclose(remembered["a"]["w"], new["a"]["w"], rtol=1e-5)
        np.testing.assert_allclose(remembered["b"]["w"], new["b"]["w"], rtol=1e-5, atol=1e-6)


def test_packed_parameters_are_refused_in_words():
    chain = consolidate(lenient(optax.sgd(0.0)), Chain(3, 0.01), packed=True)
    optimizer, params = redo(chain, LAYERS, key=KEY, period=1), three_layers()
    h = first_and_second([0.0, 2.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="leave out packed=True"):
        after(optimizer, params, optimizer.init(params), h)


def test_redo_waits_for_its_period():
    params = three_layers()
    optimizer = redo(lenient(optax.sgd(0.0)), LAYERS, key=KEY, threshold=0.0, period=3)
    state, h = optimizer.init(params), first_and_second([0, 1, 1, 1], [1, 1, 1])
    changed = []
    for _ in range(6):
        new, state = after(optimizer, params, state, h)
        changed.append(bool((new["a"]["w"] != params["a"]["w"]).any()))
    assert changed == [False, False, True, False, False, True]


def test_neighbouring_units_are_born_in_one_go():
    """The weights between two layers lead into one of them and out of the other."""
    params = three_layers()
    optimizer = redo(lenient(optax.sgd(0.0)), LAYERS, key=KEY, threshold=0.0, period=1)
    h = first_and_second([0, 1, 1, 1], [1, 0, 1])
    new, _ = after(optimizer, params, optimizer.init(params), h)
    middle = np.asarray(new["b"]["w"])
    fresh = middle != np.asarray(params["b"]["w"])
    assert fresh.tolist() == [[True] * 3, *[[False, True, False]] * 3]
    assert (middle[1:, 1] != 0).all()
    assert new["c"]["w"][1].tolist() == [0]
    assert middle[0].tolist() == [0, 0, 0]  # out of a unit that was born again, into any


def test_moments_are_forgotten():
    params = three_layers()
    optimizer = redo(lenient(optax.adam(0.1)), LAYERS[:1], key=KEY, threshold=0.0, period=2)
    state = optimizer.init(params)
    ones = jax.tree.map(jnp.ones_like, params)
    h = [jnp.array([[0.0, 1, 1, 1]])]
    update = jax.jit(optimizer.update)
    _, state = update(ones, state, params, activations=h)
    _, state = update(ones, state, params, activations=h)
    adam = state.optimizer[0]
    for moment in (adam.mu, adam.nu):
        assert (np.asarray(moment["a"]["w"]) == 0).tolist() == [[True, False, False, False]] * 2
        assert (np.asarray(moment["a"]["b"]) == 0).tolist() == [True, False, False, False]
        assert (np.asarray(moment["b"]["w"]) == 0).tolist() == [[True] * 3, *[[False] * 3] * 3]
        assert (np.asarray(moment["c"]["w"]) != 0).all()
    assert int(adam.count) == 2


def backprop(**settings):
    given = {"key": KEY, "replacement_rate": 0.25, "maturity": 2, "utility_decay": 0.5}
    return continual_backprop(lenient(optax.sgd(0.0)), LAYERS[:1], **(given | settings))


def test_continual_backprop_by_hand():
    params = three_layers()
    params["b"]["w"] = jnp.asarray([[1, 1, 1], [2, 2, 2], [1, 0, 0], [3, -3, 0]], jnp.float32)
    optimizer = backprop()
    state = optimizer.init(params)
    # Contributions |h| sum |w|: 6, 6, 3 and 6: the third unit gives least.
    h = [jnp.array([[1.0, 0.0, 2.0, 1.0], [3.0, 2.0, 4.0, 1.0]])]
    for count in (1, 2):  # all are too young
        new, state = after(optimizer, params, state, h)
        jax.tree.map(np.testing.assert_array_equal, new, params)
        expected = np.array([6, 6, 3, 6]) * (1 - 0.5**count)
        np.testing.assert_allclose(state.units[0].utility, expected, rtol=1e-6)
        assert float(state.units[0].owed) == 0
    new, state = after(optimizer, params, state, h)  # four are old enough and owe 1: not yet more
    jax.tree.map(np.testing.assert_array_equal, new, params)
    assert float(state.units[0].owed) == 1.0
    new, state = after(optimizer, params, state, h)
    assert (np.asarray(new["a"]["w"]) != np.asarray(params["a"]["w"])).tolist() == [
        [False, False, True, False]
    ] * 2
    assert new["a"]["b"].tolist() == [1, 1, 0, 1]
    assert new["b"]["w"][2].tolist() == [0, 0, 0]
    # On average it was 3, and its weight out was 1: the first output misses nothing.
    np.testing.assert_allclose(new["b"]["b"], [1 + 3, 1, 1], rtol=1e-6)
    assert state.units[0].age.tolist() == [4, 4, 0, 4]
    assert float(state.units[0].utility[2]) == 0
    assert float(state.units[0].owed) == 1.0  # 2 less 1


def test_no_output_changes_on_average_when_a_unit_goes():
    """For a unit that always says the same, nothing changes at all."""
    params = three_layers()
    x = jnp.array([[1.0, 2.0]])

    def output(p):
        h = jax.nn.relu(x @ p["a"]["w"] + p["a"]["b"][None])
        return h @ p["b"]["w"] + p["b"]["b"][None], h

    before, h = output(params)
    optimizer = backprop(replacement_rate=1.0, maturity=0)
    new, _ = after(optimizer, params, optimizer.init(params), [h])
    assert (new["a"]["w"] != params["a"]["w"]).any()
    np.testing.assert_allclose(output(new)[0], before, rtol=1e-5)


def test_no_output_changes_when_a_unit_in_front_of_filters_goes():
    """What it gave went through every place of the filter, and all of that goes into the bias."""
    first, second = jax.random.split(KEY)
    params = {
        "a": jax.random.normal(first, (1, 1, 3, 4)),
        "b": jax.random.normal(second, (3, 3, 4, 2)),
        "bias": jnp.ones(2),
    }

    def convolved(x, w):
        return jax.lax.conv_general_dilated(
            x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def output(p):
        h = jax.nn.relu(convolved(jnp.ones((1, 5, 5, 3)), p["a"]))
        return convolved(h, p["b"]) + p["bias"].reshape(1, 1, 1, -1), h

    before, h = output(params)
    layers = [Units("a", "b", next_bias="bias")]
    optimizer = continual_backprop(
        lenient(optax.sgd(0.0)), layers, key=KEY, replacement_rate=1.0, maturity=0
    )
    new, state = after(optimizer, params, optimizer.init(params), [h])
    assert int((state.units[0].age == 0).sum()) == 1
    np.testing.assert_allclose(output(new)[0], before, rtol=1e-4)


def test_two_layers_may_lead_to_the_same_bias():
    """As branches of a network do: what units of both gave goes into it, not of the last alone."""
    params = {
        "a": jnp.ones((1, 2)),
        "b": jnp.ones((1, 2)),
        "out a": jnp.ones((2, 1)),
        "out b": 2 * jnp.ones((2, 1)),
        "bias": jnp.zeros(1),
    }
    layers = [Units("a", "out a", next_bias="bias"), Units("b", "out b", next_bias="bias")]
    optimizer = continual_backprop(
        lenient(optax.sgd(0.0)), layers, key=KEY, replacement_rate=1.0, maturity=0
    )
    h = first_and_second([1, 3], [1, 3])
    new, _ = after(optimizer, params, optimizer.init(params), h)
    np.testing.assert_allclose(new["bias"], [1 * 1 + 1 * 2], rtol=1e-6)


def test_units_are_replaced_at_the_rate_that_was_asked_for():
    params = three_layers()
    optimizer = backprop(replacement_rate=0.01, maturity=0)
    state, births = optimizer.init(params), 0
    h = [jnp.array([[1.0, 2.0, 3.0, 4.0]])]
    update = jax.jit(optimizer.update)
    for _ in range(500):
        _, state = update(still(params), state, params, activations=h)
        births += int((state.units[0].age == 0).sum())
    assert 19 <= births <= 20  # 500 * 4 * 0.01


def test_the_oldest_unit_stays_the_oldest():
    """Its age in updates ends where int32 does, and does not begin again below 0."""
    params = three_layers()
    optimizer = backprop()
    state = optimizer.init(params)
    oldest = np.iinfo(np.int32).max
    old = state.units[0]._replace(age=jnp.full(4, oldest, jnp.int32))
    _, state = after(optimizer, params, state._replace(units=(old,)), [jnp.ones((1, 4))])
    assert state.units[0].age.tolist() == [oldest] * 4
    assert float(state.units[0].owed) == 1.0  # all four still count as grown up


def test_an_age_is_a_whole_number():
    with pytest.raises(TypeError, match=r"maturity=2\.5: must be a whole number"):
        backprop(maturity=2.5)
    with pytest.raises(ValueError, match=r"maturity=-1\.0: must be at least 0"):
        backprop(maturity=-1)
    with pytest.raises(TypeError, match=r"maturity=.*known before compiling.* 'maturity'"):
        jax.jit(lambda age: backprop(maturity=age).init(three_layers()))(3)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "at least one layer"),
        ([Units("a/w", "nowhere")], r"outgoing='nowhere' is no parameter; there are \['a/b', "),
        ([Units("a/w", "c/w")], r"'a/w' leads to 4 units, and 'c/w' of shape \(3, 1\) comes from"),
        ([Units("a/w", "b/b")], r"outgoing='b/b' of shape \(3,\) is no matrix of weights"),
        ([Units("a/b", "b/w")], r"incoming='a/b' of shape \(4,\) is no matrix of weights"),
        ([Units("a/w", "b/w", "b/b")], r"bias='b/b' of shape \(3,\) must have 4 numbers"),
        ([Units("a/w", "b/w", None, "a/b")], r"next_bias='a/b' of shape \(4,\) must have 3"),
    ],
)
def test_layers_that_are_not_there_are_refused(layers, message):
    with pytest.raises(ValueError, match=message):
        redo(optax.sgd(0.1), layers, key=KEY).init(three_layers())


def test_activations_must_be_those_of_the_layers():
    params = three_layers()
    optimizer = redo(lenient(optax.sgd(0.0)), LAYERS, key=KEY)
    state = optimizer.init(params)
    with pytest.raises(ValueError, match="1 arrays for 2 layers"):
        optimizer.update(still(params), state, params, activations=[jnp.ones((1, 4))])
    with pytest.raises(ValueError, match=r"layer 0 has 4 units.*\(1, 3\)"):
        optimizer.update(
            still(params), state, params, activations=first_and_second([1, 1, 1], [1, 1, 1])
        )
    with pytest.raises(ValueError, match=r"layer 0 has no examples, its shape is \(0, 4\)"):
        optimizer.update(
            still(params), state, params, activations=[jnp.ones((0, 4)), jnp.ones((0, 3))]
        )
    with pytest.raises(TypeError, match="every entry must be a Units"):
        redo(optax.sgd(0.1), [("a/w", "b/w")], key=KEY)


def test_a_batch_that_is_not_finite_is_as_if_it_had_not_been_for_its_units():
    """Else it would come out in the next layer's bias, when one of them is born again."""
    params, optimizer = three_layers(), backprop(maturity=2, replacement_rate=1.0)
    good, bad = [jnp.array([[1.0, 2.0, 3.0, 4.0]])], [jnp.full((1, 4), jnp.nan)]

    def units(batches):
        state = optimizer.init(params)
        for h in batches:
            state = after(optimizer, params, state, h)[1]
        return state.units[0]

    with_it, without = units([good, bad, good]), units([good, good])
    assert with_it.age.tolist() == [2, 2, 2, 2]
    jax.tree.map(np.testing.assert_array_equal, with_it, without)


def test_one_number_that_is_not_finite_does_not_make_a_layer_silent():
    for wrong in (jnp.inf, jnp.nan):
        assert not silent(jnp.array([[1.0, wrong, 0.0]]), 0.1).any()
    assert silent(jnp.array([[1.0, 3.0, 0.0]]), 0.1).tolist() == [False, False, True]


def test_one_array_is_not_taken_for_a_layer_of_each_example():
    optimizer, params = redo(lenient(optax.sgd(0.0)), LAYERS, key=KEY), three_layers()
    state = optimizer.init(params)
    for wrong in (jnp.ones((len(LAYERS), 4)), None):
        with pytest.raises(TypeError, match=r"activations: of type .*; must be a list"):
            optimizer.update(params, state, params, activations=wrong)


def test_what_a_unit_gave_is_its_mean_also_after_the_decay_was_changed():
    """It always gives 1 through a weight of 1, so that 1 goes into the next bias when it goes."""
    params = {"in": jnp.ones((1, 1)), "out": jnp.ones((1, 1)), "b": jnp.zeros(1)}
    layers = [Units("in", "out", next_bias="b")]
    made = [
        continual_backprop(
            optax.sgd(0.0), layers, key=jax.random.key(0), replacement_rate=0.2, maturity=12,
            utility_decay=decay,
        )
        for decay in (0.9, 0.999)
    ]  # fmt: skip
    state, seen, biases = made[0].init(params), [jnp.ones((4, 1))], []
    for optimizer in [made[0]] * 10 + [made[1]] * 8:
        updates, state = optimizer.update(params, state, params, activations=seen)
        biases.append(float(updates["b"][0]))
    assert biases[:17] == [0.0] * 17  # grown up from the 13th on, a fifth of a unit is owed each
    assert biases[17] == pytest.approx(1.0, rel=1e-5)

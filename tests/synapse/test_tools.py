"""`consolidate` inside the tools that its users have: Flax, NNX, Equinox, Orbax, NumPy."""

import equinox as eqx
import flax.serialization
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from flax.training.train_state import TrainState

from bennafusi import Chain, beakers, consolidate, readout, recall

CHAIN = Chain(9, 0.05)  # three groups
PARAMS = {"w": np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), "b": np.ones(3, np.float32)}
pytestmark = pytest.mark.usefixtures("lenient")


@pytest.fixture
def lenient():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def optimizer(**settings):
    return consolidate(optax.adam(1e-2), **{"chain": CHAIN, "every": 2, **settings})


def train(tx, params, state, steps):
    step = jax.jit(lambda p, s: tx.update(jax.tree.map(jnp.sin, p), s, p))
    for _ in range(steps):
        updates, state = step(params, state)
        params = optax.apply_updates(params, updates)
    return params, state


@pytest.fixture(scope="module")
def middle():
    """Parameters and state after 21 updates, and after 30."""
    with jax.numpy_dtype_promotion("standard"):
        tx, params = optimizer(), jax.tree.map(jnp.asarray, PARAMS)
        now = train(tx, params, tx.init(params), 21)
        return now, train(tx, *now, 9)


def goes_on_as_before(restored, middle):
    found = train(optimizer(), *restored, 9)
    jax.tree.map(np.testing.assert_array_equal, found, middle[1])


def flax_bytes(tree, template, tmp_path):
    return flax.serialization.from_bytes(template, flax.serialization.to_bytes(tree))


def orbax_folder(tree, template, tmp_path):
    import orbax.checkpoint as ocp

    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "state", tree)
        checkpointer.wait_until_finished()
        return checkpointer.restore(tmp_path / "state", template)


def numpy_file(tree, template, tmp_path):
    """As `docs/using.md` shows it: the structure is kept as text beside the arrays."""
    leaves, structure = jax.tree.flatten(tree)
    np.savez(tmp_path / "state.npz", *leaves, structure=str(structure))
    with np.load(tmp_path / "state.npz") as file:
        if str(file["structure"]) != str(jax.tree.structure(template)):
            raise ValueError(f"saved with {file['structure']}")
        return jax.tree.unflatten(
            jax.tree.structure(template), [file[f"arr_{i}"] for i in range(len(leaves))]
        )


def equinox_file(tree, template, tmp_path):
    eqx.tree_serialise_leaves(tmp_path / "state.eqx", tree)
    return eqx.tree_deserialise_leaves(tmp_path / "state.eqx", template)


SAVERS = [flax_bytes, orbax_folder, numpy_file, equinox_file]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("saver", SAVERS, ids=lambda f: f.__name__)
def test_saved_and_restored_training_goes_on_to_the_bit(saver, middle, tmp_path):
    params = jax.tree.map(jnp.zeros_like, PARAMS)
    template = (params, optimizer().init(params))
    goes_on_as_before(saver(middle[0], template, tmp_path), middle)


@pytest.mark.parametrize("method", ["multirate", "euler", "exact"])
def test_a_restored_state_goes_on_without_jit_too(method, tmp_path):
    """It is of NumPy arrays, which jit alone makes JAX's of."""
    tx, params = optimizer(method=method, every=1), jax.tree.map(jnp.asarray, PARAMS)
    now = train(tx, params, tx.init(params), 15)
    restored = numpy_file(now, now, tmp_path)
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(restored))

    def twice(params, state):
        for _ in range(2):
            updates, state = tx.update(jax.tree.map(jnp.sin, params), state, params)
            params = optax.apply_updates(params, updates)
        return params, state, beakers(state), readout(state, 3)

    jax.tree.map(np.testing.assert_array_equal, twice(*restored), twice(*now))
    recalled = recall(restored[1], restored[0], 3, overwrite=True)
    jax.tree.map(np.testing.assert_array_equal, recalled, recall(*now[::-1], 3, overwrite=True))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("saver", SAVERS[:3], ids=lambda f: f.__name__)
def test_what_keeps_structure_refuses_a_state_of_another_chain(saver, middle, tmp_path):
    params = jax.tree.map(jnp.zeros_like, PARAMS)
    other = (params, optimizer(chain=Chain(9, 0.04)).init(params))
    with pytest.raises(ValueError, match=r"g12.*0\.0[45]"):
        saver(middle[0], other, tmp_path)


def test_train_state():
    tx = optimizer()

    def create():
        return TrainState.create(apply_fn=None, params=jax.tree.map(jnp.asarray, PARAMS), tx=tx)

    step = jax.jit(lambda s: s.apply_gradients(grads=jax.tree.map(jnp.sin, s.params)))
    state = create()
    for _ in range(4):
        state = step(state)
    saved = flax.serialization.to_bytes(state)
    again = step(flax.serialization.from_bytes(create(), saved))
    jax.tree.map(np.testing.assert_array_equal, again.params, step(state).params)
    assert beakers(again.opt_state)["w"].shape == (9, 4, 3)


def test_nnx_optimizer():
    class Model(nnx.Module):
        def __init__(self):
            self.linear = nnx.Linear(4, 3, rngs=nnx.Rngs(0))

        def __call__(self, x):
            return self.linear(x)

    model, twin = Model(), Model()
    state = nnx.Optimizer(model, optimizer(), wrt=nnx.Param)

    @nnx.jit
    def step(model, state):
        grads = nnx.grad(lambda m: jnp.sum(m(jnp.ones((2, 4))) ** 2))(model)
        state.update(model, grads)

    for _ in range(5):
        step(model, state)
    # The same by hand.
    definition, params = nnx.split(twin)
    tx = optimizer()
    flat, plain = params, tx.init(params)
    for _ in range(5):
        grads = jax.grad(lambda p: jnp.sum(nnx.merge(definition, p)(jnp.ones((2, 4))) ** 2))(flat)
        updates, plain = tx.update(grads, plain, flat)
        flat = optax.apply_updates(flat, updates)
    np.testing.assert_allclose(
        model.linear.kernel[...], nnx.merge(definition, flat).linear.kernel[...], rtol=1e-5
    )
    assert beakers(nnx.as_pure(state.opt_state))["linear"]["kernel"].shape == (9, 4, 3)
    # Read out and called back, in the boxes that nnx has for a model and for a state.
    nnx.update(twin, readout(state.opt_state, 3))
    third = twin.linear.kernel[...]
    params, state.opt_state, created = recall(
        state.opt_state, nnx.state(model, nnx.Param), 3, overwrite=True
    )
    assert jax.tree.structure(created) == jax.tree.structure(params)
    nnx.update(model, params)
    np.testing.assert_array_equal(model.linear.kernel[...], third)
    step(model, state)
    now = beakers(state.opt_state)["linear"]["kernel"][...]
    np.testing.assert_array_equal(now[0], model.linear.kernel[...])
    np.testing.assert_allclose(now[1], third, atol=1e-2)


def test_equinox_model():
    model = eqx.nn.MLP(3, 2, 8, 1, key=jax.random.key(0))
    tx = optimizer()

    @eqx.filter_jit
    def step(model, state):
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.sum(m(jnp.ones(3)) ** 2))(model)
        updates, state = tx.update(grads, state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), state, loss

    state = tx.init(eqx.filter(model, eqx.is_inexact_array))
    losses = []
    for _ in range(20):
        model, state, loss = step(model, state)
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]
    assert beakers(state).layers[0].weight.shape == (9, 8, 3)


FOREIGN = {
    "n": {"chain": Chain(10, 0.05)},
    "g12": {"chain": Chain(9, 0.06)},
    "growth": {"chain": Chain(9, 0.05, growth=2.1)},
    "leak": {"chain": Chain(9, 0.05, leak=False)},
    "gated": {"chain": Chain(9, 0.05, gated=False)},
    "method": {"method": "euler"},
    "every": {"every": 3, "dt": 2.0},
    "dt": {"dt": 1.0},
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("field", FOREIGN)
def test_a_state_of_other_settings_is_refused(field, packed):
    params = jax.tree.map(jnp.asarray, PARAMS)
    state = optimizer(packed=packed, **FOREIGN[field]).init(params)
    with pytest.raises(ValueError, match=rf'state: was made with .*"{field}".*but this .* has'):
        jax.jit(optimizer(packed=packed).update)(params, state, params)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("base", [optax.sgd, optax.adam])  # Adam would stumble over it first
def test_a_state_of_other_parameters_is_refused(base, packed):
    params = jax.tree.map(jnp.asarray, PARAMS)
    tx = consolidate(base(0.1), CHAIN, packed=packed)
    wide = {"w": jnp.ones((4, 5)), "b": jnp.ones(3)}
    with pytest.raises(ValueError, match=r"for parameter 'w' of shape \(4, 3\)"):
        tx.update(params, tx.init(wide), params)
    with pytest.raises(ValueError, match="beakers for 1 parameters, and params has 2"):
        tx.update(params, tx.init({"w": params["w"]}), params)
    if not packed:
        with pytest.raises(ValueError, match="beakers of 'v' where params has 'w'"):
            tx.update(params, tx.init({"b": params["b"], "v": params["w"]}), params)
    with pytest.raises(TypeError, match="state: expected a ConsolidateState"):
        tx.update(params, optax.sgd(0.1).init(params), params)
    with pytest.raises(TypeError, match="state: expected a FlowState"):
        tx.update(params, tx.init(params)._replace(flow={"chain": 1}), params)


def test_a_cut_array_is_refused():
    params = jax.tree.map(jnp.asarray, PARAMS)
    tx = consolidate(optax.sgd(0.1), CHAIN)
    state = tx.init(params)
    levels = state.flow.chain.levels
    cut = (levels[0], jax.tree.map(lambda u: u[:-1], levels[1]), *levels[2:])
    state = state._replace(flow=state.flow._replace(chain=state.flow.chain._replace(levels=cut)))
    with pytest.raises(ValueError, match="4 beakers of it need"):
        tx.update(params, state, params)


def test_a_counter_that_is_past_every_steps_at_once():
    """A state that was saved under every=64 and edited to another must not stand still."""
    params = jnp.ones(1)
    tx = consolidate(optax.sgd(0.1), Chain(2, 0.1), every=2, hidden="zeros")
    state = tx.init(params)
    state = state._replace(flow=state.flow._replace(updates=jnp.int32(40)))
    _, state = tx.update(jnp.zeros(1), state, params)
    assert int(state.flow.updates) == 0
    assert int(state.flow.chain.steps) == 1

"""The rivals against traces recorded from public programs; see tests/data/README.md."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bennafusi import rivals
from tests.rivals.common import lenient

DATA = Path(__file__).parents[1] / "data"
TRACES = np.load(DATA / "rival_traces.npz", allow_pickle=False)
UNITS = np.load(DATA / "unit_traces.npz", allow_pickle=False)
MEANS = {"strength": 0.7, "mean_decay": 0.9, "importance_decay": 0.8}


def sgd():
    return lenient(optax.sgd(0.05))


CASES = {
    "ewc": (lambda: rivals.online_ewc(sgd(), **MEANS), ()),
    # Their MAS takes the gradient of the loss for that of the output.
    "mas": (lambda: rivals.mas(sgd(), **MEANS), ("output_grads",)),
    "upgd": (
        lambda: rivals.upgd(
            sgd(), noise=0.0, key=jax.random.key(0), decay=0.05 * 0.1, utility_decay=0.0
        ),
        (),
    ),
    "obgd": (rivals.obgd, ("delta", "reset")),
    "shrink": (
        lambda: rivals.shrink_and_perturb(
            sgd(), decay=0.05 * 0.1, noise=0.0, key=jax.random.key(0)
        ),
        (),
    ),
    # Half of their strength: the penalty is lambda / 2 there and c in the paper.
    "si": (
        lambda: rivals.synaptic_intelligence_with_boundaries(sgd(), strength=0.3, damping=0.1),
        ("boundary",),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_weights_as_theirs(name):
    build, demands = CASES[name]
    optimizer, told = build(), {"output_grads": TRACES["grads"], **TRACES}
    weights = jnp.asarray(TRACES["start"])
    state, update, found = optimizer.init(weights), jax.jit(optimizer.update), []
    for t, grads in enumerate(TRACES["grads"]):
        extra = {demand: jnp.asarray(told[demand][t]) for demand in demands}
        steps, state = update(jnp.asarray(grads), state, weights, **extra)
        weights = weights + steps
        found.append(weights)
    np.testing.assert_allclose(np.stack(found)[9::10], TRACES[name], rtol=2e-5, atol=5e-6)


def constant(key, shape, dtype):
    """In place of what each program draws for a newborn unit."""
    del key
    return jnp.full(shape, 0.1, dtype)


@pytest.mark.parametrize(
    ("name", "method", "settings"),
    [
        (
            "cbp",
            rivals.continual_backprop,
            {"replacement_rate": 0.013, "maturity": 10, "utility_decay": 0.9},
        ),
        ("redo", rivals.redo, {"threshold": 0.1, "period": 7}),
    ],
)
def test_the_same_units_are_born_again_as_theirs(name, method, settings):
    """11 births in one and 55 in the other, each of which changes what follows."""
    params = {key: jnp.asarray(UNITS[f"start_{key}"]) for key in ("w0", "b0", "w1", "b1", "w2")}
    layers = [rivals.Units("w0", "w1", "b0"), rivals.Units("w1", "w2", "b1")]
    around = lenient(optax.sgd(0.5))
    optimizer = method(around, layers, key=jax.random.key(0), initializer=constant, **settings)
    state, update, found = optimizer.init(params), jax.jit(optimizer.update), []
    for t in range(len(UNITS["h0"])):
        grads = {key: jnp.asarray(UNITS[f"grad_{key}"][t]) for key in params}
        seen = [jnp.asarray(UNITS[f"h{layer}"][t]) for layer in range(len(layers))]
        steps, state = update(grads, state, params, activations=seen)
        params = optax.apply_updates(params, steps)
        found.append(np.concatenate([np.ravel(params[key]) for key in sorted(params)]))
    np.testing.assert_allclose(np.stack(found)[9::10], UNITS[name], rtol=2e-5, atol=5e-6)

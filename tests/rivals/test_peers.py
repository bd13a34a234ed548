"""The rivals against traces recorded from their authors' own code; see tests/data/README.md."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bennafusi import rivals
from tests.rivals.common import lenient

TRACES = np.load(Path(__file__).parents[1] / "data" / "rival_traces.npz", allow_pickle=False)
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
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_weights_as_the_authors(name):
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

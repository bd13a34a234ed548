import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from bennafusi import Chain, consolidate, reach, readout


def test_the_settings_of_the_paper():
    assert reach(Chain(30, 0.001625), 1e-3, every=64) == pytest.approx(1e-3 / 0.001625)
    assert reach(Chain(30, 0.01), 1e-3) == pytest.approx(0.1)
    # The flow of 0.1 per batch kept with single updates: 64 times less.
    alone = reach(Chain(30, 0.001625), 1e-3, every=1, dt=64)
    assert alone == pytest.approx(1e-3 / 0.001625 / 64)


def test_in_standard_deviations():
    params = {"w": jnp.array([-0.2, 0.2]), "b": jnp.zeros(3)}
    assert reach(Chain(30, 0.01), 1e-3, params=params) == {
        "w": pytest.approx(0.5),
        "b": math.inf,
    }
    weight = torch.nn.Parameter(torch.tensor([-0.2, 0.2], dtype=torch.bfloat16))
    assert reach(Chain(30, 0.01), 1e-3, params={"w": weight})["w"] == pytest.approx(0.5, rel=1e-2)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.complex64])
def test_in_standard_deviations_of_a_large_layer_of_any_type(dtype):
    """NumPy sums half precision in half precision: 90,000 weights had a third of their spread."""
    weights = 1 + jax.random.normal(jax.random.key(0), (300, 300))
    expected = reach(Chain(30, 0.01), 1e-3, params=weights)
    assert reach(Chain(30, 0.01), 1e-3, params=weights.astype(dtype)) == pytest.approx(
        expected, rel=1e-2
    )


@pytest.mark.parametrize(("every", "dt"), [(1, None), (8, None), (4, 1.0)])
def test_a_weight_that_is_pushed_stays_within_it_and_comes_near(every, dt):
    """A deep chain, pushed at full rate: the second beaker has hardly moved when it is balanced."""
    rate, chain = 1e-3, Chain(2, 0.02, growth=50.0, leak=False, gated=False)
    tx = consolidate(optax.sgd(rate), chain, every=every, dt=dt, method="euler")

    @jax.jit
    def run(params, state):
        def body(carry, _):
            params, state = carry
            updates, state = tx.update(-jnp.ones(1), state, params)
            params = optax.apply_updates(params, updates)
            return (params, state), params[0] - readout(state, 2)[0]

        return jax.lax.scan(body, (params, state), None, length=2400)[1]

    away = run(jnp.zeros(1), tx.init(jnp.zeros(1)))
    far = reach(chain, rate, every=every, dt=dt)
    assert 0.85 * far < np.max(away) < 1.001 * far


def test_what_does_not_flow_holds_nothing_back():
    assert reach(Chain(1, 0.1, leak=False), 1e-3) == math.inf


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"learning_rate": 0.0}, ValueError, "learning_rate=0: must be above 0"),
        ({"learning_rate": "fast"}, TypeError, "learning_rate='fast'"),
        ({"dt": -1.0}, ValueError, "dt=-1: must be above 0"),
        ({"every": 0}, ValueError, "every=0"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        reach(Chain(3, 0.1), **{"learning_rate": 1e-3, **arguments})

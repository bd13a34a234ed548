"""Parameters split over devices: their beakers are where they are, and nothing else changes."""

import os
import subprocess
import sys

from tests.compiling import on_devices

# Devices must be made before JAX starts, so a process of its own.
PROGRAM = """
import jax, jax.numpy as jnp, numpy as np, optax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

from bennafusi import Chain, beakers, consolidate

rng = np.random.default_rng(0)
start = {
    "w": rng.standard_normal((8, 4)).astype(np.float32),
    "b": rng.standard_normal(8).astype(np.float32),
}

def train(params, hidden, method):
    tx = consolidate(
        optax.adam(1e-2), Chain(9, 0.05), every=2, method=method, hidden=hidden,
        key=jax.random.key(0),
    )

    def step(params, state):
        updates, state = tx.update(jax.tree.map(jnp.sin, params), state, params)
        return optax.apply_updates(params, updates), state

    state = tx.init(params)
    born = [u.sharding for u in jax.tree.leaves(state.flow.chain.levels)]
    compiled = jax.jit(step, donate_argnums=(0, 1))
    for _ in range(40):
        params, state = compiled(params, state)
    # Counters are born on one device and live on all: optax's own compile twice, too.
    assert compiled._cache_size() <= 2
    return params, state, born


def ones(weight, chain, key, path):
    return jnp.ones((chain.n - 1, *weight.shape))


def compare(devices, kind, hidden, method="multirate"):
    mesh = jax.make_mesh((devices,), ("d",), (kind,), devices=jax.devices()[:devices])
    split, rows = NamedSharding(mesh, P("d")), NamedSharding(mesh, P(None, "d"))
    alone, its_state, _ = train(jax.tree.map(jnp.asarray, start), hidden, method)
    spread, state, born = train(jax.device_put(start, split), hidden, method)
    arrays = jax.tree.leaves(state.flow.chain.levels)
    for sharding, u in zip([*born, *(u.sharding for u in arrays)], [*arrays, *arrays]):
        assert sharding.is_equivalent_to(rows, u.ndim), (hidden, sharding)
    for param in jax.tree.leaves(spread):
        assert param.sharding.is_equivalent_to(split, param.ndim)
        assert len(param.addressable_shards) == devices
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    jax.tree.map(close, (alone, beakers(its_state)), (spread, beakers(state)))


compare(2, AxisType.Auto, "zeros")
compare(4, AxisType.Auto, "linear-variance")
compare(4, AxisType.Explicit, "copy")
compare(4, AxisType.Explicit, "zeros", "exact")
compare(4, AxisType.Explicit, "linear-variance", "euler")
compare(2, AxisType.Explicit, ones)
"""


def test_beakers_follow_their_parameters_and_donated_steps_equal_one_device():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **on_devices(4), "JAX_NUMPY_DTYPE_PROMOTION": "standard"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

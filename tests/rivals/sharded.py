"""Every rival with its weights over two devices, against the same on one."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tests.rivals.common import BASES, CASES, network, parabola, stepper


def run(case, place):
    target = jax.tree.map(lambda p: 0.5 * p + 0.1, network())
    optimizer = case.around(BASES["sgd"]())
    step = jax.jit(stepper(case, optimizer, lambda params: parabola(params, target)))
    params = place(network())
    state = jax.jit(optimizer.init)(params)
    for _ in range(8):
        params, state = step(params, state)
    return params


def halved(params):
    """Units in two halves, one on each device."""
    mesh = Mesh(np.array(jax.devices()), ("half",))
    axes = {"w1": (None, "half"), "b1": ("half",), "w2": ("half", None), "b2": (None,)}
    return {
        name: jax.device_put(p, NamedSharding(mesh, PartitionSpec(*axes[name])))
        for name, p in params.items()
    }


def main():
    assert len(jax.devices()) == 2
    for name, case in CASES.items():
        here, there = run(case, lambda params: params), run(case, halved)
        assert len(there["w1"].sharding.device_set) == 2, name
        for leaf in here:
            np.testing.assert_allclose(here[leaf], there[leaf], 1e-5, 1e-6, err_msg=name)
    print("sharded", len(CASES))


if __name__ == "__main__":
    main()

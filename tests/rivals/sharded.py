"""Every rival with its weights over two devices, against the same on one."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tests.rivals.common import BASES, CASES, network, parabola, stepper


def run(place):
    """All rivals in one program, which is compiled faster than as many small ones."""
    start = network()
    target = jax.tree.map(lambda p: 0.5 * p + 0.1, start)
    optimizers = {name: case.around(BASES["sgd"]()) for name, case in CASES.items()}
    steps = {
        name: stepper(CASES[name], optimizer, lambda params: parabola(params, target))
        for name, optimizer in optimizers.items()
    }
    step = jax.jit(lambda carries: {name: steps[name](*carry) for name, carry in carries.items()})
    params = {name: place(start) for name in CASES}
    states = jax.jit(lambda params: {n: optimizers[n].init(p) for n, p in params.items()})(params)
    carries = {name: (params[name], states[name]) for name in CASES}
    for _ in range(8):
        carries = step(carries)
    return {name: params for name, (params, _) in carries.items()}


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
    here, there = run(lambda params: params), run(halved)
    for name in CASES:
        assert len(there[name]["w1"].sharding.device_set) == 2, name
        for leaf, value in here[name].items():
            np.testing.assert_allclose(value, there[name][leaf], 1e-5, 1e-6, err_msg=name)
    print("sharded", len(CASES))


if __name__ == "__main__":
    main()

"""Drifting: one order of the pixels fades into another, over 500 updates each.

A chain follows better than Adam, and so does weight decay, for nothing; what was right before is in
the second beaker, or in an average. Wrong now and 500 updates ago, mean of seeds 10 to 14: Adam
0.07, 0.37; weight decay 0.04, 0.44; a chain 0.05, 0.40; its second beaker 0.65, 0.17; an average
0.64, 0.18.
"""

import jax
import optax
from digit_streams import drifting, loss, start, wrong

from bennafusi import Chain, consolidate, readout, rivals


def learn(optimizer):
    """Weights, the optimiser's state and tests, after the whole stream."""
    (stream, *tests), params = drifting(), start()
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, x, y):
        updates, state = optimizer.update(jax.grad(loss)(params, x, y), state, params)
        return optax.apply_updates(params, updates), state

    for x, y in stream:
        params, state = step(params, state, x, y)
    return params, state, tests


adam = optax.adam(1e-2)
params, _, tests = learn(adam)
print("wrong now and 500 updates ago: Adam", *wrong(params, tests))
params, _, _ = learn(rivals.weight_decay(adam, decay=3e-3))
print("weight decay", *wrong(params, tests))
params, state, _ = learn(consolidate(adam, Chain.covering(300, 1e5, gated=False)))
print("a chain", *wrong(params, tests), "its second beaker", *wrong(readout(state, 2), tests))
params, state, _ = learn(rivals.ema(adam, step_size=1 / 300))
print("Adam's weights averaged", *wrong(state.average, tests))

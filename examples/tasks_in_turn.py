"""Tasks in turn: digits 0-4 and 5-9, 100 updates each, nobody says which it is.

With a chain the weights forget more; its second beaker and an average know both tasks, the average
for less. Wrong in the newest task and the one before, mean of seeds 10 to 14: Adam 0.02, 0.19; a
chain 0.02, 0.60; its second beaker 0.04, 0.08; an average 0.03, 0.05. For relearning quickly, see
returning_digits.py.
"""

import jax
import optax
from digit_streams import in_turn, loss, start, wrong

from bennafusi import Chain, consolidate, readout, rivals


def learn(optimizer):
    """Weights, the optimiser's state and tests, after the whole stream."""
    (stream, *tests), params = in_turn(), start()
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, x, y):
        updates, state = optimizer.update(jax.grad(loss)(params, x, y), state, params)
        return optax.apply_updates(params, updates), state

    for x, y in stream:
        params, state = step(params, state, x, y)
    return params, state, tests


adam = optax.adam(5e-3)
params, _, tests = learn(adam)
print("wrong in the newest task and the one before: Adam", *wrong(params, tests))
params, state, _ = learn(consolidate(adam, Chain.covering(200, 1e5, gated=False)))
print("a chain", *wrong(params, tests), "its second beaker", *wrong(readout(state, 2), tests))
params, state, _ = learn(rivals.ema(adam, step_size=1 / 200))
print("Adam's weights averaged", *wrong(state.average, tests))

"""Stream-Q against a loop in float64 written from its paper, and what its network sees."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.agents import stream_q
from bennafusi.agents.chains import NetworkChains
from bennafusi.agents.networks import Network, Params, Sizes
from bennafusi.agents.replay import Transition
from bennafusi.agents.stream_q import Stream, StreamQ
from bennafusi.synapse.readout import beakers
from tests.reference.euler import euler

NETWORK = Network(
    hidden=(6, 5), layer_norm=True, units="leaky-relu", sparse=0.5, normalise=True, per_task=False
)
SIZES, RULE, RATE, GAMMA = Sizes(inputs=3, actions=2), Stream(kappa=1.5, trace_decay=0.7), 0.8, 0.9
G12 = 0.3
ALONE = StreamQ(NETWORK, rule=RULE)
CHAINED = StreamQ(NETWORK, NetworkChains(3, G12, every=1, gated=False, hidden_start="copy"), RULE)


class Plain:
    """The agent by its equations: lists of matrices, gradients by finite differences."""

    def __init__(self, params, n):
        self.w = [np.asarray(w, np.float64) for w in params.weights]
        self.b = [np.asarray(b[0], np.float64) for b in params.biases[1:]]
        self.z = [np.zeros_like(p) for p in (*self.w, *self.b)]
        self.seen, self.sums, self.g = [], [], 0.0
        self.u = [np.stack([p] * n) for p in (*self.w, *self.b)]

    def values(self, x):
        for layer, (w, b) in enumerate(zip(self.w, self.b, strict=True)):
            x = x @ w
            if layer < len(self.w) - 1:
                x = (x - x.mean()) / np.sqrt(x.var() + 1e-5) + b
                x = np.where(x > 0, x, 0.01 * x)
            else:
                x = x + b
        return x

    def gradient(self, x, action, h=1e-6):
        found = []
        for p in (*self.w, *self.b):
            slope = np.zeros_like(p)
            for place in np.ndindex(p.shape):
                for sign in (1, -1):
                    p[place] += sign * h
                    slope[place] += sign * self.values(x)[action] / (2 * h)
                    p[place] -= sign * h
            found.append(slope)
        return found

    def learn(self, x, action, reward, after, discount, done, greedy):
        self.seen.append(x)
        self.g = GAMMA * self.g * (not done) + reward
        self.sums.append(self.g)
        rows = np.array(self.seen)
        size = np.sqrt((rows.var(0, ddof=1) if len(rows) > 1 else np.ones(3)) + 1e-8)
        spread = np.sqrt((np.var(self.sums, ddof=1) if len(rows) > 1 else 1.0) + 1e-8)
        x, after = ((y - rows.mean(0)) / size for y in (x, after))
        delta = reward / spread + discount * self.values(after).max() - self.values(x)[action]
        slopes = self.gradient(x, action)
        self.z = [GAMMA * RULE.trace_decay * z + g for z, g in zip(self.z, slopes, strict=True)]
        length = sum(np.abs(z).sum() for z in self.z)
        bound = RATE * RULE.kappa * max(abs(delta), 1) * length
        for i, p in enumerate((*self.w, *self.b)):
            dw = RATE / max(bound, 1) * delta * self.z[i]
            n = len(self.u[i])
            self.u[i] = euler(n, G12, dw[None], self.u[i], leak=n > 1, input_first=True)
            p[...] = self.u[i][0]
        if done or not greedy:
            self.z = [0 * z for z in self.z]
        return delta**2


@partial(jax.jit, static_argnums=0)
def learn(agent, state, step, done):
    return stream_q.learn(agent, state, 0, step, jnp.float32(GAMMA), done)


@jax.jit
def values(state, x):
    return NETWORK.values(state.params, 0, x)


@pytest.mark.parametrize("agent", [ALONE, CHAINED], ids=["alone", "with chains"])
def test_it_is_what_its_equations_say(agent):
    draw = np.random.default_rng(0)
    state = jax.jit(lambda: stream_q.start(agent, SIZES, jax.random.key(3), RATE))()
    # The first observation is its own mean; biases that are not 0 keep units off their kink there.
    offset, *rest = state.params.biases
    biases = (offset, *(jnp.float32(0.3 * draw.normal(size=b.shape)) for b in rest))
    state = state._replace(params=state.params._replace(biases=biases))
    plain, greedy_ones = Plain(state.params, agent.chains.n), 0
    for u in plain.u[len(plain.w) :]:
        u[1:] = 0  # hidden beakers were filled when biases were still 0
    x = draw.normal(size=3) * (1.0, 10.0, 0.1) + 2
    for number in range(12):
        q = values(state, jnp.asarray(x, jnp.float32))
        best = int(jnp.argmax(q))
        action = best if number % 3 else 1 - best
        greedy_ones += action == best
        done = number in (4, 8)
        after, reward = draw.normal(size=3) * (1.0, 10.0, 0.1) + 2, draw.normal()
        discount = 0.0 if number == 4 else GAMMA  # the second end is a time-out
        expected = plain.learn(x, action, reward, after, discount, done, action == best)
        step = Transition(*(jnp.float32(v) for v in (x, action, reward, discount, after)))
        step = step._replace(action=jnp.int32(action))
        state, loss = learn(agent, state, step, jnp.asarray(done))
        np.testing.assert_allclose(loss, expected, rtol=2e-3, atol=1e-5)
        x = after
    assert int(state.optimizer.updates) == 12
    assert greedy_ones == 8
    found = (*state.params.weights, *(b[0] for b in state.params.biases[1:]))
    for ours, theirs in zip(found, (*plain.w, *plain.b), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-4)
    if agent is CHAINED:
        held = beakers(state.optimizer)
        held = (*held.weights, *(b[:, 0] for b in held.biases[1:]))
        for ours, theirs in zip(held, plain.u, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=5e-4)
    rows = np.array(plain.seen)
    np.testing.assert_allclose(-state.params.biases[0][0], rows.mean(0), rtol=1e-4)
    np.testing.assert_allclose(1 / state.params.gains[0][0], rows.std(0, ddof=1), rtol=1e-4)
    for gains in state.params.gains[1:]:
        np.testing.assert_array_equal(gains, np.ones_like(gains))


def test_a_sparse_start_has_so_many_zeros_in_every_column():
    network = Network(hidden=(10, 25), sparse=0.9)
    params = jax.jit(lambda key: network.start(key, Sizes(3, 7)))(jax.random.key(1))
    for weights, zeros in zip(map(np.asarray, params.weights), (2, 9, 22), strict=True):
        assert ((weights == 0).sum(axis=0) == zeros).all()
        assert len({tuple(column) for column in (weights == 0).T}) > 1
        assert 0.5 < np.abs(weights).max() * len(weights) ** 0.5 <= 1


def test_a_grid_is_normalised_cell_by_cell():
    network = Network(hidden=(4,), filters=2, normalise=True, per_task=False)
    plain = Network(hidden=(4,), filters=2, per_task=False)
    shape = (4, 5, 3)
    draw = np.random.default_rng(0)
    seen = jnp.asarray(draw.random(shape), jnp.float32)
    mean, scale = (jnp.asarray(draw.random(60), jnp.float32) for _ in range(2))

    @jax.jit
    def both():
        params = network.start(jax.random.key(0), Sizes(shape, 2))
        rest = Params(params.weights, params.gains[1:], params.biases[1:])
        scaled = stream_q.scaled_by(params, mean, scale)
        shifted = (seen.ravel() - mean) * scale
        return (
            network.values(scaled, 0, seen),
            plain.values(rest, 0, shifted.reshape(shape)),
        )

    np.testing.assert_allclose(*both(), rtol=1e-5)

"""The whole update against a slow float64 version of it, and its parts by hand."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi import Chain, beakers
from bennafusi.agents import soft_q
from bennafusi.agents.networks import Network, Params
from bennafusi.agents.replay import Transition
from bennafusi.agents.soft_q import SoftQ
from tests.reference import soft_q as reference
from tests.reference.euler import euler

UPDATES = 200
RATE = 1e-3
NETWORK = Network(inputs=4, hidden=(13, 7), outputs=2, tasks=2)
CONTROL = SoftQ(NETWORK, Chain(1, 0.1, leak=False), method="euler", hidden="zeros")
# Gates open after 20, 40, 80, 160 and 320 updates, so that some do within a run and one does not.
EACH = replace(CONTROL, chain=Chain(5, 0.1))
EIGHTH = replace(EACH, every=8)
BEFORE = replace(NETWORK, gain="before")
AGENTS = {
    "control": CONTROL,
    "every update": EACH,
    "every 8th": EIGHTH,
    "taken, gain before": replace(EACH, loss="taken", network=BEFORE),
    "taken control, gain before, other moments": replace(
        CONTROL, loss="taken", network=BEFORE, beta1=0.5, beta2=0.9, adam_epsilon=1e-2
    ),
    "no gates, no leak, three actions, a dt of its own": replace(
        EIGHTH,
        network=replace(NETWORK, outputs=3),
        chain=Chain(4, 0.1, gated=False, leak=False),
        dt=3.0,
        alpha=0.5,
        tau=0.2,
    ),
}


def experience(agent, seed=0):
    """Random transitions, every fifth of them terminal, of two tasks in turn."""
    random = np.random.default_rng(seed)
    inputs, actions = agent.network.inputs, agent.network.outputs
    steps = Transition(
        random.standard_normal((UPDATES, inputs)),
        random.integers(actions, size=UPDATES).astype(np.int32),
        random.standard_normal(UPDATES),
        np.where(np.arange(UPDATES) % 5 == 4, 0.0, 0.95),
        random.standard_normal((UPDATES, inputs)),
    )
    # float32 holds them all, so that both sides see the same numbers
    steps = jax.tree.map(lambda x: x.astype(np.float32) if x.dtype == np.float64 else x, steps)
    return np.arange(UPDATES, dtype=np.int32) // 3 % 2, steps


def cast(tree, dtype):
    return jax.tree.map(
        lambda x: jnp.asarray(x, dtype) if x.dtype.kind == "f" else jnp.asarray(x), tree
    )


@partial(jax.jit, static_argnums=0)
def run(agent, state, tasks, steps):
    def update(state, given):
        task, step = given
        wanted = soft_q.targets(agent, state, task, step)
        state, loss = soft_q.learn(agent, state, task, step, wanted)
        return soft_q.track(agent, state), loss

    return jax.lax.scan(update, state, (tasks, steps))


def leaves(tree):
    return [np.asarray(x, np.float64) for x in jax.tree.leaves(tree)]


def beakers_now(state):
    """All levels, the first beaker as the last update left it."""
    levels = leaves(beakers(state.optimizer))
    return [
        np.concatenate([w[None], u[1:]]) for w, u in zip(leaves(state.params), levels, strict=True)
    ]


def begin(agent, dtype=jnp.float32):
    """An agent in mid-life: gains of both signs, without which their place does not matter.

    Its target differs from it. Where they are the same, as at birth, the error of an action that
    was not taken is nothing but rounding, of which Adam's first steps make full ones.
    """
    random = np.random.default_rng(3)
    state = soft_q.start(agent, jax.random.key(3), RATE, dtype)

    def other(tree):
        return jax.tree.map(lambda x: jnp.asarray(random.normal(size=x.shape), x.dtype), tree)

    params = Params(state.params.weights, other(state.params.gains), other(state.params.biases))
    target = jax.tree.map(lambda p, noise: p + 0.1 * noise, params, other(params))
    return state._replace(params=params, target=target)


def oracle(agent, state):
    return reference.Agent(
        beakers_now(state),
        leaves(state.target),
        g12=agent.chain.g12,
        leak=agent.chain.leak,
        gated=agent.chain.gated,
        every=agent.every,
        dt=agent.every if agent.dt is None else agent.dt,
        learning_rate=float(np.asarray(state.learning_rate)),
        gain=agent.network.gain,
        loss=agent.loss,
        alpha=agent.alpha,
        tau=agent.tau,
        beta1=agent.beta1,
        beta2=agent.beta2,
        epsilon=agent.adam_epsilon,
    )


def errors(agent, dtype=jnp.float32, updates=UPDATES):
    """The largest difference to the oracle, by what it is in, relative to its largest value."""
    tasks, steps = experience(agent)
    tasks, steps = jax.tree.map(lambda x: x[:updates], (tasks, steps))
    state = begin(agent, dtype)
    slow = oracle(agent, state)
    before = slow.u[0][0].copy()
    expected = [slow.step(*one) for one in zip(tasks, *steps, strict=True)]
    state, losses = run(agent, state, jnp.asarray(tasks), cast(steps, dtype))
    assert np.abs(slow.u[0][0] - before).max() > 0.02  # it has learnt something
    pairs = {
        "loss": ([losses], [np.array(expected)]),
        "params": (state.params, slow.params),
        "beakers": (beakers_now(state), slow.u),
        "target": (state.target, slow.target),
        "mean": (state.optimizer.optimizer.mean, slow.m),
        "square": (state.optimizer.optimizer.square, slow.v),
    }
    assert int(soft_q.updates_made(state)) == updates
    return {name: distance(leaves(ours), theirs) for name, (ours, theirs) in pairs.items()}


def distance(ours, theirs):
    worst = 0.0
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        worst = max(worst, np.abs(one - other).max() / max(np.abs(other).max(), 1e-3))
    return worst


def assert_close(found, values, moments):
    for name, error in found.items():
        assert error < (moments if name in ("mean", "square") else values), (name, found)


@pytest.mark.parametrize("name", AGENTS)
def test_200_updates_are_the_oracle_s_in_float64(name):
    # measured: 7e-16 in values, 2e-15 in moments
    with jax.enable_x64(True):
        assert_close(errors(AGENTS[name], jnp.float64), values=1e-13, moments=1e-13)


@pytest.mark.parametrize("name", ["control", "every 8th"])
def test_200_updates_are_the_oracle_s_in_float32(name):
    # measured: 9e-7 in values, 1.1e-5 in moments, which lose digits where gradients cancel
    assert_close(errors(AGENTS[name]), values=5e-6, moments=5e-5)


def test_multirate_is_close_to_euler_over_the_whole_update():
    # measured: 8e-4 in weights, 6e-3 in beakers that move rarely, 1e-3 in moments
    agent = replace(EACH, method="multirate", chain=Chain(12, 0.1))
    found = errors(agent)
    assert found.pop("beakers") < 2e-2
    assert found.pop("params") < 3e-3
    assert_close(found, values=3e-4, moments=5e-3)


TINY = Network(inputs=1, hidden=(2,), outputs=2, tasks=1)


def tiny():
    """One input, hidden units of which the second is off, two actions."""
    params = Params(
        (jnp.array([[2.0, -1.0]]), jnp.array([[1.0, 0.0], [5.0, 5.0]])),
        (jnp.array([[0.5, 3.0]]), jnp.array([[1.0, 2.0]])),
        (jnp.array([[1.0, -1.0]]), jnp.array([[0.0, 0.5]])),
    )
    target = params._replace(biases=(params.biases[0], jnp.array([[0.25, 0.25]])))
    return params, target


def tiny_agent(loss="all"):
    agent = SoftQ(TINY, Chain(1, 0.1, leak=False), hidden="zeros", loss=loss, alpha=0.5)
    params, target = tiny()
    state = soft_q.SoftQState(params, target, agent.optimizer.init(params), jnp.float32(0.1))
    x = jnp.ones(1)
    return agent, state, Transition(x, jnp.int32(0), jnp.float32(1), jnp.float32(0.5), -0.5 * x)


@pytest.mark.parametrize("loss", ["all", "taken"])
def test_loss_and_gradient_by_hand(loss):
    # Observation 1: sums 2 + 1 = 3 and -1 - 1 = -2, so hidden units 0.5 * 3 = 1.5 and 0.
    # Network: sums 1.5 and 0 + 0.5, times gains: Q = (1.5, 1).
    # Target network: Q = (1.75, 2 * 0.25) = (1.75, 0.5).
    # Next, observation -0.5: sums -1 + 1 = 0 and 0.5 - 1 < 0, hidden 0 and 0: target Q =
    # (0.25, 0.5), V = 0.5 + 0.5 log(1 + e^(-0.5)) = 0.5 + 0.5 * 0.4740770 = 0.7370385.
    # Wanted: 1 + 0.5 * 0.7370385 = 1.3685192 for action 0, which was taken, 0.5 for action 1.
    agent, state, step = tiny_agent(loss)
    wanted = soft_q.targets(agent, state, jnp.int32(0), step)
    np.testing.assert_allclose(wanted, [1.3685192, 0.5], rtol=1e-6)
    state, value = soft_q.learn(agent, state, jnp.int32(0), step, wanted)
    # Errors -0.1314808 and -0.5: the loss is 0.0172872 + 0.25.
    expected = {"all": 0.2672872, "taken": 0.0172872}[loss]
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    # Gradient of Q: 0.2629616 and 1 (or 0). Last gains times sums: 0.2629616 * 1.5 and 1 * 0.5.
    # Last biases times gains: 0.2629616 and 2. Last weights: hidden (1.5, 0) times those.
    # Hidden unit 0: 0.2629616 * 1 + 2 * 0; its gain gets that times 3, its bias that times 0.5,
    # its weight the same times observation 1. Hidden unit 1 is off and gets nothing.
    d0, d1 = 0.2629616, {"all": 1.0, "taken": 0.0}[loss]
    gradient = Params(
        ([[0.5 * d0, 0]], [[1.5 * d0, 3 * d1], [0, 0]]),
        ([[3 * d0, 0]], [[1.5 * d0, 0.5 * d1]]),
        ([[0.5 * d0, 0]], [[d0, 2 * d1]]),
    )
    # Adam's mean after one update is a tenth of the gradient.
    jax.tree.map(
        lambda m, g: np.testing.assert_allclose(10 * m, g, rtol=2e-5, atol=1e-7),
        jax.tree.map(np.asarray, state.optimizer.optimizer.mean),
        jax.tree.map(np.array, gradient, is_leaf=lambda x: isinstance(x, list)),
    )
    # Its first step is the learning rate wherever there is a gradient.
    moved = np.asarray(state.params.weights[1]) - [[1.0, 0.0], [5.0, 5.0]]
    np.testing.assert_allclose(moved, [[-0.1, -0.1 * (d1 > 0)], [0, 0]], rtol=1e-4, atol=1e-7)


def test_the_target_follows_and_catches_up():
    agent, state, _ = tiny_agent()
    followed = soft_q.track(replace(agent, tau=0.2), state)
    np.testing.assert_allclose(followed.target.biases[1], [[0.2, 0.3]], rtol=1e-6)
    np.testing.assert_array_equal(followed.params.biases[1], state.params.biases[1])
    caught = soft_q.catch_up(state)
    jax.tree.map(np.testing.assert_array_equal, caught.target, state.params)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_a_loss_that_is_not_finite_teaches_nothing(bad):
    state = begin(EACH)
    _, steps = experience(EACH)
    step = cast(jax.tree.map(lambda x: x[0], steps), jnp.float32)
    learn = jax.jit(partial(soft_q.learn, EACH))
    after, loss = learn(state, jnp.int32(1), step, jnp.array([bad, 0.0]))
    assert not np.isfinite(loss)
    jax.tree.map(np.testing.assert_array_equal, after, state)
    assert int(soft_q.updates_made(after)) == 0
    after, loss = learn(state, jnp.int32(1), step, jnp.array([1.0, 0.0]))
    assert np.isfinite(loss)
    assert int(soft_q.updates_made(after)) == 1


def test_chains_of_the_other_task_flow_but_do_not_learn():
    agent = replace(EACH, chain=Chain(3, 0.1, gated=False))
    state = begin(agent)
    tasks, steps = experience(agent)
    after, _ = run(agent, state, jnp.zeros_like(tasks), cast(steps, jnp.float32))
    for mean in jax.tree.leaves(after.optimizer.optimizer.mean[1:]):
        np.testing.assert_array_equal(mean[1], np.zeros_like(mean[1]))
    gains = np.asarray(state.params.gains[0][1], np.float64)
    still = np.zeros((UPDATES, gains.size))
    expected = euler(3, 0.1, still, u0=[gains, 0 * gains, 0 * gains], input_first=True)
    np.testing.assert_allclose(
        beakers(after.optimizer).gains[0][:, 1], expected, rtol=1e-5, atol=1e-6
    )


N, TASKS = 6, 3
WIDE = Network(inputs=20, hidden=(60,), outputs=60, tasks=TASKS)


@pytest.fixture(scope="module")
def born():
    agent = SoftQ(WIDE, Chain(N, 0.1), hidden="linear-variance")
    state = soft_q.start(agent, jax.random.key(0), 1e-3)
    return state, beakers(state.optimizer)


def test_hidden_weights_start_with_a_variance_that_falls_linearly(born):
    state, levels = born
    share = 1 - np.arange(2, N + 1) / N
    for weights, u in zip(state.params.weights, levels.weights, strict=True):
        np.testing.assert_array_equal(u[0], weights)
        # 5 standard deviations of a mean square and of a mean
        slack, count = 5 * np.sqrt(2 / weights.size), weights.size
        np.testing.assert_allclose(np.mean(np.square(u[1:]), (1, 2)) * len(weights), share, slack)
        means = np.abs(np.mean(np.asarray(u[1:]), (1, 2))) * np.sqrt(len(weights))
        assert (means <= 5 * np.sqrt(share / count)).all()
        np.testing.assert_allclose(np.var(weights) * len(weights), 1, slack)
    deep = [np.asarray(u[1:-1]).reshape(N - 2, -1) for u in levels.weights]
    assert np.abs(np.corrcoef(np.concatenate(deep, 1)) - np.eye(N - 2)).max() < 0.08


def test_hidden_gains_and_biases_start_around_zero_with_one_over_tasks(born):
    _, levels = born
    share = (1 - np.arange(2, N + 1) / N) / TASKS
    for kind, visible in (("gains", 1.0), ("biases", 0.0)):
        rows = [np.asarray(u).reshape(N, -1) for u in getattr(levels, kind)]
        u = np.concatenate(rows, 1)
        np.testing.assert_array_equal(u[0], visible)
        count = u.shape[1]
        assert count == 120 * TASKS
        np.testing.assert_allclose(np.mean(u[1:] ** 2, 1), share, 5 * np.sqrt(2 / count))
        assert (np.abs(u[1:].mean(1)) <= 5 * np.sqrt(share / count)).all()
    assert not np.array_equal(levels.gains[0], levels.biases[0])


def test_gains_copied_changes_gains_and_biases_alone(born):
    agent = SoftQ(WIDE, Chain(N, 0.1), hidden="gains-copied")
    levels = beakers(soft_q.start(agent, jax.random.key(0), 1e-3).optimizer)
    jax.tree.map(np.testing.assert_array_equal, levels.weights, born[1].weights)
    for u in levels.gains:
        np.testing.assert_array_equal(u, np.ones_like(u))
    for u in levels.biases:
        np.testing.assert_array_equal(u, np.zeros_like(u))


@pytest.mark.parametrize("hidden", ["copy", "zeros"])
def test_other_starts(hidden):
    agent = SoftQ(TINY, Chain(4, 0.1), hidden=hidden)
    state = soft_q.start(agent, jax.random.key(0), 1e-3)
    for w, u in zip(leaves(state.params), leaves(beakers(state.optimizer)), strict=True):
        np.testing.assert_array_equal(u[0], w)
        np.testing.assert_array_equal(u[1:], np.stack([w if hidden == "copy" else 0 * w] * 3))
    jax.tree.map(np.testing.assert_array_equal, state.target, state.params)


def test_another_key_another_agent(born):
    agent = SoftQ(WIDE, Chain(N, 0.1))
    other = soft_q.start(agent, jax.random.key(1), 1e-3)
    for one, two in zip(leaves(born[1]), leaves(beakers(other.optimizer)), strict=True):
        assert not np.array_equal(one[1], two[1])
    assert not np.array_equal(born[0].params.weights[0], other.params.weights[0])


def test_beakers_awake():
    # Gates at 20, 40, 80; the fourth is the leak, which has nothing to say.
    agent = replace(CONTROL, chain=Chain(4, 0.1))
    awake = {updates: soft_q.beakers_awake(agent, updates) for updates in (0, 19, 20, 79, 80, 999)}
    assert awake == {0: 1, 19: 1, 20: 2, 79: 3, 80: 4, 999: 4}
    assert soft_q.beakers_awake(replace(agent, chain=Chain(4, 0.1, gated=False)), 0) == 4
    assert soft_q.beakers_awake(CONTROL, 10**9) == 1


def test_gates_that_ever_open_in_the_paper_s_runs():
    deep = SoftQ(NETWORK, Chain(30, 0.001625), every=64)
    online = SoftQ(NETWORK, Chain(30, 0.01))
    assert soft_q.beakers_awake(deep, 51_200_000) == 1 + 16
    assert soft_q.beakers_awake(online, 50_000_000) == 1 + 18


@pytest.mark.parametrize(
    ("hidden", "tasks", "size"),
    [
        ((400, 200), 1, 83_204),
        ((400, 200), 2, 84_408),
        ((400, 200), 3, 85_612),
        ((100, 50), 1, 5804),
    ],
)
def test_parameter_counts(hidden, tasks, size):
    network = Network(4, hidden, 2, tasks)
    params = jax.eval_shape(network.start, jax.random.key(0))
    assert network.size == sum(p.size for p in jax.tree.leaves(params)) == size


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"hidden": "random"}, ValueError, "hidden='random': unknown.*'gains-copied'"),
        ({"loss": "huber"}, ValueError, "loss='huber': unknown; choose one of 'all', 'taken'"),
        ({"alpha": 0.0}, ValueError, "alpha=0: must be above 0"),
        ({"adam_epsilon": -1.0}, ValueError, "adam_epsilon=-1: must be above 0"),
        ({"tau": 1.5}, ValueError, "tau=1.5: choose a number from 0 to 1"),
        ({"beta2": 1.0}, ValueError, "beta2=1: choose a number from 0 to below 1"),
        ({"alpha": "warm"}, TypeError, "alpha='warm': must be a number"),
        ({"every": 0}, ValueError, "every=0"),
        ({"every": 64}, ValueError, r"dt \* g12 = 6.4"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        SoftQ(**{"network": NETWORK, "chain": Chain(3, 0.1), **settings})

"""The whole update against a slow float64 version of it, and its parts by hand."""

from dataclasses import dataclass, replace
from functools import cached_property, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi import Chain, beakers
from bennafusi.agents import soft_q
from bennafusi.agents.adam import Adam
from bennafusi.agents.chains import NetworkChains
from bennafusi.agents.networks import Network, Params, Sizes
from bennafusi.agents.replay import Transition
from bennafusi.agents.soft_q import SoftQ, SoftQRule
from tests.reference import soft_q as reference
from tests.reference.euler import euler

UPDATES = 200
RATE = 1e-3
NETWORK, SIZES = Network(hidden=(13, 7)), Sizes(inputs=4, actions=2, tasks=2)
ONE = NetworkChains(n=1, g12=0.1, every=1, method="euler", hidden_start="zeros")
CONTROL = SoftQ(NETWORK, ONE)
# Gates open after 20, 40, 80, 160 and 320 updates, so that some do within a run and one does not.
EACH = replace(CONTROL, chains=replace(ONE, n=5))
EIGHTH = replace(CONTROL, chains=replace(ONE, n=5, every=8))
BEFORE = replace(NETWORK, gain="before")
TAKEN = SoftQRule(loss="taken")


@dataclass(frozen=True)
class Tight(NetworkChains):
    """Chains of several beakers that keep what they have."""

    @cached_property
    def chain(self):
        return Chain(self.n, self.g12, leak=False, gated=self.gated)


AGENTS = {
    "control": CONTROL,
    "every update": EACH,
    "every 8th": EIGHTH,
    "taken, gain before": replace(EACH, rule=TAKEN, network=BEFORE),
    "taken control, gain before, other moments": replace(
        CONTROL, rule=TAKEN, network=BEFORE, adam=Adam(b1=0.5, b2=0.9, eps=1e-2)
    ),
    "no gates, no leak, three actions, a dt of its own": SoftQ(
        NETWORK,
        Tight(4, 0.1, every=8, dt=3.0, gated=False, hidden_start="zeros", method="euler"),
        rule=SoftQRule(alpha=0.5, tau=0.2),
    ),
}


def sizes_of(agent):
    return SIZES._replace(actions=3) if isinstance(agent.chains, Tight) else SIZES


def experience(agent, seed=0):
    """Random transitions, every fifth of them terminal, of two tasks in turn."""
    random = np.random.default_rng(seed)
    inputs, actions, _ = sizes_of(agent)
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
        return soft_q.update_target(agent, state), loss

    return jax.lax.scan(update, state, (tasks, steps))


# At once: op by op it is dozens of programs.
start = jax.jit(soft_q.start, static_argnums=(0, 1), static_argnames="dtype")
levels_of = jax.jit(beakers)


def leaves(tree):
    return [np.asarray(x, np.float64) for x in jax.tree.leaves(tree)]


def beakers_now(state):
    """All levels, the first beaker as the last update left it."""
    levels = leaves(levels_of(state.optimizer))
    return [
        np.concatenate([w[None], u[1:]]) for w, u in zip(leaves(state.params), levels, strict=True)
    ]


def begin(agent, dtype=jnp.float32):
    """An agent in mid-life: gains of both signs, without which their place does not matter.

    Its target differs from it. Where they are the same, as at birth, the error of an action that
    was not taken is nothing but rounding, of which Adam's first steps make full ones.
    """
    random = np.random.default_rng(3)
    state = start(agent, sizes_of(agent), jax.random.key(3), RATE, dtype=dtype)

    def other(tree):
        return jax.tree.map(lambda x: random.normal(size=x.shape).astype(x.dtype), tree)

    params = Params(state.params.weights, other(state.params.gains), other(state.params.biases))
    target = jax.tree.map(
        lambda p, noise: np.asarray(p) + p.dtype.type(0.1) * noise, params, other(params)
    )
    return jax.tree.map(jnp.asarray, state._replace(params=params, target=target))


def oracle(agent, state):
    return reference.Agent(
        beakers_now(state),
        leaves(state.target),
        g12=agent.chain.g12,
        leak=agent.chain.leak,
        gated=agent.chain.gated,
        every=agent.chains.every,
        dt=agent.chains.every if agent.chains.dt is None else agent.chains.dt,
        learning_rate=float(np.asarray(state.learning_rate)),
        gain=agent.network.gain,
        loss=agent.rule.loss,
        alpha=agent.rule.alpha,
        tau=agent.rule.tau,
        beta1=agent.adam.b1,
        beta2=agent.adam.b2,
        epsilon=agent.adam.eps,
    )


def errors(agent, dtype=jnp.float32, updates=UPDATES):
    """The largest difference to the oracle, by what it is in, relative to its largest value."""
    tasks, steps = experience(agent)
    tasks, steps = jax.tree.map(lambda x: x[:updates], (tasks, steps))
    state = begin(agent, dtype)
    slow = oracle(agent, state)
    before = slow.u[0][0].copy()
    expected = [slow.step(*one) for one in zip(tasks, *steps[:5], strict=True)]
    state, losses = run(agent, state, jnp.asarray(tasks), cast(steps, dtype))
    assert np.abs(slow.u[0][0] - before).max() > 0.02  # it has learnt something
    pairs = {
        "loss": ([losses], [np.array(expected)]),
        "params": (state.params, slow.params),
        "beakers": (beakers_now(state), slow.u),
        "target": (state.target, slow.target),
        "mean": (state.optimizer.optimizer.mu, slow.m),
        "square": (state.optimizer.optimizer.nu, slow.v),
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
    agent = replace(EACH, chains=replace(ONE, n=12, method="multirate"))
    found = errors(agent)
    assert found.pop("beakers") < 2e-2
    assert found.pop("params") < 3e-3
    assert_close(found, values=3e-4, moments=5e-3)


TINY, TINY_SIZES = Network(hidden=(2,)), Sizes(inputs=1, actions=2)


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
    agent = SoftQ(TINY, ONE, rule=SoftQRule(loss=loss, alpha=0.5))
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
        jax.tree.map(np.asarray, state.optimizer.optimizer.mu),
        jax.tree.map(np.array, gradient, is_leaf=lambda x: isinstance(x, list)),
    )
    # Its first step is the learning rate wherever there is a gradient.
    moved = np.asarray(state.params.weights[1]) - [[1.0, 0.0], [5.0, 5.0]]
    np.testing.assert_allclose(moved, [[-0.1, -0.1 * (d1 > 0)], [0, 0]], rtol=1e-4, atol=1e-7)


def test_the_target_follows_and_catches_up():
    agent, state, _ = tiny_agent()
    followed = soft_q.update_target(replace(agent, rule=SoftQRule(tau=0.2)), state)
    np.testing.assert_allclose(followed.target.biases[1], [[0.2, 0.3]], rtol=1e-6)
    np.testing.assert_array_equal(followed.params.biases[1], state.params.biases[1])
    caught = soft_q.sync_target(state)
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
    agent = replace(EACH, chains=replace(ONE, n=3, gated=False))
    state = begin(agent)
    tasks, steps = experience(agent)
    after, _ = run(agent, state, jnp.zeros_like(tasks), cast(steps, jnp.float32))
    for mean in jax.tree.leaves(after.optimizer.optimizer.mu[1:]):
        np.testing.assert_array_equal(mean[1], np.zeros_like(mean[1]))
    gains = np.asarray(state.params.gains[0][1], np.float64)
    still = np.zeros((UPDATES, gains.size))
    expected = euler(3, 0.1, still, u0=[gains, 0 * gains, 0 * gains], input_first=True)
    np.testing.assert_allclose(
        levels_of(after.optimizer).gains[0][:, 1], expected, rtol=1e-5, atol=1e-6
    )


N, TASKS = 6, 3
WIDE, WIDE_SIZES = Network(hidden=(60,)), Sizes(inputs=20, actions=60, tasks=TASKS)
DRAWN = NetworkChains(N, 0.1, every=1)


@pytest.fixture(scope="module")
def born():
    state = start(SoftQ(WIDE, DRAWN), WIDE_SIZES, jax.random.key(0))
    return state, levels_of(state.optimizer)


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
    agent = SoftQ(WIDE, replace(DRAWN, hidden_start="gains-copied"))
    levels = levels_of(start(agent, WIDE_SIZES, jax.random.key(0)).optimizer)
    jax.tree.map(np.testing.assert_array_equal, levels.weights, born[1].weights)
    for u in levels.gains:
        np.testing.assert_array_equal(u, np.ones_like(u))
    for u in levels.biases:
        np.testing.assert_array_equal(u, np.zeros_like(u))


@pytest.mark.parametrize("hidden", ["copy", "zeros"])
def test_other_starts(hidden):
    agent = SoftQ(TINY, NetworkChains(4, 0.1, every=1, hidden_start=hidden))
    state = start(agent, TINY_SIZES, jax.random.key(0))
    for w, u in zip(leaves(state.params), leaves(levels_of(state.optimizer)), strict=True):
        np.testing.assert_array_equal(u[0], w)
        np.testing.assert_array_equal(u[1:], np.stack([w if hidden == "copy" else 0 * w] * 3))
    jax.tree.map(np.testing.assert_array_equal, state.target, state.params)


def test_another_key_another_agent(born):
    other = start(SoftQ(WIDE, DRAWN), WIDE_SIZES, jax.random.key(1))
    for one, two in zip(leaves(born[1]), leaves(levels_of(other.optimizer)), strict=True):
        assert not np.array_equal(one[1], two[1])
    assert not np.array_equal(born[0].params.weights[0], other.params.weights[0])


def test_beakers_awake():
    # Gates at 20, 40, 80; the fourth is the leak, which has nothing to say.
    four = NetworkChains(4, 0.1, every=1)
    awake = {updates: four.awake(updates) for updates in (0, 19, 20, 79, 80, 999)}
    assert awake == {0: 1, 19: 1, 20: 2, 79: 3, 80: 4, 999: 4}
    assert replace(four, gated=False).awake(0) == 4
    assert ONE.awake(10**9) == 1


def test_gates_that_ever_open_in_the_paper_s_runs():
    assert NetworkChains().awake(51_200_000) == 1 + 16
    assert NetworkChains(g12=0.01, every=1).awake(50_000_000) == 1 + 18


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
    network, sizes = Network(hidden), Sizes(inputs=4, actions=2, tasks=tasks)
    params = jax.eval_shape(partial(network.start, sizes=sizes), jax.random.key(0))
    assert network.size(sizes) == sum(p.size for p in jax.tree.leaves(params)) == size


CHAINS = partial(NetworkChains, n=3, g12=0.1, every=1)


@pytest.mark.parametrize(
    ("part", "settings", "error", "message"),
    [
        (CHAINS, {"hidden_start": "random"}, ValueError, "hidden_start='random': unknown.*'gains-"),
        (CHAINS, {"method": "rk4"}, ValueError, "method='rk4': unknown; choose 'multirate'"),
        (CHAINS, {"every": 0}, ValueError, "every=0"),
        (CHAINS, {"every": 64}, ValueError, r"dt \* g12 = 6.4"),
        (
            SoftQRule,
            {"loss": "huber"},
            ValueError,
            "loss='huber': unknown; choose 'all' or",
        ),
        (
            SoftQRule,
            {"alpha": -1.0},
            ValueError,
            "alpha=-1: must be 0, for a hard maximum",
        ),
        (SoftQRule, {"alpha": "warm"}, TypeError, "alpha='warm': must be a number"),
        (SoftQRule, {"tau": 1.5}, ValueError, "tau=1.5: choose a number from 0 to 1"),
        (Adam, {"eps": -1.0}, ValueError, "eps=-1: must be above 0"),
        (Adam, {"b2": 1.0}, ValueError, "b2=1: choose a number from 0 to below 1"),
    ],
)
def test_bad_settings_are_refused(part, settings, error, message):
    with pytest.raises(error, match=message):
        part(**settings)


@pytest.mark.parametrize("layers", ["all", "head"])
def test_a_caller_who_counts_updates_moves_the_chains_at_the_same_ones(layers):
    agent = replace(EIGHTH, chains=replace(EIGHTH.chains, layers=layers))
    tasks, steps = jax.tree.map(lambda x: x[:20], experience(agent))

    @jax.jit
    def counted(state):
        def update(state, given):
            task, step = given
            due = (soft_q.updates_made(state) + 1) % agent.chains.every == 0
            wanted = soft_q.targets(agent, state, task, step)
            state, loss = soft_q.learn(agent, state, task, step, wanted, due)
            return soft_q.update_target(agent, state), loss

        return jax.lax.scan(update, state, (tasks, steps))[0]

    asked, told = run(agent, begin(agent), tasks, steps)[0], counted(begin(agent))
    for one, other in zip(leaves(told.optimizer), leaves(asked.optimizer), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    for one, other in zip(leaves(told.params), leaves(asked.params), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("layers", ["body", "head"])
def test_chains_on_some_layers_leave_the_others_to_the_optimiser(layers):
    """Each parameter is on its own here: with a chain as with all, without as with none."""
    params = start(CONTROL, SIZES, jax.random.key(0)).params
    grads = jax.tree.map(lambda x: np.sin(7 * np.asarray(x)) + 1, params)
    ends = {}
    for name, chains in {
        "all": EACH.chains,
        "none": ONE,
        layers: replace(EACH.chains, layers=layers),
    }.items():
        optimizer = chains.around(Adam().transformation())

        @jax.jit
        def update(now, state, optimizer=optimizer):
            updates, state = optimizer.update(grads, state, now, learning_rate=jnp.float32(0.1))
            return jax.tree.map(jnp.add, now, updates), state

        now, state = params, jax.jit(optimizer.init)(params)
        for _ in range(30):  # the first gate opens after 20
            now, state = update(now, state)
        ends[name] = jax.tree.map(np.asarray, now)
    for group in Params._fields:
        for layer, mine in enumerate(getattr(ends[layers], group)):
            chained = (layer == len(NETWORK.hidden)) == (layers == "head")
            same, other = ("all", "none") if chained else ("none", "all")
            np.testing.assert_array_equal(mine, getattr(ends[same], group)[layer])
            assert (mine != getattr(ends[other], group)[layer]).any()
    held = [len(jax.tree.leaves(x)) for x in beakers(state)]
    assert held == ([2] * 3 if layers == "body" else [1] * 3)

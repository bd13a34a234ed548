"""Tiny tasks whose values are known, through the real training loop.

Each probes one piece: a network that learns a constant, discounting, seeing, acting, time-outs.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.agents import soft_q
from bennafusi.envs import named
from bennafusi.envs.control import ControlState, ControlTask
from bennafusi.training import deep_loop, deep_settings
from bennafusi.training.changes import changed
from bennafusi.training.rows import trimmed

ALPHA, GAMMA = 0.2, 0.5
BONUS = ALPHA * np.log(2)  # what two actions of equal value are worth on top of it
NEAR = 0.05


@dataclass(frozen=True)
class Probe(ControlTask):
    """One state, left after one step with reward 1."""

    max_steps: int = 500

    actions = 2
    observations = normal = (np.zeros(4, np.float32), np.ones(4, np.float32))

    def place(self, steps, noise):
        return jnp.array([1.0, 0.0, 0.0, 0.0])

    def reward(self, state, action):
        return jnp.float32(1)

    def ends(self, steps):
        return steps >= 1

    def reset(self, noise):
        zero = jnp.zeros((), jnp.int32)
        return ControlState(self.place(zero, noise), jnp.ones((), jnp.int32), zero)

    def step(self, state, action, noise):
        steps = state.steps + 1
        ended = self.ends(steps)
        after = ControlState(self.place(steps, noise), state.lives, steps)
        return after, self.reward(state, action), ended, self._is_late(steps, ended)

    def draw(self, state):
        return np.zeros((1, 1, 3), np.uint8)

    def text(self, state):
        return ""


def one_hot(place):
    return (jnp.arange(4, dtype=jnp.int32) == place).astype(jnp.float32)


@dataclass(frozen=True)
class TwoSteps(Probe):
    """Two states in a row; the reward comes at the end."""

    def place(self, steps, noise):
        return one_hot(steps)

    def reward(self, state, action):
        return state.values[1]

    def ends(self, steps):
        return steps >= 2


@dataclass(frozen=True)
class Signs(Probe):
    """The reward is what is seen: 1 or -1."""

    def place(self, steps, noise):
        return jnp.sign(noise[0] - 0.5) * jnp.ones(4)

    def reward(self, state, action):
        return state.values[0]


@dataclass(frozen=True)
class Match(Signs):
    """Action 1 is right where 1 is seen, action 0 where -1 is: reward 1 if right, -1 if wrong."""

    def reward(self, state, action):
        return state.values[0] * (2.0 * action.astype(jnp.float32) - 1.0)


@dataclass(frozen=True)
class Endless(Probe):
    """Four states in a circle, reward 1 per step, for ever."""

    def place(self, steps, noise):
        return one_hot(steps % 4)

    def ends(self, steps):
        return steps < 0


PROBES = {
    "one step": Probe(),
    "two steps": TwoSteps(),
    "signs": Signs(),
    "match": Match(),
    "endless": Endless(),
}


COMMON = {
    "tasks": tuple(PROBES),
    "gammas": (GAMMA,) * len(PROBES),
    "epochs": len(PROBES),
    "episodes": 3000,
    "max_steps": 4,
    "exploration.decay": 1.0,
    "network.hidden": (16, 8),
    "optimizer.learning_rate": 3e-3,
    "agent.alpha": ALPHA,
    "agent.tau": 0.1,
    "schedule.replay": 64,
    "chain.hidden_start": "copy",
    "chain.method": "euler",
}
# Few programs, as compiling is what takes the time; each trains on all probes, epoch by epoch.
AGENTS = {
    "control": {"chain.n": 1, "time_out": "terminal"},
    # The action that is not taken waits for its turn, so that this takes three times as long.
    "control, taken action": {
        "chain.n": 1,
        "agent.loss": "taken",
        "time_out": "bootstrap",
        "episodes": 9000,
    },
    # As long, since what Adam is still swinging about hangs on the processor's last bits.
    "benna-fusi": {
        "chain.n": 3,
        "chain.g12": 1e-4,
        "chain.gated": False,
        "time_out": "bootstrap",
        "episodes": 9000,
    },
}


@pytest.fixture(scope="module", params=AGENTS)
def trained(request):
    """The settings, and for each probe the state and the tests at the end of its epoch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(named, "TASKS", {**named.TASKS, **PROBES})
        settings = changed(
            deep_settings.DeepSettings(),
            {**deep_settings.ONLINE, **COMMON, **AGENTS[request.param]},
        )
    state, epochs = deep_loop.start(settings, 1), {}
    for probe in PROBES:
        state, tests = deep_loop.advance(settings, state, 2**30, 2**30)
        assert not bool(state.diverged)
        epochs[probe] = state, trimmed(tests)
    assert deep_loop.finished(settings, state)
    return settings, epochs


def values(trained, probe, seen):
    settings, epochs = trained
    task, rows = jnp.int32(list(PROBES).index(probe)), jnp.asarray(seen, jnp.float32)
    return np.asarray(soft_q.values(settings.learner, epochs[probe][0].agent, task, rows))


def test_a_constant_is_learnt(trained):
    np.testing.assert_allclose(values(trained, "one step", [1, 0, 0, 0]), [1, 1], atol=NEAR)


def test_later_rewards_are_discounted_and_choice_is_worth_something(trained):
    first = GAMMA * (1 + BONUS)
    q = values(trained, "two steps", np.eye(4)[:2])
    np.testing.assert_allclose(q, [[first, first], [1, 1]], atol=NEAR)


def test_what_is_seen_matters(trained):
    q = values(trained, "signs", [[1] * 4, [-1] * 4])
    np.testing.assert_allclose(q, [[1, 1], [-1, -1]], atol=NEAR)


def test_what_is_done_matters_and_tests_show_it(trained):
    q = values(trained, "match", [[1] * 4, [-1] * 4])
    np.testing.assert_allclose(q, [[-1, 1], [1, -1]], atol=NEAR)
    tests = trained[1]["match"][1]
    np.testing.assert_array_equal(tests["reward"][-50:], 1.0)
    np.testing.assert_array_equal(tests["length"], 1)
    # training acts at random, so that it is right half of the time
    assert abs(tests["training_reward"].mean()) < 0.1


def test_what_a_time_out_is_worth(trained):
    if trained[0].time_out == "bootstrap":  # Q = 1 + gamma (Q + bonus)
        q = [(1 + GAMMA * BONUS) / (1 - GAMMA)] * 4
    else:
        q = [1.0]
        for _ in range(3):
            q.insert(0, 1 + GAMMA * (q[0] + BONUS))
    expected = np.stack([q, q], 1)
    np.testing.assert_allclose(values(trained, "endless", np.eye(4)), expected, atol=NEAR)

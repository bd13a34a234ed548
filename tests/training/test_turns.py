"""Agents that take turns: who is at work in which epoch, and what becomes of those that wait."""

import jax
import numpy as np
import pytest

from bennafusi.agents import soft_q
from bennafusi.training import deep_loop, turns
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import MINIBATCH, DeepSettings

CARTPOLE, CATCHER = 0, 1
SMALL = {
    **MINIBATCH,
    "tasks": ("cartpole", "catcher", "catcher", "cartpole"),
    "gammas": (0.95, 0.99, 0.99, 0.95),
    "epochs": 4,
    "steps": 50,
    "max_steps": 20,
    "test_every": 2,
    "network.hidden": (4,),
    "schedule.replay": 512,
    "schedule.batch": 4,
    "schedule.warmup": 4,
    "schedule.every": 2,
    "chain.n": 2,
    "chain.g12": 0.1,
}


def at_switches(kind, **changes):
    """The state before the first epoch and after each."""
    settings = changed(DeepSettings(), {**SMALL, "schedule.agent_at_switch": kind, **changes})
    found = [deep_loop.start(settings, 0)]
    while not deep_loop.finished(settings, found[-1]):
        found.append(deep_loop.advance(settings, found[-1], 10**6, 10**6)[0])
    return settings, found


def alike(one, two):
    return all(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (one, two)), strict=True))


@pytest.fixture(scope="module")
def own():
    return at_switches("own")


@pytest.fixture(scope="module")
def reset():
    return at_switches("reset", **{"schedule.keep": False})


def test_each_task_has_an_agent_that_waits_while_others_are_trained(own):
    settings, states = own
    agents = [[turns.agent_of(settings, s, task) for task in (CARTPOLE, CATCHER)] for s in states]
    assert not alike(agents[0][CARTPOLE].params, agents[0][CATCHER].params), "two draws"
    trained = (CARTPOLE, CATCHER, CATCHER, CARTPOLE)
    for epoch, mine in enumerate(trained, start=1):
        before, after = agents[epoch - 1], agents[epoch]
        assert alike(before[1 - mine], after[1 - mine]), (epoch, "target, moments and beakers too")
        # The second agent for Catcher is the first one, further on.
        assert soft_q.updates_made(after[mine]) > soft_q.updates_made(before[mine])
        assert alike(after[mine], states[epoch].agent), "the one that was trained is looked at"


def test_each_agent_remembers_its_own_steps(own):
    _, states = own
    stored = [int(state.replay.stored()) for state in states]
    assert stored[2] < stored[3], "Catcher goes on with what it had"
    assert stored[4] > stored[1] + 40
    # Each step of a pole earns 1, nearly each of Catcher 0.
    rewards = np.asarray(states[4].replay.transitions.reward)[: stored[4]]
    assert set(rewards.tolist()) == {1.0}


def test_a_reset_begins_each_epoch_with_an_agent_of_its_own_draw(reset):
    settings, states = reset
    for state in states[:-1]:
        begun = deep_loop.advance(settings, state, 1, 10**6)[0]  # no update yet: nothing is stored
        assert int(soft_q.updates_made(begun.agent)) == 0
        assert int(begun.turn.whose) == int(state.epoch)
        assert alike(begun.agent.params, begun.agent.target)
        assert not alike(begun.agent.params, states[0].agent.params) or int(state.epoch) == 0
        assert int(begun.replay.stored()) <= 1
    again = at_switches("reset", **{"schedule.keep": False})[1]
    assert alike(again[-1], states[-1])


def test_one_agent_for_all_carries_nothing_more():
    settings = changed(DeepSettings(), SMALL)
    assert deep_loop.start(settings, 0).turn is None


@pytest.mark.parametrize("kind", ["reset", "own"])
def test_every_kind_of_agent_can_take_turns(kind):
    """Traced alone: an agent of another kind would not fit into the loop."""
    stream = {"schedule.kind": "stream", "schedule.replay": 1, "schedule.batch": 1}
    other = {"schedule.every": 1, "schedule.warmup": 0, "schedule.target_every": 1, "chain.n": 1}
    changes = {**SMALL, **stream, **other, "schedule.agent_at_switch": kind}
    settings = changed(DeepSettings(), changes)
    state = jax.eval_shape(lambda: deep_loop.start(settings, 0))
    after = jax.eval_shape(lambda x: turns.taken(settings, x), state)
    assert jax.tree.structure(after) == jax.tree.structure(state)

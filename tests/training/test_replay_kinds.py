"""Replays that outlive a switch in the compiled loop: whose transitions they hold and teach."""

from functools import cache

import jax
import numpy as np
import pytest

from bennafusi.agents.cascade_replay import Cascade
from bennafusi.agents.reservoir_replay import Reservoir
from bennafusi.training import deep_loop
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.schedule import Schedule

TINY = {
    "epochs": 2,
    "episodes": 30,
    "max_steps": 20,
    "network.hidden": (4,),
    "chain.n": 1,
    "schedule.replay": 100,
    "schedule.batch": 16,
    "schedule.keep": True,
}


@cache
def trained(kind):
    """The state at the switch, and near the end of the second epoch."""
    settings = changed(DeepSettings(), {**TINY, "schedule.replay_kind": kind})
    state = deep_loop.start(settings, 0)
    while int(state.epoch) == 0:
        state, _ = deep_loop.advance(settings, state, 10**6, 10**6)
    return settings, state, deep_loop.advance(settings, state, 10**6, 25)[0]


@pytest.mark.parametrize(("kind", "type_"), [("reservoir", Reservoir), ("cascade", Cascade)])
def test_both_tasks_stay_in_the_memory_and_go_on_being_learnt(kind, type_):
    settings, switch, later = trained(kind)
    memory = later.replay
    assert type(memory) is type_
    assert int(memory.stored()) == settings.schedule.replay
    numbers = np.arange(settings.schedule.replay)
    held = jax.tree.map(lambda rows: np.asarray(rows)[memory.places(numbers)], memory.transitions)
    going = held.discount > 0
    # Each task has a discount of its own, which says whose a transition is.
    np.testing.assert_allclose(held.discount[going], np.take((0.95, 0.99), held.task)[going])
    assert {0, 1} == set(held.task.tolist())
    before, after = switch.agent.params, later.agent.params
    for one, two in zip(
        (*before.gains, *before.biases), (*after.gains, *after.biases), strict=True
    ):
        moved = np.abs(np.asarray(two) - np.asarray(one)).max(axis=1)
        assert (moved > 0).all(), "gains and biases of a task that is only remembered"


def test_which_is_not_so_of_a_ring_that_is_emptied():
    settings = changed(DeepSettings(), {**TINY, "schedule.keep": False})
    assert not settings.mixed
    assert jax.eval_shape(lambda: deep_loop.start(settings, 0)).replay.transitions.task is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"replay_kind": "newest"}, "replay_kind='newest': unknown; choose 'fifo' or 'reservoir'"),
        (
            {"replay_kind": "cascade", "replay": 110},
            "replay=110 with replay_kind='cascade': 20 rings share it; choose a multiple of 20",
        ),
        (
            {"replay_kind": "reservoir", "kind": "online", "replay": 1, "batch": 1},
            "replay=1 with replay_kind='reservoir': the newest alone is learnt from",
        ),
    ],
)
def test_kinds_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**fields)

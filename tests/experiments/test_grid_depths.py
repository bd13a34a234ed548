"""What the greedy policies of a table's beakers find."""

import json

import jax
import numpy as np

from bennafusi.envs.grid import Grid
from bennafusi.experiments.grid_switch import grid_job
from bennafusi.experiments.grid_switch.grid_depths import path_lengths, record
from bennafusi.experiments.grid_switch.grid_job import GridSwitch
from bennafusi.training.changes import changed
from bennafusi.training.tabular_settings import TabularSettings

GRID = Grid(size=3)
SMALL = {"epochs": 3, "episodes": 60, "max_steps": 300, "size": 4, "chain.g12": 1e-3}


def test_shortest_ways_by_hand():
    # To the upper right corner, cell 2: first up, then right, then pick up.
    values = np.zeros((9, 5))
    values[3:, 0] = values[:2, 1] = values[2, 4] = 1
    assert path_lengths(GRID, values, goal=2) == [3, 2, 1, 4, 3, 2, 5, 4, 3]
    assert path_lengths(GRID, values, goal=6) == [None] * 9, "it picks up somewhere else"


def test_a_policy_that_walks_in_circles_or_into_walls_never_arrives():
    values = np.zeros((9, 5))
    values[2, 4] = values[0, 1] = values[1, 3] = 1  # 0 and 1 lead to each other
    found = path_lengths(GRID, values, goal=2)
    assert found == [None, None, 1, None, None, 2, None, None, 3]  # up is the first of ties


def test_a_record_has_every_goal_and_depth():
    good = np.zeros((9, 5))
    good[3:, 0] = good[:2, 1] = good[2, 4] = 1
    made = record(GRID, np.stack([np.zeros(45), good.ravel()]), epoch=2, steps=77)
    assert (made["kind"], made["epoch"], made["steps"]) == ("depths", 2, 77)
    assert made["found"] == {"upper right": [0.0, 1.0], "lower left": [0.0, 0.0]}
    assert made["length"] == {"upper right": [None, 3.0], "lower left": [None, None]}


def finish(job, state, records):
    while job.progress(state)[0] < job.progress(state)[1]:
        state, more = job.advance(state)
        records = records + more
    return state, records


def test_a_job_looks_at_every_switch_and_at_the_same_when_it_is_resumed(monkeypatch):
    monkeypatch.setattr(grid_job, "FRAMES", 2)
    off = changed(TabularSettings(), SMALL)
    on = changed(off, {"depths": True})
    job = GridSwitch(on, 1)
    _, whole = finish(job, job.initial(), [])
    looks = [r for r in whole if r["kind"] == "depths"]
    assert [look["epoch"] for look in looks] == [1, 2, 3]
    lengths = [r["steps"] for r in whole if r["kind"] == "epoch"]
    assert [look["steps"] for look in looks] == np.cumsum(lengths).tolist(), "right at the switch"
    assert looks[0]["found"]["upper right"][0] > 0.5, "the goal of the first epoch is known"
    assert looks[0]["found"]["lower left"] == [0.0] * 3, "and the other one is not"
    plain = GridSwitch(off, 1)
    _, others = finish(plain, plain.initial(), [])
    assert json.dumps([r for r in whole if r["kind"] != "depths"]) == json.dumps(others)
    state, records = job.advance(job.initial())
    saved = [np.array(x) for x in jax.tree.leaves(state)]
    other = GridSwitch(on, 1)
    state = jax.tree.unflatten(jax.tree.structure(other.initial()), saved)
    _, resumed = finish(other, state, records)
    assert json.dumps(resumed) == json.dumps(whole)

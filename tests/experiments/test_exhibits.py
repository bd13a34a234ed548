"""What a report can move: little enough, and what the records say."""

import base64
import json

import numpy as np
import pytest

from bennafusi.experiments import exhibits
from bennafusi.experiments.deep import deep_tables, play, two_task
from bennafusi.experiments.grid_switch import grid_measures
from bennafusi.results import RunData
from tests.report import made


def unpacked(packed, shape):
    words = np.frombuffer(base64.b64decode(packed["words"]), "<u2").reshape(shape)
    return packed["low"] + (packed["high"] - packed["low"]) * words / 65535


def grid_run(variant, frames):
    records = [made.values(3, 1 + place % 4, place % 4) for place in range(frames)]
    return RunData(variant, 0, records)


def test_values_are_those_of_the_records():
    run = grid_run("benna-fusi", 5)
    film = exhibits.values([run, run._replace(seed=1)])[0].data["films"]
    assert len(film) == 1, "the first seed of each agent"
    assert film[0]["epochs"] == [1, 2, 3, 4, 1]
    wanted = np.array([record["values"] for record in run.records])
    np.testing.assert_allclose(unpacked(film[0]["values"], film[0]["shape"]), wanted, atol=1e-4)


def test_many_frames_are_thinned():
    data = exhibits.values([grid_run("control", 5000)])[0].data
    assert data["films"][0]["shape"][0] == exhibits.MOST_FRAMES
    assert len(json.dumps(data)) < 30_000


def test_levels_are_those_of_the_records():
    run = RunData("benna-fusi", 0, [made.levels(epoch) for epoch in range(5)])
    film = exhibits.beakers([run], {"benna-fusi": [10.0, 40.0]})[0].data["films"][0]
    assert film["timescales"] == [10.0, 40.0]
    assert film["tasks"] == [None, "cartpole", "catcher", "cartpole", "catcher"]
    names = [(one["part"], one["name"]) for one in film["choices"][:3]]
    assert names == [
        ("weights, layer 1", "whole layer"),
        ("weights, layer 1", "from 2, unit 3"),
        ("weights, layer 2", "whole layer"),
    ]
    wanted = [record["parts"][0]["levels"][0] for record in run.records]
    np.testing.assert_allclose(unpacked(film["choices"][1], (5, 5)), wanted, atol=1e-4)


def test_runs_that_have_none():
    runs = [RunData("benna-fusi", 0, [made.switch(0, True)])]
    assert exhibits.values(runs) == []
    assert exhibits.beakers(runs, {}) == []
    assert exhibits.seeds([]) == []
    assert play.exhibit([]) == []


def test_seeds_of_the_grid():
    records = [
        {"kind": "epoch", "epoch": e, "first_reward": 10, "relearning_steps": None, "steps": 50}
        for e in (1, 2)
    ]
    runs = [RunData("control", seed, records) for seed in (0, 1)]
    charts = exhibits.seeds(grid_measures.tables(runs))[0].data["charts"]
    assert [chart["title"] for chart in charts] == [
        "Steps to the first reward",
        "Steps to a good policy",
    ]
    assert charts[0]["lines"][1] == {
        "variant": "control",
        "seed": 1,
        "x": [1, 2],
        "y": [10.0, 10.0],
    }
    assert charts[1]["lines"][0]["y"] == [None, None], "never"


def test_seeds_of_deep_agents():
    records = [made.switch(0, False)]
    for epoch, task in ((1, "cartpole"), (2, "catcher")):
        records += [made.test(epoch, episode, task, 0) for episode in range(2, 21, 2)]
        records.append(made.switch(epoch, False))
    charts = exhibits.seeds(deep_tables.tables([RunData("control-1e-3", 0, records)]))[0].data[
        "charts"
    ]
    assert [chart["title"] for chart in charts] == [
        "Episodes to relearn: cartpole",
        "Episodes to relearn: catcher",
        "Reward per episode: cartpole",
        "Reward per episode: catcher",
        "Test reward",
    ]


def test_who_plays():
    runs = [
        RunData(name, seed, []) for name in ("control", "benna-fusi", "other") for seed in (0, 1)
    ]
    assert [(run.variant, run.seed) for run in play.chosen(runs)] == [
        ("benna-fusi", 0),
        ("control", 0),
    ]


def test_a_network_of_another_shape_is_refused():
    job = two_task.EXPERIMENT.job_of("benna-fusi", 0, two_task.EXPERIMENT.settings("smoke"))
    with pytest.raises(ValueError, match="weights/0: is not there, or not of this network's shape"):
        play.network(job.settings, made.network(5))

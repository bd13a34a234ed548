"""What a few beakers hold over training: when it is written down, and that it is what they hold."""

import json

import numpy as np
import pytest

from bennafusi.experiments.deep import deep_job as jobs
from bennafusi.experiments.deep import deep_records, levels
from bennafusi.experiments.deep.deep_job import DeepRun
from bennafusi.runs import metrics_file
from bennafusi.synapse.readout import beakers
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings

SIZES = {"network.hidden": (4,), "epochs": 2, "episodes": 60, "max_steps": 20}
SCHEDULE = {"schedule.batch": 4, "schedule.replay": 50}
CHAIN = {"chain.n": 3, "chain.every": 2, "chain.g12": 0.1}
SETTINGS = changed(DeepSettings(), SIZES | SCHEDULE | CHAIN)


def finish(settings):
    job = DeepRun(settings, 0)
    state, records = job.initial(), []
    while job.progress(state)[0] < job.progress(state)[1]:
        state, more = job.advance(state)
        records += more
    return state, records


@pytest.fixture(scope="module")
def whole():
    return finish(SETTINGS)


def test_when_levels_are_written(whole):
    _, records = whole
    found = [record for record in records if record["kind"] == "levels"]
    assert levels.spacing(SETTINGS) == 5
    assert [record["episode"] for record in found] == list(range(0, 121, 5))
    assert [found[place]["epoch"] for place in (0, 1, 12, 13, 24)] == [0, 1, 1, 2, 2]
    assert [found[place]["task"] for place in (0, 12, 13)] == [None, "cartpole", "catcher"]
    assert [r["kind"] for r in records if r["kind"] != "test"][-3:] == [
        "levels",
        "switch",
        "plasticity",
    ]
    assert max(len(metrics_file.encode(record)) for record in found) < 2000


def test_levels_are_those_of_the_beakers(whole):
    state, records = whole
    last = [record for record in records if record["kind"] == "levels"][-1]
    kept = beakers(state.agent.optimizer)
    assert [(p["group"], p["layer"]) for p in last["parts"]] == [
        (group, layer) for group in ("weights", "gains", "biases") for layer in (1, 2)
    ]
    for part in last["parts"]:
        leaf = np.asarray(getattr(kept, part["group"])[part["layer"] - 1])
        for place, numbers in zip(part["places"], part["levels"], strict=True):
            np.testing.assert_allclose(numbers, leaf[(slice(None), *place)], rtol=1e-3)
        rms = np.sqrt((leaf.reshape(3, -1) ** 2).mean(axis=1))
        np.testing.assert_allclose(part["rms"], rms, rtol=1e-3)


def test_where_chunks_end_changes_no_record(whole, monkeypatch):
    monkeypatch.setitem(jobs.CHUNK_EPISODES, "episodic", 2)
    monkeypatch.setitem(jobs.CHUNK_STEPS, "episodic", 25)
    _, records = finish(SETTINGS)
    assert json.dumps(records) == json.dumps(whole[1])


def test_tensorboard_gets_none_of_them(whole):
    record = next(r for r in whole[1] if r["kind"] == "levels")
    assert deep_records.scalars(SETTINGS, record) == (0, {})


def test_the_control_agent_has_none():
    assert DeepRun(changed(DeepSettings(), {"chain.n": 1}), 0)._levels(None) == []

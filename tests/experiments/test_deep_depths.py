"""Looks at what the depths know: they change nothing, survive a stop, and are drawn as they are."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.envs.cartpole import CartPole
from bennafusi.experiments.deep import (
    deep_job,
    deep_records,
    depth_figure,
    depths,
    game_frames,
    play,
)
from bennafusi.experiments.deep.deep_job import DeepRun
from bennafusi.results import RunData
from bennafusi.synapse.readout import beakers
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import ONLINE, STREAM, DeepSettings
from bennafusi.training.rollout import apart, evaluate, rollouts

SMALL = {"network.hidden": (4,), "epochs": 2, "episodes": 60, "max_steps": 20}
SMALL |= {"schedule.batch": 4, "schedule.replay": 50}
SMALL |= {"chain.n": 3, "chain.every": 2, "chain.g12": 0.1}  # timescales 10, 40, 160 updates
OFF = changed(DeepSettings(), SMALL)
ON = changed(OFF, {"depths.games": 3, "depths.every": 2})


def finish(job, state, records):
    while job.progress(state)[0] < job.progress(state)[1]:
        state, more = job.advance(state)
        records = records + more
    return state, records


def whole(settings):
    job = DeepRun(settings, 0)
    return finish(job, job.initial(), [])


@pytest.fixture(scope="module")
def looked():
    return whole(ON)


def test_a_look_changes_nothing_and_adds_its_own_lines_alone(looked):
    state, records = looked
    plain, others = whole(OFF)
    jax.tree.map(np.testing.assert_array_equal, state, plain)
    rest = [record for record in records if record["kind"] not in ("depths", "games")]
    assert json.dumps(rest) == json.dumps(others)
    assert not [record for record in others if record["kind"] in ("depths", "games")]


def test_looks_come_at_switches_and_after_so_many_tests(looked):
    looks = [record for record in looked[1] if record["kind"] == "depths"]
    assert [look["episode"] for look in looks] == [0, 20, 40, 60, 80, 100, 120]
    assert [look["epoch"] for look in looks] == [0, 1, 1, 1, 2, 2, 2]
    assert [look["task"] for look in looks] == [None, *["cartpole"] * 3, *["catcher"] * 3]
    for look in looks:
        assert look["depths"] == [k for k, t in enumerate((0, 40, 160), 1) if t <= look["updates"]]
        assert look["timescales"] == [10, 40, 160][: len(look["depths"])]
        for games in look["rewards"].values():
            assert np.shape(games) == (len(look["depths"]), 3)
    assert looks[-1]["depths"] == [1, 2, 3]


def test_each_depth_plays_with_what_its_beaker_holds(looked):
    state, records = looked
    held = beakers(state.agent.optimizer)
    players = depths.networks(state.agent, [1, 2, 3])
    jax.tree.map(np.testing.assert_array_equal, players[0], state.agent.params)
    jax.tree.map(lambda a, u: np.testing.assert_array_equal(a, u[2]), players[2], held)
    last = [record for record in records if record["kind"] == "depths"][-1]
    key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(state.key)), 2**31 + 3)
    own = jax.random.fold_in(jax.random.fold_in(key, 120), 1)
    for params, games in zip(players, last["rewards"]["catcher"], strict=True):
        assert games == np.asarray(evaluate(ON, params, jnp.int32(1), own, 3)).tolist()


def test_games_are_kept_at_switches_right_behind_their_look(looked):
    records = looked[1]
    places = [place for place, record in enumerate(records) if record["kind"] == "games"]
    assert [records[place]["episode"] for place in places] == [0, 60, 120], "none in between"
    for place in places:
        look, kept = records[place - 1], records[place]
        assert look["kind"] == "depths"
        alike = ("episode", "epoch", "task", "updates", "depths")
        assert [kept[name] for name in alike] == [look[name] for name in alike]
        for task, rewards in look["rewards"].items():
            shown = [game["reward"] for game in kept["games"][task]]
            assert shown == [games[0] for games in rewards], "the first of those that were scored"


def test_a_kept_game_is_the_one_that_was_played(looked):
    state, records = looked
    last = [record for record in records if record["kind"] == "games"][-1]
    key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(state.key)), 2**31 + 3)
    lists = {"cartpole": {"x": 0, "angle": 2}, "catcher": {"column": 0, "paddle": 2, "row": 3}}
    players = depths.networks(state.agent, [1, 2, 3])
    for number, (task, columns) in enumerate(lists.items()):
        own = jax.random.fold_in(jax.random.fold_in(key, 120), number)
        for params, game in zip(players, last["games"][task], strict=True):
            whole = apart(rollouts(ON, params, jnp.int32(number), own, 3))[0]
            assert (game["steps"], game["every"]) == (whole.length, 1)
            for name, column in columns.items():
                unit = game["moves"][name]["unit"]
                held = whole.states.values[:, column]
                np.testing.assert_allclose(added_up(game, name), held, atol=0.56 * unit)
            np.testing.assert_array_equal(added_up(game, "totals"), whole.returns)
            assert [("left", "right").index(a) for a in words(game)] == whole.actions.tolist()


def added_up(game, name):
    runs = [run if isinstance(run, list) else [run, 1] for run in game["moves"][name]["runs"]]
    changes = [change for change, times in runs for _ in range(times)]
    return game["moves"][name]["unit"] * np.cumsum(changes)


def words(game):
    assert game["actions"][0] == "-", "before the first step nothing was done"
    return [{"l": "left", "r": "right"}[letter] for letter in game["actions"][1:]]


def test_a_kept_game_is_small_however_long_it_was():
    steps = np.arange(20_001)
    x, angle = 2 * np.sin(steps / 7), 0.2 * np.sin(steps / 3)
    drawn = {"kind": "cartpole", "x": x, "angle": angle, "totals": steps, "actions": "-" * 20_001}
    game = game_frames.packed(drawn)
    assert game["every"] == 80
    assert len(added_up(game, "x")) == len(game["actions"]) == 251
    np.testing.assert_allclose(added_up(game, "x"), x[::80], atol=0.0051)
    assert added_up(game, "totals")[-1] == game["steps"] == 20_000
    assert len(json.dumps({**game, "reward": 20_000})) < 4_000


def test_the_games_of_a_long_run_are_those_of_some_switches():
    for epochs in (1, 2, 24, 25, 40, 320, 10_000):
        kept = [epoch for epoch in range(epochs + 1) if game_frames.kept_at(epochs, epoch)]
        assert kept[0] == 0
        assert kept[-1] == epochs, "the last one"
        assert len(kept) <= game_frames.MOST_SWITCHES + 2
        if epochs <= game_frames.MOST_SWITCHES:
            assert kept == list(range(epochs + 1)), "all of them"


def test_tasks_without_a_picture_keep_no_games(looked, monkeypatch):
    monkeypatch.setattr(depths, "ControlTask", CartPole)
    kept = depths.records(ON, looked[0], 120, keep=True)[1]
    assert list(kept["games"]) == ["cartpole"]
    monkeypatch.setattr(depths, "ControlTask", str)
    (look,) = depths.records(ON, looked[0], 120, keep=True)
    assert look["kind"] == "depths"


def test_tasks_with_a_program_each_are_looked_at():
    """One that can be drawn, and one of gymnax, which takes a key and has a state of its own."""
    pytest.importorskip("gymnax")
    tasks = {"tasks": ("gymnax/CartPole-v1", "cartpole"), "gammas": (0.95, 0.95)}
    job = DeepRun(changed(ON, tasks), 0)
    look, kept = job._depths(job.initial(), keep=True)
    assert np.shape(look["rewards"]["gymnax/CartPole-v1"]) == (1, 3)
    assert np.isfinite(look["losses"]).all()
    (game,) = kept["games"].pop("cartpole")
    assert game["reward"] == look["rewards"]["cartpole"][0][0]
    assert kept["games"] == {}


def test_the_network_of_each_depth_plays_for_a_report(looked):
    played = play.of_depths(ON, looked[0], "benna-fusi", 0, 120)
    assert played["time"] == 120
    assert [(one["depth"], one["task"]) for one in played["episodes"]] == [
        (depth, task) for depth in (1, 2, 3) for task in ("Cart-Pole", "Catcher")
    ]
    key = jax.random.fold_in(jax.random.key(0), 0)
    for depth, params in enumerate(depths.networks(looked[0].agent, [1, 2, 3]), start=1):
        alone = rollouts(ON, params, jnp.int32(0), key, 1)  # with the run's own settings
        one = played["episodes"][2 * (depth - 1)]
        assert one["totals"][-1] == float(alone.total[0])
        np.testing.assert_allclose(one["x"][1], alone.states.values[0, 1, 0], atol=1e-3)


def test_a_run_that_is_stopped_anywhere_looks_at_the_same(looked, monkeypatch):
    monkeypatch.setitem(deep_job.CHUNK_EPISODES, "episodic", 7)
    job = DeepRun(ON, 0)
    state, records = job.initial(), []
    for _ in range(6):
        state, more = job.advance(state)
        records += more
    saved = [np.array(x) for x in jax.tree.leaves(state)]
    job = DeepRun(ON, 0)
    state = jax.tree.unflatten(jax.tree.structure(job.initial()), saved)
    state, records = finish(job, state, records)
    assert json.dumps(records) == json.dumps(looked[1])
    jax.tree.map(np.testing.assert_array_equal, state, looked[0])


def test_games_are_no_curves(looked):
    kept = next(record for record in looked[1] if record["kind"] == "games")
    assert deep_records.scalars(ON, kept) == (0, {})


def test_a_control_agent_has_no_depths():
    job = DeepRun(changed(ON, {"chain.n": 1}), 0)
    assert job._depths(None) == []


def test_the_figure_shows_means_by_depth_and_time(looked, tmp_path):
    run = RunData("benna-fusi", 0, looked[1])
    found = depth_figure.measured(run)
    looks = [record for record in looked[1] if record["kind"] == "depths"]
    for task in ("cartpole", "catcher"):
        table = found.rewards[task]
        assert table.shape == (3, 7)
        assert np.isnan(table[1:, 0]).all(), "no depth is reached before the first update"
        for place, look in enumerate(looks):
            means = np.mean(look["rewards"][task], axis=1)
            np.testing.assert_allclose(table[: len(means), place], means)
    panels = depth_figure.painted(found).axes[:2]
    for axes, (task, table) in zip(panels, found.rewards.items(), strict=True):
        (mesh,) = axes.collections
        np.testing.assert_array_equal(np.ma.filled(mesh.get_array(), np.nan), table)
        assert mesh.get_coordinates()[0, 1:, 0].tolist() == [0, 20, 40, 60, 80, 100, 120]
        bars = [line.get_xdata().tolist() for line in axes.lines if line.get_linewidth() == 4]
        assert bars == ([[0.0, 60.0]] if task == "cartpole" else [[60.0, 120.0]])
    assert found.switches == [(60.0, "cartpole"), (120.0, "catcher")]
    assert found.recalls == []
    back = {"kind": "recall", "episode": 60, "task": "catcher"}
    more = [*looked[1], {**back, "depth": 3}, {**back, "depth": 1}]
    marked = depth_figure.measured(RunData("recall", 0, more))
    rings = [
        [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == "o"]
        for axes in depth_figure.painted(marked).axes[:2]
    ]
    assert rings == [[], [[[60.0, 3.0]]]], "in the panel of the task that begins"
    picture = depth_figure.depths([RunData("control", 0, []), run], tmp_path)
    assert picture.path.exists()
    assert "benna-fusi, seed 0" in picture.caption
    assert depth_figure.depths([RunData("control", 0, looks[:1])], tmp_path) is None


@pytest.mark.parametrize(
    "kind",
    [
        {**ONLINE, **STREAM, "tasks": ("cartpole",), "gammas": (0.95,), "epochs": 1},
        {"network.permanent": True, "chain.n": 1},
    ],
    ids=["stream", "permanent"],
)
def test_agents_without_beakers_can_be_watched(kind):
    settings = changed(OFF, {**kind, "network.hidden": (4,), "episodes": 60})
    state = DeepRun(settings, 0).initial()
    params = play.held(settings, state, "cartpole", 1)
    jax.tree.map(np.testing.assert_array_equal, params, state.agent.params)
    (episode,) = play.episodes(settings, params, "cartpole", 0, 1)
    assert int(episode.length) > 0

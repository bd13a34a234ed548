"""What a report can move: little enough, and what the records say."""

import base64
import json

import numpy as np
import pytest

from bennafusi.experiments import depth_films, exhibits, statistics
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
    assert play.exhibit([], "") == []
    assert depth_films.depths(runs, {}, {}) == []
    assert exhibits.profiles([]) == []


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
    assert [(chart["title"], chart.get("task")) for chart in charts] == [
        ("Episodes to relearn", "Cart-Pole"),
        ("Episodes to relearn", "Catcher"),
        ("Reward per episode", "Cart-Pole"),
        ("Reward per episode", "Catcher"),
        ("Test reward", None),
    ]


def test_who_plays():
    names = ("control", "benna-fusi", "other", "third")
    runs = [RunData(name, seed, []) for name in names for seed in range(4)]
    summary = statistics.summary([("control", {"a": 1.0}), ("other", {"a": 3.0}), ("third", {})])
    shown, strongest = play.chosen(runs, summary)
    assert list(dict.fromkeys(run.variant for run in shown)) == [
        "benna-fusi",
        "other",
        "control",
        "third",
    ]
    assert strongest == "other"
    assert [run.seed for run in shown][:4] == [0, 1, 2, 0], "three seeds of each"
    many = [RunData(f"control-{number}", 0, []) for number in range(20)]
    few = [run.variant for run in play.chosen([*many, *runs], summary)[0]]
    assert len(set(few)) == play.MOST_AGENTS
    assert few[0] == "benna-fusi"
    assert play.chosen(many[:1], None) == (many[:1], "")


def test_depths_are_those_of_the_records():
    run = RunData("benna-fusi", 3, [made.depths(epoch) for epoch in range(5)])
    (exhibit,) = depth_films.depths([run], {}, {("benna-fusi", 3): {"time": 80, "episodes": []}})
    (film,) = exhibit.data["films"]
    assert film["times"] == [0, 20, 40, 60, 80]
    assert film["trained"] == ["", "Cart-Pole", "Catcher", "Cart-Pole", "Catcher"]
    assert film["timescales"] == [10.0, 40.0, 160.0]
    cartpole, catcher = film["panels"]
    assert (cartpole["task"], catcher["task"]) == ("Cart-Pole", "Catcher")
    # Depth k is reached from epoch k - 1 on; it earns 10 epoch + k in Cart-Pole, -k in Catcher.
    assert cartpole["values"] == [
        [1.0, 11.0, 21.0, 31.0, 41.0],
        [None, 12.0, 22.0, 32.0, 42.0],
        [None, None, 23.0, 33.0, 43.0],
    ]
    assert film["played"] == {"time": 80, "episodes": []}
    assert exhibit.caption.startswith(
        "At the last look at benna-fusi, seed 3 (episode 80; mean reward): Cart-Pole: the network "
        "itself has 41, u3 has 43; Catcher: the network itself has -1, no depth has more."
    )


def test_a_cell_has_the_game_that_was_kept_of_it():
    looks = [made.depths(epoch) for epoch in range(5)]
    kept = {epoch: made.games(epoch) for epoch in (1, 4)}
    records = [one for look in looks for one in (look, kept.get(look["epoch"])) if one]
    run = RunData("benna-fusi", 3, records)
    cartpole, catcher = depth_films.depths([run], {}, {})[0].data["films"][0]["panels"]
    for panel, task in ((cartpole, "cartpole"), (catcher, "catcher")):
        early, last = kept[1]["games"][task], kept[4]["games"][task]
        assert panel["games"] == [None, early, None, None, last]
        assert (len(early), len(last)) == (2, 3), "as many as there were depths"
    assert [game["reward"] for game in cartpole["games"][4]] == [41, 42, 43], "as in the column"
    assert depth_films.shows_its_end(run)
    older = run._replace(records=looks)
    (film,) = depth_films.depths([older], {}, {})[0].data["films"]
    assert [panel["games"] for panel in film["panels"]] == [[None] * 5] * 2
    assert not depth_films.shows_its_end(older)
    assert not depth_films.shows_its_end(run._replace(records=records[:-1])), "of its last look"
    many = [run._replace(seed=seed) for seed in range(6)]
    films = depth_films.depths(many, {}, {})[0].data["films"]
    shown = [any(film["panels"][0]["games"]) for film in films]
    assert shown == [True] * depth_films.MOST_PLAYED + [False] * 2


def test_depths_of_the_grid_are_the_same_thing():
    shares = {"upper right": [1.0, 0.5], "lower left": [0.0, 0.25]}
    looks = [{"kind": "depths", "epoch": e, "steps": 100 * e, "found": shares} for e in (1, 2)]
    (exhibit,) = depth_films.depths([RunData("a", 0, looks)], {"a": [5.0, 20.0]}, {})
    (film,) = exhibit.data["films"]
    assert film["trained"] == ["upper right", "lower left"]
    assert film["panels"][1]["values"] == [[0.0, 0.0], [0.25, 0.25]]
    assert (film["timescales"], film["played"]) == ([5.0, 20.0], None)


def test_profiles_count_runs():
    scored = [("a", {"reward": x}) for x in (1.0, 2.0, 3.0, 40.0)]
    scored += [("b", {"reward": float("inf")}), ("b", {"reward": 2.0}), ("c", {"reward": np.nan})]
    (exhibit,) = exhibits.profiles(scored)
    (measure,) = exhibit.data["measures"]
    assert measure["levels"][1:-1] == [1.0, 2.0, 3.0, 40.0]
    first, second = measure["agents"]
    assert first["share"] == [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    assert (first["mean"], first["middle"]) == (11.5, 2.5)
    assert first["interval"][0] <= 2.5 <= first["interval"][1]
    assert second["share"] == [1.0, 1.0, 0.5, 0.5, 0.5, 0.5], "never is above every number"
    assert (second["mean"], second["interval"]) == (None, None)


def test_profiles_as_a_table():
    scored = [("a", {"reward": x, "late": np.nan}) for x in (3.0, 1.0, float("inf"), 3.0)]
    scored += [("b", {"reward": 1.0}), ("b", {"reward": 2.0}), ("b", {"reward": np.nan})]
    (table,) = statistics.profiles(scored)
    assert (table.name, table.columns[3:]) == ("profiles", ("number", "share above"))
    assert table.rows == [
        ("a", "reward", 4, 1.0, 0.75),
        ("a", "reward", 4, 3.0, 0.25),
        ("a", "reward", 4, float("inf"), 0.0),
    ], "two seeds have no profile, and what is not known is none"
    never = [("a", {"steps": float("inf")})] * 3
    assert statistics.profiles(never)[0].rows == [("a", "steps", 3, float("inf"), 0.0)]
    assert statistics.profiles(scored[4:]) == statistics.profiles([]) == []


def test_what_came_out_in_words():
    scored = [(f"a{n}", {"reward": float(n), "reward late": 1e6, "seconds": 1.0}) for n in range(7)]
    found = statistics.told(statistics.summary(scored), ("reward",))
    assert found[0] == "reward: 0 (a0), 1 (a1), 2 (a2); the 4 others from 3 to 6"
    assert found[1].startswith("reward late: 1,000,000 (a0)")
    assert len(found) == 2
    never = [("a", {"steps": float("inf")}), ("b", {"steps": float("nan")})]
    assert statistics.told(statistics.summary(never), ("steps",)) == ["steps: never (a)"]


def test_captions_tell_this_run():
    """What each table has in the corner of the other goal, of its own highest value."""
    values = [[[0.0, 1.0], [0.2 * k, 0.0]] for k in (1, 2)]  # the goal is upper right
    records = [{"kind": "values", "steps": 9, "epoch": 3, "values": values}]
    caption = exhibits.values([RunData("benna-fusi", 0, records)])[0].caption
    assert "stands at 20% in V1, 40% in V2 of the highest value" in caption


def test_a_network_of_another_shape_is_refused():
    job = two_task.EXPERIMENT.job_of("benna-fusi", 0, two_task.EXPERIMENT.settings("smoke"))
    with pytest.raises(ValueError, match="weights/0: is not there, or not of this network's shape"):
        play.network(job.settings, made.network(5))

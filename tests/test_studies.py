"""The programs behind explanations in docs/results.md."""

import csv
import importlib.util
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bennafusi.agents import q_lambda
from bennafusi.experiments.deep import deep_tables
from bennafusi.report.results_folder import as_csv
from bennafusi.results import RunData
from tests.experiments.test_deep_tables import visits
from tests.promotion import standard_promotion

STUDIES = Path(__file__).parents[1] / "docs" / "studies"


def study(name):
    spec = importlib.util.spec_from_file_location(name, STUDIES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stall():
    return study("grid_stall")


@pytest.fixture(scope="module")
def digits():
    return study("digits_retention")


def test_a_pair_without_inflow_drains_by_the_leak_alone(stall):
    agent = stall.settings_of("modified").learner
    assert stall.fading(agent, 0.0, visited=False) == pytest.approx(1e-5 / 4 / 4)


def test_a_plain_pair_drains_as_its_matrix_by_hand(stall):
    agent = stall.settings_of("benna-fusi").learner
    # Tubes 1e-5, 5e-6, 2.5e-6 (the leak) between areas 1, 2, 4.
    held = np.array([[-(5e-6 + 2.5e-6), 2.5e-6], [1.25e-6, -(1.25e-6 + 6.25e-7)]])
    assert stall.fading(agent, 1.0, visited=True) == pytest.approx(-np.linalg.eigvals(held).max())
    assert stall.fading(agent, 1.0, visited=False) < stall.fading(agent, 1.0, visited=True) / 4


@pytest.mark.parametrize("variant", ["modified", "benna-fusi"])
def test_the_mean_system_of_one_step_is_that_step(stall, variant):
    agent = stall.settings_of(variant).learner
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), 3)
        levels = tuple(jax.random.uniform(key, (500,), jnp.float64) for key in keys)
        table = q_lambda.TableState(levels, jnp.zeros(500))
        here, there, action = jnp.int32(42), jnp.int32(43), jnp.int32(2)
        best = 43 * 5 + int(jnp.argmax(q_lambda.values(agent, table, there)))
        after = q_lambda.learn(
            agent, table, here, action, jnp.float64(0), jnp.float64(0.9), there, jnp.bool_(True)
        )
    walk = stall.Walk(np.array([42 * 5 + 2]), np.array([best]), np.array([True]))
    matrix, mean = stall.system(agent, walk, modulated=variant == "modified")
    assert mean[42 * 5 + 2] == mean.sum() == 1
    change = np.concatenate(after.levels) - np.concatenate(levels)
    # The flow sees the weight after the update: a product of two small numbers apart.
    np.testing.assert_allclose(matrix @ np.concatenate(levels), change, rtol=0, atol=1e-7)
    assert np.abs(change).max() > 5e-4


def test_readouts_are_chosen_on_some_seeds_and_compared_on_others(digits):
    def made(tuning, judging):
        rows = {"10": [[0.0, *tuning[0]]], "100": [[0.0, *tuning[1]]]}
        then = {"10": [[0.0, *judging[0]]] * 5, "100": [[0.0, *judging[1]]] * 5}
        return digits.Chosen("", 0.1, ("weight", "one", "two"), rows, then)

    mine = made([(0.9, 0.8), (0.5, 0.7)], [(0.8, 0.8), (0.6, 0.6)])
    other = made([(0.9, 0.1), (0.1, 0.2)], [(0.7, 0.1), (0.9, 0.5)])
    found = digits.compared(mine, other)
    assert found["fixed"] == ["two", "one"]
    assert found["gap of the fixed ones over all rhythms"] == pytest.approx([-0.1] * 3)
    assert found["each"] == {"10": ["one", "one"], "100": ["two", "two"]}
    assert found["gap of those for each rhythm, mean"] == pytest.approx([0.1] * 3)


def test_averages_of_plain_weights_by_hand(digits):
    learner = digits.of_averages()
    weight, grad = {"w": jnp.ones((1, 2))}, {"w": jnp.full((1, 2), 3.0)}
    state, after = learner.update(0.1, grad, learner.start(0.1, weight), weight)
    shown = np.asarray(learner.read(state, after)["w"])[:, 0, 0]
    expected = [0.7, *(1 - 0.3 / t for t in digits.AVERAGES)]
    np.testing.assert_allclose(shown, expected, rtol=1e-6)
    assert len(shown) == len(learner.names)


def test_a_depth_that_kept_a_task_had_it_before():
    kept = study("depths_kept")
    records = []
    # Beakers 1 and 2 play what was just trained; beaker 3 plays Cart-Pole from its first epoch on.
    for epoch, task in ((1, "cartpole"), (2, "catcher"), (3, "cartpole")):
        records.append({"kind": "switch", "epoch": epoch, "task": task})
        games = {
            name: [[full if name == task else 0.0] * 2] * 2 + [[deep] * 2]
            for name, full, deep in (("cartpole", 500.0, 250.0), ("catcher", 14.0, 4.9))
        }
        look = {"kind": "depths", "epoch": epoch, "task": task, "depths": [1, 2, 3]}
        records.append(look | {"rewards": games})
    every = kept.found([RunData("benna-fusi", 10, records)])
    assert [(back.task, back.then["epoch"], back.now["epoch"]) for back in every] == [
        ("cartpole", 1, 2),
        ("catcher", 2, 3),
    ]
    # Kept, lost, new, neither.
    assert kept.kept(every) == {
        ("cartpole", 1): [0, 1, 0, 0],
        ("cartpole", 2): [0, 1, 0, 0],
        ("cartpole", 3): [1, 0, 0, 0],
        ("catcher", 1): [0, 1, 0, 0],
        ("catcher", 2): [0, 1, 0, 0],
        ("catcher", 3): [0, 0, 0, 1],
    }


@pytest.fixture(scope="module")
def averages():
    return study("online_average")


def test_moving_averages_forget_their_start(averages):
    found = averages.Averages({"w": np.zeros(2, np.float32)}, (10, 1000))
    first, second = (np.array(x, np.float32) for x in ([1.0, 2.0], [3.0, -2.0]))
    found.add({"w": first}, 5)
    for tree in found.trees():
        np.testing.assert_allclose(tree["w"], first, rtol=1e-6)  # nothing else has been seen
    found.add({"w": second}, 10)
    kept, new = (1 - np.exp(-0.5)) * np.exp(-1.0), 1 - np.exp(-1.0)
    expected = (kept * first + new * second) / (kept + new)
    np.testing.assert_allclose(found.trees()[0]["w"], expected, rtol=1e-5)


def test_the_average_is_chosen_on_some_seeds_and_judged_on_others(averages, tmp_path):
    def write(rate, seed, numbers, looks=100):
        rows = [{"episode": 1000 * (k + 1), "rewards": numbers} for k in range(looks)]
        (tmp_path / f"online-average-{rate}-{seed}.json").write_text(json.dumps(rows))

    for seed in averages.CHOOSING:  # the weights, which are no average, do not count
        write("1e-3", seed, [500, 0, 0, 300, 0, 0])
        write("1e-4", seed, [10, 0, 310, 20 * seed, 0, 0])
    for seed in averages.JUDGING[:-1]:
        write("1e-4", seed, [seed, 0, 400 + seed, 0, 0, 0])
    write("1e-4", averages.JUDGING[-1], [1, 1, 1, 1, 1, 1], looks=90)  # it diverged
    found = averages.judge(tmp_path)
    assert (found["rate"], found["timescale"]) == ("1e-4", 102_400)
    assert found["average"] == {13: 413, 14: 414, 15: 0}
    assert found["weights"] == {13: 13, 14: 14, 15: 0}


@pytest.fixture(scope="module")
def returning():
    return study("returning_rivals")


def test_everybody_has_as_many_points_as_it_takes(returning):
    counts = {name: len(s) * len(r) for name, (s, r) in _grids(returning).items()}
    assert set(counts.values()) == {15, 12}
    # b1 = 1 - 5 is refused.
    assert [name for name, count in counts.items() if count == 12] == ["schedule-free"]
    assert {"mas", "redo"}.isdisjoint(counts), "they need more than the gradient"
    assert returning.grid("benna-fusi")[0] == (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def _grids(returning):
    return {name: returning.grid(name) for name in returning.COMPARED}


def test_points_are_chosen_on_some_seeds_and_judged_on_others(returning):
    def made(name, points, seeds):
        if seeds == returning.TUNING:  # fewest at the second strength and the last rate
            return np.array([[10.0 + (s != 1e-4) + (r != 3e-2)] * len(seeds) for s, r in points])
        assert points == [(1e-4, 3e-2)]
        return np.array([[float(seed) for seed in seeds]])

    one = returning.tuned("benna-fusi", made)
    assert (one["strength"], one["rate"], one["tuning"]) == (1e-4, 3e-2, 10.0)
    assert one["at an edge of the grid"], "the last rate"
    assert one["updates"] == [float(seed) for seed in range(20, 30)]
    found = {"a": one, "b": {"updates": [x + 2.0 for x in one["updates"]]}}
    assert returning.against(found, "a") == {"a": [0.0] * 3, "b": [2.0] * 3}
    drawn = returning.draw(found).axes[0]
    assert [label.get_text() for label in drawn.get_yticklabels()] == ["b", "a"]


def test_updates_to_relearn_by_hand(returning):
    right = np.array([[[0.1], [0.95], [0.2]], [[0.9], [0.0], [0.0]], [[0.0], [0.5], [0.8]]])
    np.testing.assert_allclose(returning.digits.relearning(right), [(1 + 0 + 3) / 3])


def test_methods_that_read_other_weights_do_so(returning, monkeypatch):
    """Two networks of each kind, three visits of ten updates: all run, and they differ."""
    for name, size in (("VISITS", 3), ("LATER", 0)):
        monkeypatch.setattr(returning.digits, name, size)
    with standard_promotion():
        found = {n: returning.updates(n, [(0.1, 1e-2)], range(2), 10) for n in ("control", "ema")}
    assert found["control"].shape == (1, 2)
    assert (found["ema"] != found["control"]).any()


def test_points_of_one_rhythm_are_asked_at_all_others():
    rhythms = study("returning_rhythms")
    asked = []

    def made(name, points, seeds, visit):
        asked.append((name, points[0], visit))
        return np.array([[visit + (name == "control") for _ in seeds]], float)

    found = rhythms.compared(made)
    assert {at for name, at, _ in asked if name == "benna-fusi"} == {(0.1, 0.03)}
    assert [visit for name, _, visit in asked if name == "control"] == list(rhythms.RHYTHMS)
    assert found["300"]["against benna-fusi"]["control"] == [1.0] * 3
    assert found["300"]["against control"]["online-ewc"] == [-1.0] * 3
    drawn = rhythms.draw(found).axes[0]
    lines = {line.get_label(): line.get_ydata() for line in drawn.get_lines()}
    assert list(lines["control"]) == [visit + 1 for visit in rhythms.RHYTHMS]
    assert set(lines) == set(rhythms.COMPARED)


def test_every_cell_of_epsilon_is_drawn(tmp_path, capsys):
    cells = study("epsilon_cells")
    every = [run for name in cells.FOLDERS for run in cells.runs(cells.RESULTS / name)]
    pairs = {(run.agent, run.epsilon) for run in every}
    assert len(pairs) == 5 * 4
    assert len(every) == 3 * len(pairs) - 2, "two diverged"
    kept = [r.reward for r in every if (r.agent, r.epsilon) == ("control-1e-4", 1e-4)]
    assert [round(reward) for reward in kept] == [494, 494, 500]
    cells.main(tmp_path)
    assert capsys.readouterr().out.startswith("58 runs; Left, the cause")
    assert (tmp_path / "cause-and-effect.png").stat().st_size > 10_000


def test_every_set_of_open_choices_is_drawn_with_all_its_seeds(tmp_path, capsys):
    choices = study("open_choices")
    found = choices.scores()
    assert len(found) == 17
    # One seed of -0.2 in Catcher, which counts as 0, and a mean of 3.89 over two more.
    assert found["default"]["catcher"] == pytest.approx(2 / 3 * 0.389)
    choices.main(tmp_path)
    said = capsys.readouterr().out
    assert "loss of the one taken cartpole -0.68 catcher -0.33" in said
    assert (tmp_path / "choices.png").stat().st_size > 10_000


def test_measures_of_a_stored_page_are_those_of_its_runs(tmp_path):
    stored = study("stored_measures")
    run = visits()
    written = {table.name: table for table in deep_tables.tables([run])}
    for name in ("switches", "epochs"):
        (tmp_path / f"{name}.csv").write_text(as_csv(written[name]))
    switches, epochs = (stored.rows(tmp_path / f"{name}.csv") for name in ("switches", "epochs"))
    found = stored.kept(switches["benna-fusi", 0], epochs["benna-fusi", 0])
    own = deep_tables.scores(run)
    assert len(found) == 9
    np.testing.assert_allclose([own[name] for name in found], list(found.values()))


def test_what_figure_4_keeps_stands_beside_its_page():
    stored = study("stored_measures")
    numbers = Path(__file__).parents[1] / "results/paper/two-task-judged/numbers"
    switches, epochs = (stored.rows(numbers / f"{name}.csv") for name in ("switches", "epochs"))
    with (numbers / "continual.csv").open(newline="") as file:
        there = {
            (row["variant"], int(row["seed"]), row["measure"]): float(row["number"])
            for row in csv.DictReader(file)
        }
    assert len(there) == 9 * 9
    for run in epochs:
        for name, number in stored.kept(switches[run], epochs[run]).items():
            np.testing.assert_allclose(there[*run, name], number)

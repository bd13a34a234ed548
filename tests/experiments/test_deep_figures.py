"""The figures of the deep agents, from made-up runs that look like real ones."""

import numpy as np
import pytest

from bennafusi.experiments.deep import figures
from bennafusi.experiments.deep.beaker_figure import compared
from bennafusi.experiments.deep.drawing import LEADING, OTHERS, by_visit, legend, styles
from bennafusi.results import RunData

FULL = {"cartpole": 500.0, "cartpole-long": 500.0, "catcher": 14.0}
POOR = {"cartpole": 20.0, "cartpole-long": 20.0, "catcher": -6.0}


def times(variant, seed, epochs, tasks, episodes):
    """Episodes to relearn per epoch, as the paper describes: chains get faster, controls fail."""
    rng = np.random.default_rng([seed, *variant.encode()])
    visits = np.arange(epochs) // len(tasks)
    if variant.startswith("benna-fusi"):
        found = 0.4 * episodes * np.exp(-visits / 4) + 0.05 * episodes
    else:
        found = np.full(epochs, 0.25 * episodes)
        forgets = np.array([tasks[e % len(tasks)] != "catcher" for e in range(epochs)])
        found[forgets & (visits > 0) & (rng.random(epochs) < 0.7)] = np.inf
    return found * rng.lognormal(0, 0.25, epochs)


def run(
    variant,
    seed,
    tasks=("cartpole", "catcher"),
    epochs=12,
    episodes=1000,
    n=30,
    when=None,
    every=10,
):
    """One run; ``when`` gives the episodes to relearn, one per epoch."""
    rng = np.random.default_rng([seed, *variant.encode(), 1])
    when = times(variant, seed, epochs, tasks, episodes) if when is None else when
    n = n if variant.startswith("benna-fusi") else 1
    records = [_switch(rng, tasks, 0, n, epochs, when)]
    for epoch in range(1, epochs + 1):
        task = tasks[(epoch - 1) % len(tasks)]
        at = np.arange(every, episodes + 1, every)
        scale = min(when[epoch - 1], 1e12)
        share = 0.5 + 0.5 * np.tanh((at - scale) / (0.08 * episodes))
        reward = POOR[task] + (FULL[task] - POOR[task]) * share
        noise = rng.normal(0, 0.03 * FULL[task], (2, at.size))
        reward = np.round(np.minimum(reward + noise[0], FULL[task]))
        training = np.minimum(0.8 * reward + noise[1], FULL[task])
        records += [
            {
                "kind": "test",
                "epoch": epoch,
                "episode": int(e),
                "task": task,
                "reward": float(r),
                "length": 100,
                "training_reward": float(t),
                "training_length": 90.0,
                "loss": 0.1,
                "largest": 10.0,
                "updates": 0,
                "steps": 0,
            }
            for e, r, t in zip(at, reward, training, strict=True)
        ]
        records.append(_switch(rng, tasks, epoch, n, epochs, when))
    return RunData(variant, seed, records)


def _switch(rng, tasks, epoch, n, epochs, when):
    trained = tasks[(epoch - 1) % len(tasks)] if epoch else None
    keep = 0.9 * (1 - np.exp(-epoch / 8)) if n > 1 else 0.02
    tests = {}
    for task in tasks:
        learnt = epoch and np.isfinite(when[epoch - 1])
        share = float(bool(learnt)) if task == trained else keep * (epoch >= len(tasks))
        mean = POOR[task] + (FULL[task] - POOR[task]) * share
        tests[task] = np.minimum(
            rng.normal(mean, 0.04 * FULL[task], 10).round(), FULL[task]
        ).tolist()
    deep = np.arange(n)
    reach = 4 + 0.5 * n * np.log1p(epoch) / np.log1p(epochs)
    gaps = 0.1 * (0.03 * deep + 1 / (1 + np.exp(-(deep - reach) / 2)) - 1 / (1 + np.exp(reach / 2)))
    return {
        "kind": "switch",
        "epoch": epoch,
        "task": trained,
        "tests": tests,
        "updates": epoch * 64_000,
        "steps": epoch * 500_000,
        "awake": min(n, 1 + int(np.log2(1 + epoch * 200))),
        "distances": {g: gaps.tolist() for g in ("weights", "gains", "biases")} if n > 1 else {},
    }


def several(variants=("benna-fusi", "control-1e-3", "control-1e-4"), seeds=3, **settings):
    settings = {"epochs": 6, "episodes": 400, "n": 8, **settings}
    return [run(variant, seed, **settings) for variant in variants for seed in range(seeds)]


def single(**settings):
    return several(tasks=("cartpole",), epochs=1, **settings)


def lengths():
    return [
        run(f"{agent}-{episodes}", seed, epochs=epochs, episodes=episodes, n=4)
        for episodes, epochs in ((200, 8), (400, 4))
        for agent in ("control", "benna-fusi")
        for seed in range(2)
    ]


def draw_online(runs, folder):
    return figures.online(runs, folder, "figure-5", "Figure 5", "Two agents.", 5)


THREE = ("cartpole-long", "catcher", "cartpole")
CASES = {  # how, from what, which file, and what its caption says
    "two_task": (
        figures.two_task,
        several,
        "figure-4",
        "10 test episodes reached 450 (Cart-Pole) or 10 (Catcher)",
    ),
    "three_task": (
        figures.three_task,
        lambda: several(tasks=THREE, seeds=2),
        "figure-s2",
        "450 (Cart-PoleLong), 10 (Catcher) or 450 (Cart-Pole)",
    ),
    "epoch_length": (figures.epoch_length, lengths, "figure-s1", "2 seeds per agent and length"),
    "online": (draw_online, single, "figure-5", "over 5 test episodes"),
    "beakers": (
        figures.beakers,
        several,
        "beakers",
        "benna-fusi, seed 0 and control-1e-3, seed 0",
    ),
    "beakers, compared": (compared, several, "beakers", "3 seeds per line"),
    "beakers, one task": (figures.beakers, single, "beakers", "before training and at its end"),
}


@pytest.mark.parametrize("case", CASES)
def test_three_files_that_are_the_same_each_time(case, tmp_path):
    draw, make, stem, said = CASES[case]
    first, again = (draw(make(), tmp_path / name) for name in ("a", "b"))
    assert first.path == tmp_path / "a" / f"{stem}.svg"
    for ending in ("png", "svg", "pdf"):
        one, other = ((tmp_path / name / f"{stem}.{ending}").read_bytes() for name in ("a", "b"))
        assert one == other
        assert len(one) > 5_000
    assert "<dc:date>" not in first.path.read_text()
    assert first._replace(path=None) == again._replace(path=None)
    assert "seed" in first.caption
    assert said in first.caption


@pytest.mark.parametrize("draw", [draw for draw, *_ in CASES.values()])
def test_without_data_there_is_no_drawing(draw, tmp_path):
    begun = [r._replace(records=r.records[:1]) for r in several(seeds=1)]  # before the first epoch
    assert draw([], tmp_path) is None
    assert draw([RunData("benna-fusi", 0, [])], tmp_path) is None
    assert draw(begun, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("episodes", [20, 400])  # with fewer than 10 tests, and with enough
@pytest.mark.parametrize("draw", [figures.two_task, figures.epoch_length])
def test_nobody_ever_relearns(draw, episodes, tmp_path):
    runs = several(seeds=2, episodes=episodes, when=np.full(6, np.inf))
    assert "∞" in draw(runs, tmp_path).caption


def test_one_seed_one_agent_and_one_epoch(tmp_path):
    one = several(("control",), 1, epochs=1)
    assert "1 seed per agent" in figures.two_task(one, tmp_path).caption
    assert "1 seed per agent" in draw_online(one, tmp_path).caption
    assert "thin lines" in draw_online(one, tmp_path).caption
    assert figures.epoch_length(one, tmp_path) is not None  # a name without a number
    assert figures.beakers(one, tmp_path) is None  # a control agent has none
    assert compared(one, tmp_path) is None


def test_a_run_that_lags_behind(tmp_path):
    runs = several()
    short = [r for r in runs[0].records if r["epoch"] < 3]
    runs = [runs[0]._replace(records=short), *runs[1:4], runs[-1]._replace(records=short[:30])]
    assert "1 to 3 seeds" in figures.two_task(runs, tmp_path).caption
    assert figures.beakers(runs, tmp_path) is not None
    assert "1 to 3 seeds" in draw_online(runs, tmp_path).caption


def test_a_task_that_some_have_not_reached(tmp_path):
    fast, slow = several(("benna-fusi", "control"), 1)
    slow = slow._replace(records=[r for r in slow.records if r["epoch"] < 2])
    assert "Catcher" in figures.two_task([fast, slow], tmp_path).caption


def test_lengths_that_one_agent_lacks(tmp_path):
    runs = [r for r in lengths() if r.variant != "control-400"]
    assert figures.epoch_length(runs, tmp_path) is not None


def test_beakers_that_start_as_copies_are_at_no_distance(tmp_path):
    copied = several(("benna-fusi",), 1)
    copied[0].records[0]["distances"] = dict.fromkeys(("weights", "gains", "biases"), [0.0] * 8)
    assert figures.beakers(copied, tmp_path) is not None


def test_agents_are_told_apart_without_colour():
    for row in (LEADING, OTHERS, LEADING[:1] + OTHERS):
        for trait in zip(*row, strict=True):
            assert len(set(trait)) == len(row)
    assert styles(["control", "benna-fusi"])["benna-fusi"] == styles(["default"])["default"]
    assert len(styles(["a", "b", "a"])) == 2


def test_numbers_by_visit_of_nobody():
    visits, values = by_visit([], [])
    assert visits.size == 0
    assert values == []


@pytest.mark.parametrize(("length", "columns"), [(7, 3), (24, 2), (40, 1)])
def test_a_legend_has_as_many_columns_as_fit(length, columns):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = pyplot.figure(figsize=(7, 4), layout="constrained")
    legend(figure, styles(f"agent-{i}".ljust(length, "x") for i in range(6)))
    (made,) = figure.legends
    assert made._ncols == columns, "the widest that fits"
    assert made.get_window_extent().width <= figure.bbox.width
    pyplot.close(figure)

"""The figures of the deep agents, from made-up runs that look like real ones."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from bennafusi.experiments import figure_style
from bennafusi.experiments.agent_styles import styles
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep import relearning_figure
from bennafusi.experiments.deep.beaker_figure import beakers, compared
from bennafusi.experiments.deep.curve_figure import online
from bennafusi.experiments.deep.panels import by_visit, legend
from bennafusi.experiments.deep.relearning_figure import epoch_length, relearning
from bennafusi.experiments.figure_style import whole, write
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


def draw_relearning(runs, folder):
    return relearning(runs, folder, "figure-4", "Figure 4")


def draw_online(runs, folder):
    return online(runs, folder, "figure-5", "Figure 5", "Two agents.", 5)


THREE = ("cartpole-long", "catcher", "cartpole")
CASES = {  # how, from what, which file, and what its caption says
    "two tasks": (
        draw_relearning,
        several,
        "figure-4",
        "10 test episodes reached 450 (Cart-Pole) or 10 (Catcher)",
    ),
    "three tasks": (
        draw_relearning,
        lambda: several(tasks=THREE, seeds=2),
        "figure-4",
        "450 (Cart-PoleLong), 10 (Catcher) or 450 (Cart-Pole)",
    ),
    "epoch_length": (epoch_length, lengths, "figure-s1", "2 seeds per agent and length"),
    "online": (draw_online, single, "figure-5", "over 5 test episodes"),
    "beakers": (beakers, several, "beakers", "benna-fusi, seed 0 and control-1e-3, seed 0"),
    "beakers, compared": (compared, several, "beakers", "3 seeds per line"),
    "beakers, one task": (beakers, single, "beakers", "before training and at the last look"),
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


def test_a_page_gets_what_it_shows_and_the_same_as_a_folder(tmp_path, monkeypatch):
    draw, make, stem, _ = CASES["online"]
    kept = draw(make(), tmp_path / "kept").path
    with figure_style.for_a_page():
        shown = draw(make(), tmp_path / "page").path
        monkeypatch.setattr(figure_style, "MOST_VECTORS", 3)
        draw(make(), tmp_path / "large")
    assert list(shown.parent.iterdir()) == [shown]
    assert shown.read_bytes() == kept.read_bytes()
    large = {path.name: path.read_bytes() for path in (tmp_path / "large").iterdir()}
    assert set(large) == {f"{stem}.svg", f"{stem}.png"}
    assert large[f"{stem}.png"] == kept.with_suffix(".png").read_bytes()


@pytest.mark.parametrize("draw", [draw for draw, *_ in CASES.values()])
def test_without_data_there_is_no_drawing(draw, tmp_path):
    begun = [r._replace(records=r.records[:1]) for r in several(seeds=1)]  # before the first epoch
    assert draw([], tmp_path) is None
    assert draw([RunData("benna-fusi", 0, [])], tmp_path) is None
    assert draw(begun, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def lines(axes, colour, marker=None):
    """The data of an axes' lines of one agent: with its markers, or without any."""
    mine = [line for line in axes.lines if line.get_color() == colour]
    marked = [line for line in mine if (line.get_marker() != "None") == (marker is not None)]
    return [np.asarray(line.get_xydata()) for line in marked]


def test_relearning_is_what_the_measure_says(plotted, tmp_path):
    """Markers at each run's number of episodes, a line through their medians, rewards below."""
    runs = several(seeds=2)
    runs[0] = run("benna-fusi", 0, epochs=6, episodes=400, n=8, when=np.full(6, np.inf))
    draw_relearning(runs, tmp_path)
    figure = plotted["figure-4"]
    upper, lower = figure.axes[:2], figure.axes[2:]
    assert [axes.get_title() for axes in upper] == ["Cart-Pole", "Catcher"]
    agents = styles(dict.fromkeys(r.variant for r in runs))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(agents)
    for column, (above, below) in enumerate(zip(upper, lower, strict=True)):
        shown = above.get_ylim()
        for name, style in agents.items():
            mine = [r for r in runs if r.variant == name]
            counts = [measures.relearning(r)[column::2] for r in mine]
            heights = np.concatenate([xy[:, 1] for xy in lines(above, style.colour, style.marker)])
            known = np.concatenate([c[np.isfinite(c)] for c in counts])
            never = sum(int(np.isinf(c).sum()) for c in counts)
            assert len(heights) == known.size + never, "everybody is drawn"
            strip = heights[heights > 400]
            assert len(strip) == never, "those who never relearnt are above a whole epoch"
            assert (strip < shown[1]).all()
            np.testing.assert_allclose(np.sort(heights[heights <= 400]), np.sort(known))
            (median,) = lines(above, style.colour)
            expected = np.median(counts, axis=0)
            expected[np.isinf(expected)] = np.nan
            np.testing.assert_allclose(median[:, 1], expected)
            # Agents stand beside one another, all within their visit.
            epochs = [1 + column, 3 + column, 5 + column]
            np.testing.assert_allclose(median[:, 0], epochs, atol=0.8)
            rewards = np.mean([measures.reward_per_epoch(r)[column::2] for r in mine], axis=0)
            (mean,) = (xy for xy in lines(below, style.colour, style.marker) if len(xy) == 3)
            np.testing.assert_allclose(mean[:, 1], rewards)


def test_curves_are_the_moving_averages(plotted, tmp_path):
    runs = single()
    draw_online(runs, tmp_path)
    (axes,) = plotted["figure-5"].axes
    for name, style in styles(dict.fromkeys(r.variant for r in runs)).items():
        averages = [measures.moving_average(r, 5) for r in runs if r.variant == name]
        (curve,) = lines(axes, style.colour, style.marker)
        np.testing.assert_allclose(curve[:, 0], averages[0][0])
        np.testing.assert_allclose(curve[:, 1], np.mean([a[1] for a in averages], axis=0))
    assert len(axes.collections) == 3, "a band for each agent of three seeds"
    draw_online(single(seeds=2), tmp_path)
    assert not plotted["figure-5"].axes[0].collections, "thin lines instead"


def test_every_length_of_an_epoch_has_a_row(plotted, tmp_path):
    epoch_length([r for r in lengths() if r.variant != "control-400"], tmp_path)
    grid = plotted["figure-s1"].axes
    assert [axes.get_ylabel() for axes in grid] == ["", "epochs\nof 200", "", "epochs\nof 400"]
    assert [axes.get_title() for axes in grid] == ["Cart-Pole", "Catcher", "", ""]
    control = styles(["control"])["control"]
    drawn = [len(lines(axes, control.colour, control.marker)) for axes in grid]
    assert drawn[0] == drawn[1] > 0
    assert drawn[2:] == [0, 0], "nobody ran it"


def test_beakers_at_their_distances(plotted, tmp_path):
    runs = several()
    gaps = measures.distances(runs[0])["weights"]
    beakers(runs, tmp_path)
    heat, _, first, second = plotted["beakers"].axes
    np.testing.assert_allclose(heat.collections[0].get_array(), (gaps / gaps[:, -1:]).T)
    awake = [record["awake"] + 0.5 for record in measures.switches(runs[0])]
    assert heat.lines[0].get_ydata().tolist() == awake
    scores, trained = measures.switch_scores(runs[0]), [1, 3, 5]
    just, later = first.lines[:2]
    np.testing.assert_allclose(just.get_xydata().T, [trained, scores["cartpole"][trained]])
    assert later.get_xdata().tolist() == [0, 2, 4, 6]
    assert [axes.get_title() for axes in (first, second)] == ["Cart-Pole", "Catcher"]

    compared(runs, tmp_path)
    (line,) = plotted["beakers"].axes[0].lines
    late = [measures.distances(r)["weights"][4:].mean(axis=0) for r in runs[:3]]
    np.testing.assert_allclose(line.get_ydata(), np.mean(late, axis=0))

    alone = single()
    beakers(alone, tmp_path)
    start, end, gate = plotted["beakers"].axes[0].lines
    np.testing.assert_allclose(
        [start.get_ydata(), end.get_ydata()], measures.distances(alone[0])["weights"]
    )
    assert gate.get_xdata()[0] == measures.switches(alone[0])[-1]["awake"] + 0.5


@pytest.mark.parametrize("episodes", [20, 400])  # with fewer than 10 tests, and with enough
@pytest.mark.parametrize(
    ("draw", "name"),
    [(draw_relearning, "{}"), (epoch_length, "{}-{}")],
    ids=["relearning", "epoch_length"],
)
def test_nobody_ever_relearns(plotted, draw, name, episodes, tmp_path):
    names = tuple(name.format(agent, episodes) for agent in ("benna-fusi", "control"))
    runs = several(names, seeds=2, episodes=episodes, when=np.full(6, np.inf))
    assert "∞" in draw(runs, tmp_path).caption
    (figure,) = plotted.values()
    for style in styles(["benna-fusi", "control"]).values():
        for axes in figure.axes[:2]:  # one of each task, which is visited three times
            drawn = np.concatenate(lines(axes, style.colour, style.marker))
            assert len(drawn) == 2 * 3
            assert (drawn[:, 1] > episodes).all()


def test_one_seed_one_agent_and_one_epoch(plotted, tmp_path):
    one = several(("control",), 1, epochs=1)
    assert "1 seed per agent" in draw_relearning(one, tmp_path).caption
    assert "1 seed per agent" in draw_online(one, tmp_path).caption
    assert "thin lines" in draw_online(one, tmp_path).caption
    epoch_length(one, tmp_path)
    assert plotted["figure-s1"].axes[0].get_ylabel() == "epochs\nof 400", "of a name without it"
    assert beakers(one, tmp_path) is None  # a control agent has none
    assert compared(one, tmp_path) is None


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        (["cartpole"], "reached 450 (Cart-Pole)"),
        (["cartpole", "gymnax/Acrobot-v1"], "reached 450 (Cart-Pole) (nobody has said"),
        (["gymnax/Acrobot-v1"], "reached a threshold (nobody has said what is good enough in"),
    ],
)
def test_a_task_without_a_threshold_is_named(tasks, words):
    assert words in relearning_figure._measure(tasks)


def test_a_run_that_lags_behind(plotted, tmp_path):
    runs = several()
    short = [r for r in runs[0].records if r["epoch"] < 3]
    runs = [runs[0]._replace(records=short), *runs[1:4], runs[-1]._replace(records=short[:30])]
    assert "1 to 3 seeds" in draw_relearning(runs, tmp_path).caption
    assert "1 to 3 seeds" in draw_online(runs, tmp_path).caption
    beakers(runs, tmp_path)
    assert plotted["beakers"].axes[0].lines[0].get_xdata().tolist() == [0, 1, 2]


def test_a_task_that_some_have_not_reached(plotted, tmp_path):
    fast, slow = several(("benna-fusi", "control"), 1)
    slow = slow._replace(records=[r for r in slow.records if r["epoch"] < 2])
    assert "Catcher" in draw_relearning([fast, slow], tmp_path).caption
    style = styles(["control"])["control"]
    first, second = plotted["figure-4"].axes[:2]
    assert sum(map(len, lines(first, style.colour, style.marker))) == 1
    assert sum(map(len, lines(second, style.colour, style.marker))) == 0


def test_beakers_that_start_as_copies_are_at_no_distance(plotted, tmp_path):
    copied = several(("benna-fusi",), 1)
    copied[0].records[0]["distances"] = dict.fromkeys(("weights", "gains", "biases"), [0.0] * 8)
    beakers(copied, tmp_path)
    heat = plotted["beakers"].axes[0].collections[0].get_array()
    assert (heat[:, 0] == 0).all()
    assert heat[-1, 1:].tolist() == [1.0] * 6


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


def test_no_text_is_cut_off(tmp_path):
    """A title wider than its figure makes the picture wider, in all three files."""
    sizes = {}
    for title in ("short", "a title that is far wider than the figure below it"):
        figure = Figure(figsize=(2, 2), layout="constrained")
        figure.subplots().set_title(title)
        write(tmp_path / title, figure)
        with Image.open(tmp_path / f"{title}.png") as picture:
            sizes[title] = picture.size
        assert (whole(figure) is None) == (title == "short")
    short, wide = sizes.values()
    assert short == (300, 300)
    assert wide[0] > 400
    text = (tmp_path / f"{title}.svg").read_text()
    points = float(re.search(r'width="([\d.]+)pt"', text)[1])
    assert points / 72 == pytest.approx(wide[0] / 150, abs=0.02)

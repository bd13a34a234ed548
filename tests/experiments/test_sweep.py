"""The table and the heat map of a grid of settings."""

import math

import numpy as np

from bennafusi.experiments import sweep_summary as sweep
from bennafusi.experiments.sweep_summary import Point
from bennafusi.report import results_folder

INF = float("inf")


def grid():
    points = []
    for n in ("3", "10"):
        for g12 in ("0.1", "0.01", "0.001"):
            reward = int(n) / float(g12) if (n, g12) != ("3", "0.1") else INF
            scored = [(v, {"reward": reward + seed, "x": 0.0}) for v in "ab" for seed in range(2)]
            points.append(Point({"n": n, "g12": g12}, scored))
    return points


def test_every_point_has_its_rows():
    table = sweep.numbers(grid())
    assert table.columns[:5] == ("n", "g12", "variant", "measure", "seeds")
    assert len(table.rows) == 6 * 2 * 2
    assert table.rows[0][:6] == ("3", "0.1", "a", "reward", 2, INF)
    assert table.rows[4][:6] == ("3", "0.01", "a", "reward", 2, 300.5)


def test_the_heat_map_has_a_row_for_all_but_the_last_field(plotted, tmp_path):
    assert sweep.heat_map(grid(), tmp_path).path == tmp_path / "heat-map.svg"
    (axes,) = plotted["heat-map"].axes
    expected = [[np.nan, 300.5, 3000.5], [100.5, 1000.5, 10000.5]] * 2  # variants stay together
    np.testing.assert_allclose(axes.images[0].get_array().filled(np.nan), expected)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.1", "0.01", "0.001"]
    rows = ["a, n=3", "a, n=10", "b, n=3", "b, n=10"]
    assert [label.get_text() for label in axes.get_yticklabels()] == rows
    assert [text.get_text() for text in axes.texts[:3]] == ["never", "300", "3,000"]


def test_grids_that_have_just_begun(plotted, tmp_path):
    points = grid()
    begun = [points[0]._replace(scored=[]), *(p._replace(scored=p.scored[:1]) for p in points[1:])]
    sweep.heat_map(begun, tmp_path)
    texts = [text.get_text() for text in plotted["heat-map"].axes[0].texts]
    assert texts == ["?", "300", "3,000", "100", "1,000", "10,000"]
    nothing = [point._replace(scored=[]) for point in points]
    assert sweep.heat_map(nothing, tmp_path) is None
    assert sweep.numbers(nothing).rows == []
    unknown = [p._replace(scored=[("a", {"x": math.nan})]) for p in points]
    sweep.heat_map(unknown, tmp_path)
    assert {text.get_text() for text in plotted["heat-map"].axes[0].texts} == {"?"}


def test_one_measure_is_shown_in_all_cells(plotted, tmp_path):
    one, other = {"cart": 1.0, "catch": 2.0}, {"catch": 3.0, "cart": 4.0}
    points = [Point({"n": str(n)}, [("a", x)]) for n, x in enumerate((one, other, {"catch": 5.0}))]
    sweep.heat_map(points, tmp_path)
    (axes,) = plotted["heat-map"].axes
    assert axes.get_title(loc="left") == "cart\na", "one variant is named once, above"
    assert [label.get_text() for label in axes.get_yticklabels()] == [""]
    assert [text.get_text() for text in axes.texts] == ["1", "4", "?"]


def test_a_point_that_lost_a_run_says_so_whatever_the_other_seeds_did(plotted, tmp_path):
    points = [
        Point({"n": n}, [("a", {"x": score}) for score in scores])
        for n, scores in (("1", (0.5, -INF, 0.5)), ("2", (0.25, 0.25, 0.25)))
    ]
    sweep.heat_map(points, tmp_path)
    assert [text.get_text() for text in plotted["heat-map"].axes[0].texts] == ["diverged", "0.25"]
    shown = results_folder.compact(sweep.numbers(points)).rows
    assert [row[-1] for row in shown] == ["-∞", "0.25 ± 0"]


def test_long_names_leave_room_for_the_cells(plotted, tmp_path):
    long = {"a.very.long.name.of.a.setting": "123456789", "m": "0"}
    points = [Point({**long, "n": str(n)}, [("x" * 40, {"y": 1.0})]) for n in range(3)]
    sweep.heat_map(points, tmp_path)
    axes = plotted["heat-map"].axes[0]
    axes.figure.draw_without_rendering()
    assert axes.get_window_extent().width / axes.figure.bbox.width > 0.25


def test_a_large_grid_is_a_picture_of_bounded_size(tmp_path):
    points = [
        Point({"x": str(x), "y": str(y)}, [("a", {"x": float(x * y)})])
        for x in range(60)
        for y in range(60)
    ]
    drawing = sweep.heat_map(points, tmp_path)
    assert drawing.path.stat().st_size < 300_000  # colours alone
    assert len(sweep.numbers(points).rows) == 3600

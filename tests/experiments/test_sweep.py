"""The table and the heat map of a grid of settings."""

import math

import numpy as np

from bennafusi.experiments import sweep_summary as sweep
from bennafusi.experiments.sweep_summary import Point

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


def test_the_heat_map_has_a_row_for_all_but_the_last_field(tmp_path, monkeypatch):
    painted = []
    monkeypatch.setattr(sweep, "_write", lambda axes, values: painted.append(values))
    drawing = sweep.heat_map(grid(), tmp_path)
    assert drawing.path == tmp_path / "heat-map.svg"
    expected = [[INF, 300.5, 3000.5], [100.5, 1000.5, 10000.5]] * 2  # variants stay together
    np.testing.assert_allclose(painted[0], expected)
    text = drawing.path.read_text()
    assert "<!-- a, n=3 -->" in text
    assert "<!-- b, n=10 -->" in text


def test_grids_that_have_just_begun(tmp_path):
    points = grid()
    begun = [points[0]._replace(scored=[]), *(p._replace(scored=p.scored[:1]) for p in points[1:])]
    assert sweep.heat_map(begun, tmp_path).path.exists()
    nothing = [point._replace(scored=[]) for point in points]
    assert sweep.heat_map(nothing, tmp_path) is None
    assert sweep.numbers(nothing).rows == []
    unknown = [p._replace(scored=[("a", {"x": math.nan})]) for p in points]
    assert sweep.heat_map(unknown, tmp_path).path.exists()


def test_a_large_grid_is_a_picture_of_bounded_size(tmp_path):
    points = [
        Point({"x": str(x), "y": str(y)}, [("a", {"x": float(x * y)})])
        for x in range(60)
        for y in range(60)
    ]
    drawing = sweep.heat_map(points, tmp_path)
    assert drawing.path.stat().st_size < 300_000  # colours alone
    assert len(sweep.numbers(points).rows) == 3600

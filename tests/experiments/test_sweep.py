"""The table and the heat map of a grid of settings."""

import math

import numpy as np

from bennafusi.experiments import sweep
from bennafusi.experiments.result import RunData
from bennafusi.experiments.sweep import Point

INF = float("inf")


def scores(run):
    return {"reward": run.seconds, "seed": float(run.seed)}


def grid():
    points = []
    for n in ("3", "10"):
        for g12 in ("0.1", "0.01", "0.001"):
            reward = int(n) / float(g12) if (n, g12) != ("3", "0.1") else INF
            runs = [RunData(v, seed, [], reward + seed) for v in ("a", "b") for seed in range(2)]
            points.append(Point({"n": n, "g12": g12}, runs))
    return points


def test_every_point_has_its_rows():
    table = sweep.numbers(grid(), scores)
    assert table.columns[:5] == ("n", "g12", "variant", "measure", "seeds")
    assert len(table.rows) == 6 * 2 * 2
    assert table.rows[0][:6] == ("3", "0.1", "a", "reward", 2, INF)
    assert table.rows[4][:6] == ("3", "0.01", "a", "reward", 2, 300.5)


def test_the_heat_map_has_a_row_for_all_but_the_last_field(tmp_path, monkeypatch):
    painted = []
    monkeypatch.setattr(sweep, "_paint", lambda axes, values: painted.append(values))
    drawing = sweep.heat_map(grid(), scores, tmp_path)
    assert drawing.image == tmp_path / "heat-map.svg"
    expected = [[INF, 300.5, 3000.5], [100.5, 1000.5, 10000.5]] * 2  # variants stay together
    np.testing.assert_allclose(painted[0], expected)
    text = drawing.image.read_text()
    assert "<!-- a, n=3 -->" in text
    assert "<!-- b, n=10 -->" in text


def test_grids_that_have_just_begun(tmp_path):
    points = grid()
    half = [
        point._replace(runs=point.runs[:1] if place else []) for place, point in enumerate(points)
    ]
    assert sweep.heat_map(half, scores, tmp_path).image.exists()
    nothing = [point._replace(runs=[]) for point in points]
    assert sweep.heat_map(nothing, scores, tmp_path) is None
    assert sweep.numbers(nothing, scores).rows == []
    unknown = [p._replace(runs=[RunData("a", 0, [], math.nan)]) for p in points]
    assert sweep.heat_map(unknown, scores, tmp_path).image.exists()


def test_a_grid_too_large_to_read_is_not_drawn(tmp_path):
    points = [
        Point({"x": str(x), "y": str(y)}, [RunData("a", 0, [], 1.0)])
        for x in range(60)
        for y in range(60)
    ]
    assert sweep.heat_map(points, scores, tmp_path) is None
    assert len(sweep.numbers(points, scores).rows) == 7200

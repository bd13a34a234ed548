"""Runs over a grid of settings: one table, one heat map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bennafusi.experiments.statistics import summary
from bennafusi.results import Picture, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from bennafusi.synapse.chain import Float64

MOST_NUMBERS = 300  # cells that can be read; of more, colours are shown alone
LARGEST = (14.0, 10.0)  # inches
_NEVER, _DIVERGED, _UNKNOWN = "never", "diverged", "?"


class Point(NamedTuple):
    """One point of the grid."""

    values: Mapping[str, str]  # what is set there, as it was given
    # Of each run there is, its variant and the numbers by which it is known.
    scored: Sequence[tuple[str, Mapping[str, float]]]


def numbers(points: Sequence[Point]) -> Table:
    """The measures of every point and variant over seeds, one row each.

    Example:
        >>> table = numbers([Point({"n": "3"}, [("a", {"seconds": 2.0})])])
        >>> table.columns[:4], table.rows[0][:5]
        (('n', 'variant', 'measure', 'seeds'), ('3', 'a', 'seconds', 1, 2.0))
    """
    fields = tuple(dict.fromkeys(field for point in points for field in point.values))
    parts = [(point, summary(point.scored)) for point in points]
    columns = parts[0][1].columns if parts else ()
    rows: list[tuple[str | int | float, ...]] = [
        (*(point.values.get(field, "") for field in fields), *row)
        for point, part in parts
        for row in part.rows
    ]
    return Table("sweep", "The measures of each point over its seeds", (*fields, *columns), rows)


def heat_map(points: Sequence[Point], folder: Path) -> Picture | None:
    """The first point's first measure at every point, mean over seeds, as ``heat-map`` in a folder.

    The last field is on the horizontal axis; every combination of the others and of the variants is
    a row, so that nothing is averaged but seeds.

    Returns:
        The figure; None if no point has a run.
    """
    from matplotlib.figure import Figure

    from bennafusi.experiments.figure_style import house_style, save

    measure = next((name for point in points for _, one in point.scored for name in one), None)
    if measure is None:
        return None
    cells = _cells(points, measure)
    *others, last = next(iter(points)).values
    across = list(dict.fromkeys(point.values[last] for point in points))
    variants = list(dict.fromkeys(key[0] for key in cells))
    rows = sorted(dict.fromkeys(key[:-1] for key in cells), key=lambda row: variants.index(row[0]))
    values = np.full((len(rows), len(across)), np.nan)
    for key, value in cells.items():
        values[rows.index(key[:-1]), across.index(key[-1])] = value
    one = len(variants) == 1  # named once, above
    labels = [
        ", ".join([variant] * (not one) + [f"{f}={x}" for f, x in zip(others, other, strict=True)])
        for variant, *other in rows
    ]
    with house_style():
        left = 0.09 * max(map(len, labels))  # inches of a letter
        size = (0.8 + left + 0.75 * len(across), 1.6 + 0.42 * len(rows))
        size = (min(size[0], LARGEST[0]), min(size[1], LARGEST[1]))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        image = _paint(axes, values)
        if values.size <= MOST_NUMBERS:
            _write(axes, values)
        else:
            figure.colorbar(image, ax=axes)
        _ticks(axes.set_xticks, across, most=24)
        _ticks(axes.set_yticks, labels, most=40)
        axes.set_xlabel(last)
        heading = f"{measure}\n{variants[0]}" if one else measure
        axes.set_title(heading, loc="left", fontsize=10)
        caption = (
            f"{measure}: mean over seeds at every point of the grid. {_NEVER}, or grey: at least "
            f"one seed never came to it. {_DIVERGED}: at least one did. {_UNKNOWN}: not known yet."
        )
        return save(folder / "heat-map", figure, "The measure over the grid", caption)


def _cells(points: Sequence[Point], measure: str) -> dict[tuple[str, ...], float]:
    """The mean of a measure by variant and values; not a number where runs do not have it."""
    found = {}
    for point in points:
        for variant in dict.fromkeys(name for name, _ in point.scored):
            mine = [scores.get(measure, np.nan) for name, scores in point.scored if name == variant]
            known = [score for score in mine if not np.isnan(score)]
            mean = float(np.mean(known)) if known else float("nan")
            found[variant, *point.values.values()] = mean
    return found


def _paint(axes: Axes, values: Float64) -> AxesImage:
    """Colours; what is not a number stays grey."""
    low, high = _limits(values)
    axes.set_facecolor("0.92")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    shown = np.where(np.isfinite(values), values, np.nan)
    return axes.imshow(shown, aspect="auto", cmap="cividis", vmin=low, vmax=max(high, low + 1e-12))


def _write(axes: Axes, values: Float64) -> None:
    """The numbers themselves: dark on light and light on dark."""
    low, high = _limits(values)
    for (row, column), value in np.ndenumerate(values):
        text = _UNKNOWN if np.isnan(value) else _short(value)
        bright = not np.isfinite(value) or value - low > 0.5 * (high - low)
        colour = "black" if bright else "white"
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)


def _limits(values: Float64) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def _ticks(put: Callable[..., object], labels: list[str], most: int) -> None:
    """As many labels as fit, evenly spread."""
    step = -(-len(labels) // most)
    put(range(0, len(labels), step), labels[::step])


def _short(value: float) -> str:
    """A number for a small cell.

    Example:
        >>> _short(0.01234), _short(12345.6), _short(float("-inf"))
        ('0.0123', '12,346', 'diverged')
    """
    if np.isinf(value):
        return _NEVER if value > 0 else _DIVERGED
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"

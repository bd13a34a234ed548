"""Who keeps how much, and how it came about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bennafusi.experiments import ranking, ranking_figure
from bennafusi.experiments.agent_styles import styles
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.experiments.rivals_digits import digits_claims
from bennafusi.experiments.rivals_digits.digits_claims import Cell, Tuned
from bennafusi.results import Picture, RunData
from bennafusi.rivals.catalogue import METHODS

Cells = dict[Cell, dict[str, Tuned]]
STYLES = styles(METHODS)
DRAWN = 3  # rivals whose course is drawn besides the chain and Adam alone


def figures(runs: list[RunData], folder: Path) -> list[Picture]:
    """The ranking, and the courses of those that matter; nothing before seeds are judged."""
    cells = {
        cell: methods
        for cell, methods in digits_claims.tuned(runs).items()
        if digits_claims.kept(methods)
    }
    if not cells:
        return []
    with house_style():
        return [_ranking(cells, folder / "ranking"), _courses(cells, folder / "courses")]


def _panels(cells: Cells, height: float) -> tuple[Figure, dict[Cell, Axes]]:
    problems = list(dict.fromkeys(problem for problem, _ in cells))
    visits = sorted({visit for _, visit in cells})
    figure = Figure(figsize=(1.2 + 3.6 * len(visits), height * len(problems)), layout="constrained")
    grid = figure.subplots(len(problems), len(visits), squeeze=False)
    return figure, {
        (problem, visit): grid[row][column]
        for row, problem in enumerate(problems)
        for column, visit in enumerate(visits)
        if (problem, visit) in cells
    }


def _titled(cell: Cell) -> str:
    return f"{cell[0]}, {cell[1]} updates a visit"


def _ranking(cells: Cells, stem: Path) -> Picture:
    figure, panels = _panels(cells, 4.6)
    for cell, axes in panels.items():
        ranking_figure.draw(axes, ranking.places(digits_claims.kept(cells[cell])), STYLES, 7)
        axes.set_title(_titled(cell), fontsize=10)
        axes.set_xlim(0, 1)
    figure.supxlabel("accuracy on all tasks, second half of training")
    seeds = max(len(one.judged) for methods in cells.values() for one in methods.values())
    return save(
        stem,
        figure,
        "Who keeps how much",
        f"Accuracy on all five tasks in the second half of training: mean over {seeds} judged "
        "seeds and 95% interval, each method at the point of its grid that was best on other "
        "seeds. Intervals that overlap are ties.",
    )


def _courses(cells: Cells, stem: Path) -> Picture:
    figure, panels = _panels(cells, 3.0)
    first = (digits_claims.MINE, digits_claims.DEEPER, digits_claims.NOTHING)
    for cell, axes in panels.items():
        ahead = [place.name for place in ranking.places(digits_claims.kept(cells[cell]))]
        rest = [name for name in ahead if name not in first][:DRAWN]
        for name in [*(name for name in first if name in ahead), *rest]:
            curves = np.array([r["curve"] for r in cells[cell][name].judged.values()])
            style, time = STYLES[name], np.linspace(0, 1, curves.shape[1])
            axes.plot(
                time, curves.mean(axis=0), color=style.colour, ls=style.dashes, lw=1.2, label=name
            )
        axes.set(ylim=(0, 1), title=_titled(cell))
        plain(axes)
        axes.legend(frameon=False, fontsize=6, loc="lower right")
    figure.supxlabel("part of training")
    figure.supylabel("accuracy on all tasks")
    return save(
        stem,
        figure,
        "How it came about",
        "Mean accuracy on all five tasks over training, mean over judged seeds: the chain's "
        "weight, its second beaker, Adam alone, and the three best of the others.",
    )

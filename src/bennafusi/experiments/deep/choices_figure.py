"""Sets of open choices, best first: what each changes, and what comes of both tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bennafusi.colours import BLUE, VERMILION
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.results import Picture

Scores = Mapping[str, float]  # by task


def sets(
    rows: Mapping[str, tuple[str, Scores]],
    choices: Mapping[str, str],
    effects: Mapping[str, Scores],
    folder: Path,
) -> Picture | None:
    """Draw which choices each set changes, its scores, and what each choice does to them.

    Args:
        rows: of each set by its name, the letters of what it changes, and its scores.
        choices: by letter, in words.
        effects: of each choice, by letter.
        folder: into which it is drawn.
    """
    if len(rows) < 2 or not effects:
        return None
    tasks = tuple(next(iter(effects.values())))
    with house_style():
        figure = Figure(figsize=(11, 1.8 + 0.26 * len(rows)), layout="constrained")
        marks, heat, bars = figure.subplots(1, 3, width_ratios=(2.4, 1.1, 2.6))
        _marks(marks, {name: changed for name, (changed, _) in rows.items()}, choices)
        _heat(heat, [scores for _, scores in rows.values()], tasks)
        _bars(bars, choices, effects, tasks)
        text = (
            "Left: each row is a set of choices, a dot what is not as usual. Middle: the mean of "
            "the last tests as a part of what is asked, 1 at most; rows by the smaller one. Right: "
            "what each choice adds to it, mean over the sets of the plan that have it less that "
            "over those that do not."
        )
        title = "What each set of open choices makes of both tasks online"
        return save(folder / "choices", figure, title, text)


def _marks(axes: Axes, sets: Mapping[str, str], choices: Mapping[str, str]) -> None:
    for row, changed in enumerate(sets.values()):
        places = [place for place, letter in enumerate(choices) if letter in changed]
        axes.plot(places, [row] * len(places), "o", color="0.2", ms=6)
    axes.set_xticks(range(len(choices)), list(choices.values()), rotation=60, ha="left")
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(sets)), list(sets))
    axes.set(xlim=(-0.5, len(choices) - 0.5), ylim=(len(sets) - 0.5, -0.5))
    axes.tick_params(length=0)
    axes.grid(True, color="0.9", lw=0.6)
    axes.spines[:].set_visible(False)


def _heat(axes: Axes, scores: Sequence[Scores], tasks: tuple[str, ...]) -> None:
    values = np.array([[score[task] for task in tasks] for score in scores])
    axes.imshow(values, aspect="auto", cmap="cividis", vmin=0, vmax=1)
    for (row, column), value in np.ndenumerate(values):
        colour = "black" if value > 0.5 else "white"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(tasks)), tasks, rotation=60, ha="left")
    axes.xaxis.tick_top()
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _bars(
    axes: Axes, choices: Mapping[str, str], effects: Mapping[str, Scores], tasks: tuple[str, ...]
) -> None:
    for shift, (task, colour) in enumerate(zip(tasks, (BLUE, VERMILION), strict=True)):
        places = np.arange(len(effects)) + 0.38 * (shift - 0.5)
        axes.barh(places, [e[task] for e in effects.values()], 0.36, color=colour, label=task)
    axes.set_yticks(range(len(effects)), [choices[letter] for letter in effects])
    axes.set_ylim(len(effects) - 0.5, -0.5)
    axes.axvline(0, color="0.4", lw=0.8)
    axes.set_xlabel("added to the part of what is asked")
    axes.legend(frameon=False, fontsize=8)
    plain(axes)
    axes.grid(True, axis="x", color="0.9", lw=0.6)
    axes.set_axisbelow(True)

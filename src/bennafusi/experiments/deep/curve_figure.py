"""Figures 5, S3, S4 and S5: learning curves of single tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bennafusi.experiments.agent_styles import Style, leads, styles
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.panels import legend, seeds_in_words
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.results import Picture, RunData
from bennafusi.synapse.chain import Float64

MOST_POINTS = 400  # of a curve; more cannot be seen
Curve = tuple[Float64, Float64]  # episodes, and the average of tests up to each


def online(
    runs: list[RunData], folder: Path, stem: str, title: str, caption: str, window: int
) -> Picture | None:
    """Draw the moving average of test reward, a curve per agent.

    The window, in tests, and the number of seeds are added to the caption.
    """
    curves = {
        name: [c for run in group if len((c := measures.moving_average(run, window))[0])]
        for name, group in measures.by_variant(runs).items()
    }
    curves = {name: group for name, group in curves.items() if group}
    if not curves:
        return None
    few = min(map(len, curves.values())) < 3
    shown = "Mean and one standard deviation" + " (thin lines: each of fewer than 3)" * few
    text = (
        f"{caption} Moving average over {window:,} test episodes. {shown} over "
        f"{seeds_in_words(map(len, curves.values()))} per agent, as far as all of them are."
    )
    with house_style():
        return save(folder / stem, compared(curves, window), title, text)


def compared(curves: Mapping[str, Sequence[Curve]], window: int) -> Figure:
    """A curve for each agent, in the style of its name."""
    agents = styles(curves)
    figure = Figure(figsize=(5.6, 3.9), layout="constrained")
    axes = figure.subplots()
    for order, (name, group) in enumerate(curves.items()):
        draw_curve(axes, agents[name], group, order / len(curves), 3 if leads(name) else 2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}"))
    axes.set(xlabel="thousands of episodes", ylabel=f"test reward (mean of {window:,})")
    axes.set_xlim(left=0)
    plain(axes)
    legend(figure, agents, 3)
    return figure


def draw_curve(
    axes: Axes,
    style: Style,
    group: Sequence[Curve],
    phase: float,
    order: int,
) -> None:
    """Draw one agent: the mean of its runs as far as all are, their spread or each of them."""
    shared = min(len(episodes) for episodes, _ in group)
    chosen = np.unique(np.linspace(0, shared - 1, min(shared, MOST_POINTS)).astype(int))
    episodes = np.asarray(group[0][0], np.float64)[chosen]
    table = np.array([np.asarray(averages)[chosen] for _, averages in group], np.float64)
    mean = table.mean(axis=0)
    if len(group) >= 3:
        spread = table.std(axis=0)
        axes.fill_between(
            episodes, mean - spread, mean + spread, color=style.colour, alpha=0.18, lw=0
        )
    else:
        axes.plot(episodes, table.T, color=style.colour, lw=0.6, alpha=0.7)
    axes.plot(
        episodes,
        mean,
        color=style.colour,
        ls=style.dashes,
        lw=1.6,
        marker=style.marker,
        ms=5,
        mew=0,
        markevery=(0.02 + 0.12 * phase, 0.12),
        zorder=order,
    )

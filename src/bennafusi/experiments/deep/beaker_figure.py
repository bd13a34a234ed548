"""Why it works: what the beakers hold at each switch, and what an agent can still do then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bennafusi.colours import VERMILION
from bennafusi.experiments.agent_styles import Style, styles
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.panels import count_epochs, legend, seeds_in_words, task_name
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.results import Picture, RunData
from bennafusi.synapse.chain import Float64

GROUP = "weights"  # of parameters whose beakers are shown


def beakers(runs: list[RunData], folder: Path) -> Picture | None:
    """Draw how far the beakers of the first Benna-Fusi run are from its weights.

    With three switches or more: over the epochs, beside what the agent can still do on every task,
    and what the first control agent can. With two, of a single task: at its start and end.
    """
    stem, title = folder / "beakers", "What the beakers hold at each switch"
    seen = [run for run in runs if len(measures.switches(run)) > 1]
    shown = [run for run in seen if GROUP in measures.distances(run)]
    if not shown:
        return None
    run, gaps = shown[0], measures.distances(shown[0])[GROUP]
    awake = np.array([record["awake"] for record in measures.switches(run)], np.float64)
    with house_style():
        if len(gaps) == 2:
            figure = _start_and_end(gaps, awake)
            caption = (
                f"Root mean square distance of each beaker from the weight it belongs to ({GROUP}) "
                "before training and at the last look. A low value: the beaker holds what the "
                "weight holds now; a high one: it still holds what was before. The line marks the "
                f"deepest beaker that acts on the weight by then. {run.variant}, seed {run.seed}."
            )
            return save(stem, figure, title, caption)
        others = [r for r in seen if not measures.distances(r)]
        figure = _over_epochs(run, gaps, awake, others[0] if others else None)
        beside = f" and {others[0].variant}, seed {others[0].seed}" if others else ""
        caption = (
            "(Left) Root mean square distance of each beaker from the weight it belongs to "
            f"({GROUP}), relative to the deepest beaker's: dark beakers hold what the weight holds "
            "now, light ones what was before. Beakers below the line act on the weight already, "
            "those above wait for their gate. (Right) Mean reward of the tests at each switch: "
            "right after the task was trained (filled), and after others were (open): what is "
            f"kept. {run.variant}, seed {run.seed}{beside}."
        )
        return save(stem, figure, title, caption)


def compared(runs: list[RunData], folder: Path) -> Picture | None:
    """Draw how far beakers are from their weights, a line for each agent that has some."""
    lines: dict[str, list[Float64]] = {}
    for run in runs:
        gaps = measures.distances(run).get(GROUP)
        if gaps is not None and len(gaps) > 1:
            lines.setdefault(run.variant, []).append(_late(gaps))
    if not lines:
        return None
    with house_style():
        figure = Figure(figsize=(6.6, 4.4), layout="constrained")
        axes, agents = figure.subplots(), styles(lines)
        for name, found in lines.items():
            mean, style = np.mean(found, axis=0), agents[name]
            depth = np.arange(1, len(mean) + 1)
            axes.plot(
                depth, mean, color=style.colour, ls=style.dashes, lw=1.2, marker=style.marker, ms=4
            )
        axes.set(xlabel="beaker (1 is the weight)", ylabel="distance from the weight")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        plain(axes)
        legend(figure, agents)
        caption = (
            f"Root mean square distance of each beaker from the weight it belongs to ({GROUP}), "
            "mean over the last half of the switches. A beaker near 0 follows the weight within "
            "an epoch; one that is far from it holds what was before. "
            f"{seeds_in_words(map(len, lines.values())).capitalize()} per line."
        )
        title = "What the beakers hold at a switch"
        return save(folder / "beakers", figure, title, caption)


def _late(gaps: Float64) -> Float64:
    """The mean over the last half of the switches; the state before training is not one of them."""
    after = gaps[1:]
    return np.asarray(after[len(after) // 2 :].mean(axis=0))


def _over_epochs(run: RunData, gaps: Float64, awake: Float64, control: RunData | None) -> Figure:
    scores = measures.switch_scores(run)
    figure = Figure(figsize=(7.6, max(3.6, 1.2 + 1.35 * len(scores))), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.05, 1))[0]
    _heat(left, measures.switch_epochs(run).astype(np.float64), gaps, awake)
    shown = [run] if control is None else [run, control]
    agents = styles(r.variant for r in shown)
    panels = right.subplots(len(scores), sharex=True, squeeze=False)[:, 0]
    for axes, task in zip(panels, scores, strict=True):
        for one in shown:
            _kept(axes, agents[one.variant], one, task)
        axes.set_title(task_name(task), fontsize=10)
        axes.set(ylabel="test reward")
        count_epochs(axes)
        plain(axes)
    panels[-1].set(xlabel="epochs trained")
    right.align_ylabels(list(panels))
    _key(right, agents)
    return figure


def _heat(figure: SubFigure, epochs: Float64, gaps: Float64, awake: Float64) -> None:
    axes = figure.subplots()
    relative = gaps / np.maximum(gaps[:, -1:], np.finfo(float).tiny)
    depth = np.arange(1, gaps.shape[1] + 1)
    image = axes.pcolormesh(
        epochs, depth, relative.T, cmap="viridis", norm=PowerNorm(0.5, 0, 1), rasterized=True
    )
    outline = [patheffects.withStroke(linewidth=3, foreground="black")]
    axes.step(epochs, awake + 0.5, where="mid", color="white", lw=1.6, path_effects=outline)
    beside: dict[str, Any] = {
        "ha": "right",
        "color": "white",
        "fontsize": 9,
        "path_effects": outline,
    }
    last, edge = float(epochs[-1]), float(awake[-1]) + 0.5
    if edge > 0.2 * depth[-1]:
        axes.text(last, edge - 2, "act on the weight", va="top", **beside)
    if edge < 0.9 * depth[-1]:
        axes.text(last, edge + 0.5, "gate still shut", va="bottom", **beside)
    axes.set(xlabel="epochs trained", ylabel="beaker (1 is the weight)")
    count_epochs(axes)
    axes.yaxis.set_major_locator(MaxNLocator(8, integer=True))
    bar = figure.colorbar(image, ax=axes, location="top", extend="max", shrink=0.95, aspect=30)
    bar.set_label("distance from the weight / deepest beaker's")
    bar.set_ticks([0, 0.1, 0.25, 0.5, 1])


def _kept(axes: Axes, style: Style, run: RunData, task: str) -> None:
    """Two lines: right after the task was trained, and when it was not for a while."""
    epochs, score = measures.switch_epochs(run), measures.switch_scores(run)[task]
    trained = np.array([record["task"] == task for record in measures.switches(run)], bool)
    for mine, ls, face in ((trained, "-", style.colour), (~trained, ":", "white")):
        axes.plot(
            epochs[mine],
            score[mine],
            color=style.colour,
            ls=ls,
            lw=1.2,
            marker=style.marker,
            ms=4.2,
            mfc=face,
            mew=0.9,
        )


def _key(figure: SubFigure, agents: dict[str, Style]) -> None:
    handles = [
        Line2D([], [], color=s.colour, marker=s.marker, ls="", ms=5, label=name)
        for name, s in agents.items()
    ]
    handles += [
        Line2D([], [], color="0.3", marker="o", ls="-", ms=5, label="just trained"),
        Line2D([], [], color="0.3", marker="o", ls=":", ms=5, mfc="white", label="others trained"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)


def _start_and_end(gaps: Float64, awake: Float64) -> Figure:
    figure = Figure(figsize=(5.0, 3.4), layout="constrained")
    axes = figure.subplots()
    depth = np.arange(1, gaps.shape[1] + 1)
    axes.plot(depth, gaps[0], color="0.45", ls="--", marker="o", ms=4, mfc="white", label="start")
    axes.plot(depth, gaps[1], color=VERMILION, marker="s", ms=4, mew=0, label="end")
    axes.axvline(awake[-1] + 0.5, color="0.3", lw=1)
    axes.annotate(
        " gates open up to here ",
        (awake[-1] + 0.5, 1),
        xycoords=("data", "axes fraction"),
        ha="right" if awake[-1] > depth[-1] / 2 else "left",
        va="bottom",
        fontsize=9,
        color="0.3",
    )
    axes.set(xlabel="beaker (1 is the weight)", ylabel="distance from the weight")
    axes.set(xlim=(0.5, depth[-1] + 0.5))
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    plain(axes)
    axes.legend(frameon=False, loc="best")
    return figure

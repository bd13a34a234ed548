"""What a deep beaker plays beside the weights, one panel for each run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from bennafusi.colours import VERMILION
from bennafusi.experiments.deep.depth_figure import measured
from bennafusi.experiments.deep.depth_online import best_depth, late_means
from bennafusi.experiments.deep.panels import thousands
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.results import Picture, RunData

COLUMNS = 4
GREY = "0.45"


def beside_the_weights(runs: list[RunData], folder: Path) -> Picture | None:
    """Draw the depth that is best at the end over all runs of full length, and the weights.

    None if no run of full length has looked at its depths.
    """
    whole = [
        (run.seed, ends, found)
        for run in runs
        if (ends := late_means(run)) and (found := measured(run)) is not None
    ]
    if not whole:
        return None
    depth = best_depth([ends for _, ends, _ in whole])
    shown = [(seed, found) for seed, _, found in sorted(whole, key=lambda one: one[0])]
    # Of Catcher, rewards may be below 0.
    lowest = min(0.0, *(float(np.nanmin(t)) for _, f in shown for t in f.rewards.values()))
    columns = min(COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    with house_style():
        figure = Figure(figsize=(0.8 + 2.1 * columns, 0.9 + 1.6 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes in grid.flat[len(shown) :]:
            axes.remove()
        for axes, (seed, found) in zip(grid.flat, shown, strict=False):
            (table,) = found.rewards.values()
            axes.plot(found.times, table[0], color=GREY, lw=0.9)
            axes.plot(found.times, table[depth - 1], color=VERMILION, lw=1.8)
            axes.set_title(f"seed {seed}", fontsize=10)
            axes.xaxis.set_major_formatter(FuncFormatter(thousands))
            axes.set_ylim(bottom=lowest)
            plain(axes)
        figure.supxlabel("episodes", fontsize=10)
        figure.supylabel("reward of five games", fontsize=10)
        lines = {"the weights": (GREY, 0.9), f"beaker {depth}": (VERMILION, 1.8)}
        handles = [Line2D([], [], color=c, lw=w, label=n) for n, (c, w) in lines.items()]
        figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
        caption = (
            f"The same agents, played by their weights and by the network that beaker {depth} "
            "holds, without exploration, in the same games; its line begins when the run is as old "
            "as its timescale. Of all depths it is the one that earns most at the end of these "
            f"{len(shown)} runs."
        )
        return save(folder / "read-out", figure, "Weights and a deep beaker", caption)

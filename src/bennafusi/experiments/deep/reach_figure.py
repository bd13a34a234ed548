"""Return by reach: how much a chain holds a network back, the further its weights may go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from bennafusi.colours import BLUE, VERMILION
from bennafusi.experiments.deep.panels import seeds_in_words
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.results import Picture

Scores = list[float]  # of an agent, one of each seed


def by_reach(
    games: Mapping[str, tuple[Scores, Mapping[float, Scores]]], folder: Path
) -> Picture | None:
    """Draw the scores of chains over their reach, beside those of the control.

    Args:
        games: by name, the control's scores and the chains' by their reach. Games without a control
            or without two reaches are left out.
        folder: into which it is drawn.
    """
    shown = {name: game for name, game in games.items() if game[0] and len(game[1]) > 1}
    if not shown:
        return None
    with house_style():
        figure = Figure(figsize=(4.2 * len(shown), 3.4), layout="constrained")
        panels = figure.subplots(1, len(shown), squeeze=False)[0]
        for axes, (name, (control, chains)) in zip(panels, shown.items(), strict=True):
            _panel(axes, control, chains)
            axes.set(title=name, xlabel="reach, standard deviations of the start")
        panels[0].set_ylabel("mean return, last quarter")
        panels[0].legend(loc="lower right", frameon=False)
        counts = [len(s) for c, chains in shown.values() for s in (c, *chains.values())]
        text = (
            "How far a chain lets a weight go from where it slowly follows, and what the agent "
            "earns late in the run. Dots are runs, the line their mean, the band the control's "
            f"lowest to highest; {seeds_in_words(counts)} per agent."
        )
        return save(folder / "reach", figure, "The shorter the reach, the lower the return", text)


def _panel(axes: Axes, control: Scores, chains: Mapping[float, Scores]) -> None:
    axes.axhspan(min(control), max(control), color=BLUE, alpha=0.15, lw=0)
    axes.axhline(float(np.mean(control)), color=BLUE, ls=(0, (5, 1.5)), label="control")
    reaches = sorted(chains)
    for reach in reaches:
        axes.plot([reach] * len(chains[reach]), chains[reach], "s", color=VERMILION, ms=4,
                  alpha=0.6, mew=0)  # fmt: skip
    means = [float(np.mean(chains[reach])) for reach in reaches]
    axes.plot(reaches, means, color=VERMILION, lw=1.6, label="with chains")
    axes.set_xscale("log")
    axes.set_xticks(reaches)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(bottom=0)
    plain(axes)

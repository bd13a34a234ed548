"""Depth against time: what the network in each beaker earns on every task."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator

from bennafusi.colours import VERMILION
from bennafusi.experiments.deep.deep_measures import counted_in
from bennafusi.experiments.deep.panels import task_name, thousands
from bennafusi.experiments.figure_style import house_style, save
from bennafusi.results import Picture, RunData
from bennafusi.synapse.chain import Float64

MOST_LABELS = 8  # of timescales beside an axis


class Depths(NamedTuple):
    """What a run recorded of its depths."""

    times: Float64  # of each look, since the run began
    unit: str  # what they are counted in
    timescales: Float64  # of each depth that was ever reached, in updates
    # Mean of the games by task, [depths, looks]; NaN where a depth was not reached.
    rewards: dict[str, Float64]
    # Times at which the task changed, and the task that was trained until then.
    switches: list[tuple[float, str]]
    # Times at which a depth was poured back up, the task that began, and the depth.
    recalls: list[tuple[float, str, int]]


def measured(run: RunData) -> Depths | None:
    """The looks at a run's depths, if there are two or more."""
    looks = [record for record in run.records if record["kind"] == "depths"]
    if len(looks) < 2:
        return None
    last = max(looks, key=lambda look: len(look["depths"]))
    rewards = {task: np.full((len(last["depths"]), len(looks)), np.nan) for task in last["rewards"]}
    for place, look in enumerate(looks):
        for task, table in rewards.items():
            means = [float(np.mean(games)) for games in look["rewards"][task]]
            table[: len(means), place] = means
    ends: dict[int, tuple[float, str]] = {}
    for look in looks:
        if look["epoch"]:
            ends[look["epoch"]] = (float(look["episode"]), look["task"])
    return Depths(
        np.array([look["episode"] for look in looks], np.float64),
        f"{counted_in(run)}s",
        np.array(last["timescales"], np.float64),
        rewards,
        list(ends.values()),
        [
            (float(record["episode"]), record["task"], record["depth"])
            for record in run.records
            if record["kind"] == "recall" and record["depth"] > 1
        ],
    )


def depths(runs: list[RunData], folder: Path) -> Picture | None:
    """Draw the first run that has looked at its depths, a panel for each task."""
    seen = [(run, found) for run in runs if (found := measured(run)) is not None]
    if not seen:
        return None
    run, found = seen[0]
    with house_style():
        figure = painted(found)
        caption = (
            "Mean reward of the network that each beaker holds: all its weights, gains and biases "
            "taken from that depth, without exploration, all depths in the same games. A cell is "
            "what was there at the end of its stretch; the first column is the start. White lines "
            "are switches, the bars on top mark where that task was trained. Grey: the run is not "
            "as old as that depth's timescale (right axis). "
            f"{'Rings: depths that were recalled. ' if found.recalls else ''}"
            f"{run.variant}, seed {run.seed}."
        )
        return save(folder / "depths", figure, "What the depths know", caption)


def painted(found: Depths) -> Figure:
    """A panel for each task."""
    height = 1.2 + 2.3 * len(found.rewards)
    figure = Figure(figsize=(7.2, height), layout="constrained")
    panels = figure.subplots(len(found.rewards), sharex=True, squeeze=False)[:, 0]
    for axes, (task, table) in zip(panels, found.rewards.items(), strict=True):
        image = _paint(axes, found, task, table)
        figure.colorbar(image, ax=axes, label="reward", pad=0.03, aspect=14)
    panels[-1].set_xlabel(found.unit)
    # The look before training has a column of its own, at a time that there was not.
    ticks = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(0, found.times[-1])
    panels[-1].set_xticks([tick for tick in ticks if 0 <= tick <= found.times[-1]])
    return figure


def _paint(axes: Axes, found: Depths, task: str, table: Float64) -> Any:
    """One task: a cell for each look and depth, over the stretch that ended with the look."""
    edges = np.append(2 * found.times[0] - found.times[1], found.times)
    depth = np.arange(1, len(table) + 2) - 0.5
    axes.set_facecolor("0.85")
    image = axes.pcolormesh(edges, depth, table, cmap="viridis", rasterized=True)
    begun = 0.0
    for end, trained in found.switches:
        axes.axvline(end, color="white", lw=1.1)
        if trained == task:
            bar: dict[str, Any] = {
                "color": "0.2",
                "lw": 4,
                "solid_capstyle": "butt",
                "clip_on": False,
            }
            axes.plot([begun, end], [1.03, 1.03], transform=axes.get_xaxis_transform(), **bar)
        begun = end
    for end, begins, number in found.recalls:
        if begins == task:
            axes.plot(end, number, "o", mfc="none", mec=VERMILION, mew=2, ms=9, clip_on=False)
    axes.set_title(f"plays {task_name(task)}", fontsize=10, pad=12)
    axes.set_ylabel("beaker (1 is the weight)")
    axes.yaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    step = -(-len(table) // MOST_LABELS)
    other = axes.secondary_yaxis("right")
    places = np.arange(1, len(table) + 1)[::step]
    other.set_yticks(
        places, [EngFormatter(places=0, sep="")(found.timescales[k - 1]) for k in places]
    )
    other.set_ylabel("timescale, updates")
    return image

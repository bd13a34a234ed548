"""The parts that the figures of the deep agents are put together from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from bennafusi.experiments.agent_styles import Style, leads
from bennafusi.experiments.figure_style import plain
from bennafusi.synapse.chain import Float64

TASK_NAMES = {"cartpole": "Cart-Pole", "cartpole-long": "Cart-PoleLong", "catcher": "Catcher"}


def task_name(task: str) -> str:
    """A task as the paper writes it, or as its library does.

    Example:
        >>> task_name("cartpole"), task_name("gymnax/Breakout-MinAtar")
        ('Cart-Pole', 'Breakout-MinAtar')
    """
    return TASK_NAMES.get(task, task.removeprefix("gymnax/"))


def thousands(number: float, _: object = None) -> str:
    """A tick's label.

    Example:
        >>> thousands(300), thousands(2500), thousands(160_000), thousands(1_400_000)
        ('300', '2.5k', '160k', '1.4M')
    """
    if number >= 1e6:
        return f"{number / 1e6:g}M"
    return f"{number / 1000:g}k" if number >= 1000 else f"{number:g}"


def shifts(count: int, width: float) -> list[float]:
    """Places side by side, around 0, that together are ``width`` wide.

    Example:
        >>> shifts(3, 0.6)
        [-0.2, 0.0, 0.2]
    """
    return [round(width * ((place + 0.5) / count - 0.5), 12) for place in range(count)]


class RelearningAxes:
    """Episodes to relearn on a logarithmic axis, and above them a strip for those who never did.

    Each agent has its own row in the strip, so that no agent hides another.

    Args:
        axes: where to draw.
        agents: their styles, in order.
        limits: the smallest and the largest number to be drawn.
        spacing: epochs from one visit of the task to the next.
        labelled: whether the heights are written beside the axis.
    """

    def __init__(
        self,
        axes: Axes,
        agents: dict[str, Style],
        limits: tuple[float, float],
        spacing: float,
        labelled: bool = True,
    ) -> None:
        self.axes, self.agents, self.spacing = axes, agents, spacing
        self.low, high = limits
        height = np.log10(high / self.low)
        edge = high * 10 ** (0.03 * height)
        top = edge * 10 ** ((0.1 + 0.035 * len(agents)) * height)
        self.rows = {
            name: edge * (top / edge) ** ((row + 0.5) / len(agents))
            for row, name in enumerate(reversed(agents))
        }
        plain(axes)
        axes.set(yscale="log", ylim=(self.low, top))
        axes.axhspan(edge, top, color="0.93", lw=0, zorder=0)
        axes.yaxis.set_major_locator(FixedLocator(_ticks(self.low, high)))
        axes.yaxis.set_major_formatter(FuncFormatter(thousands))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.tick_params(labelleft=labelled)
        if labelled:
            beside, middle = axes.get_yaxis_transform(), float(np.sqrt(edge * top))
            axes.text(-0.025, middle, "∞", transform=beside, ha="right", va="center", fontsize=15)
        count_epochs(axes)

    def draw(self, variant: str, epochs: Sequence[Float64], counts: Sequence[Float64]) -> None:
        """A marker per run and visit, and a line through the medians.

        Args:
            variant: the agent.
            epochs: of each run, the epochs that it trained on this task.
            counts: of each run, the episodes it took; infinite where it never relearnt.
        """
        style, names = self.agents[variant], list(self.agents)
        place = shifts(len(names), 0.8 * self.spacing)[names.index(variant)]
        asides = shifts(len(counts), 0.66 * self.spacing)
        order = 3 if leads(variant) else 2
        marks: dict[str, Any] = {"color": style.colour, "marker": style.marker, "ls": "", "mew": 0}
        for x, y, aside in zip(epochs, counts, asides, strict=True):
            known = np.isfinite(y)
            never = x[~known]
            heights = np.maximum(y[known], self.low)
            self.axes.plot(x[known] + place, heights, ms=4, alpha=0.7, zorder=order, **marks)
            self.axes.plot(never + aside, np.full(never.size, self.rows[variant]), ms=3.3, **marks)
        visits, values = by_visit(epochs, counts)
        middle = np.array([np.median(v) for v in values], np.float64)
        middle[~np.isfinite(middle)] = np.nan  # more than half never did: the strip says so
        (line,) = self.axes.plot(visits + place, np.maximum(middle, self.low), zorder=order)
        line.set(color=style.colour, ls=style.dashes, lw=1.2)


def by_visit(
    epochs: Sequence[Float64], numbers: Sequence[Float64]
) -> tuple[Float64, list[Float64]]:
    """The numbers of all runs for each epoch, from those of each run.

    Example:
        >>> visits, values = by_visit([np.array([1.0, 3.0]), np.array([1.0])],
        ...                           [np.array([5.0, 6.0]), np.array([7.0])])
        >>> visits.tolist(), [v.tolist() for v in values]
        ([1.0, 3.0], [[5.0, 7.0], [6.0]])
    """
    every = np.concatenate([*epochs, np.empty(0)])
    flat = np.concatenate([*numbers, np.empty(0)])
    visits = np.unique(every)
    return visits, [flat[every == visit] for visit in visits]


def count_epochs(axes: Axes) -> None:
    """Whole and round numbers on the axis of epochs."""
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers on a logarithmic axis: decades, and with few of those also 3 or 2 and 5."""
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        ticks = sorted(float(d * s) for d in decades for s in steps if low <= d * s <= high)
        if len(ticks) >= 3:
            break
    return ticks


def legend(figure: Figure, agents: dict[str, Style], columns: int = 3) -> None:
    """One legend on top for all panels, in so many columns or as many as there is room for."""
    handles = [
        Line2D([], [], color=s.colour, marker=s.marker, ls=s.dashes, lw=1.2, ms=5, label=name)
        for name, s in agents.items()
    ]
    for count in range(min(columns, len(handles)), 0, -1):
        made = figure.legend(
            handles=handles,
            loc="outside upper center",
            ncols=count,
            frameon=False,
            handlelength=2.6,
            columnspacing=1.4,
        )
        if count == 1 or made.get_window_extent().width <= figure.bbox.width:
            return
        made.remove()


def seeds_in_words(counts: Iterable[int]) -> str:
    """How many seeds there are per agent.

    Example:
        >>> seeds_in_words([3, 3]), seeds_in_words([1]), seeds_in_words([3, 2])
        ('3 seeds', '1 seed', '2 to 3 seeds')
    """
    few, many = min(numbers := list(counts)), max(numbers)
    return f"{few} to {many} seeds" if few < many else f"{few} seed" + "s" * (few != 1)

"""Figures 4, S1 and S2: how long tasks take to relearn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bennafusi.experiments.agent_styles import Style, leads, styles
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.experiments.deep.panels import (
    RelearningAxes,
    by_visit,
    count_epochs,
    legend,
    seeds_in_words,
    shifts,
    task_name,
    thousands,
)
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.results import Picture, RunData
from bennafusi.synapse.chain import Float64


class _Epochs(NamedTuple):
    """What is drawn of one run: a number for every finished epoch."""

    tasks: NDArray[np.str_]
    relearning: Float64
    rewards: Float64
    longest: int

    def of(self, task: str, numbers: Float64) -> tuple[Float64, Float64]:
        """The epochs, counted from 1, that trained a task, and the numbers that belong to them."""
        mine = np.flatnonzero(self.tasks == task)
        return (mine + 1).astype(np.float64), numbers[mine]


Agents = dict[str, list[_Epochs]]


def relearning(runs: list[RunData], folder: Path, stem: str, title: str) -> Picture | None:
    """Draw how long each agent took to relearn, and what it earned: a column per task."""
    groups = _read(runs)
    if not groups:
        return None
    agents, tasks, limits = styles(groups), _tasks(groups), _limits(groups)
    with house_style():
        figure = Figure(figsize=(4.2 + 1.6 * len(tasks), 5.8), layout="constrained")
        upper, lower = figure.subplots(2, len(tasks), sharex=True, squeeze=False)
        for task, above, below in zip(tasks, upper, lower, strict=True):
            _panel(above, agents, groups, limits, (task, len(tasks)), above is upper[0])
            _rewards(below, agents, groups, task, len(tasks))
            above.set_title(task_name(task), fontsize=11)
        upper[0].set(ylabel="episodes to relearn")
        lower[0].set(ylabel="reward per episode")
        figure.align_ylabels([upper[0], lower[0]])
        legend(figure, agents)
        caption = (
            f"(Top) {_measure(tasks)}: a marker per run, a line through the medians. A run that "
            "did not get there within the epoch is at ∞, in its agent's own row. (Bottom) Reward "
            "per episode, averaged over each epoch: mean and one standard deviation. "
            f"{_seeds(groups)}."
        )
        return save(folder / stem, figure, title, caption)


def epoch_length(runs: list[RunData], folder: Path) -> Picture | None:
    """Draw Figure S1: a row per length of an epoch, a column per task.

    An agent's name ends in its number of episodes per epoch: ``benna-fusi-2500``.
    """
    groups = _read(runs)
    if not groups:
        return None
    rows: dict[int, Agents] = {}
    for name, group in groups.items():
        agent, length = _split(name, group)
        rows.setdefault(length, {}).setdefault(agent, []).extend(group)
    agents = styles(sorted({agent for row in rows.values() for agent in row}, reverse=True))
    tasks = _tasks(groups)
    with house_style():
        size = (4.2 + 1.6 * len(tasks), 1.1 + 1.5 * len(rows))
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(rows), len(tasks), sharex="row", squeeze=False)
        for (length, row), panels in zip(sorted(rows.items()), grid, strict=True):
            for axes, task in zip(panels, tasks, strict=True):
                first = axes is panels[0]
                _panel(axes, agents, row, _limits(row), (task, len(tasks)), first)
            panels[-1].yaxis.set_label_position("right")
            panels[-1].set_ylabel(
                f"epochs\nof {thousands(length)}", rotation=0, ha="left", va="center"
            )
        for axes, task in zip(grid[0], tasks, strict=True):
            axes.set_title(task_name(task), fontsize=11)
        for axes in grid[-1]:
            axes.set(xlabel="epoch")
        figure.supylabel("episodes to relearn", fontsize=11)
        legend(figure, agents)
        caption = (
            f"{_measure(tasks)}; a row for each length of an epoch (in episodes, on the right). A "
            "marker per run, a line through the medians, ∞ where a run did not get there within "
            f"its epoch. {_seeds(groups)} and length."
        )
        return save(folder / "figure-s1", figure, "Figure S1: epochs of different length", caption)


def _panel(
    axes: Axes,
    agents: dict[str, Style],
    groups: Agents,
    limits: tuple[float, float],
    task_of: tuple[str, int],
    labelled: bool,
) -> None:
    task, tasks = task_of
    panel = RelearningAxes(axes, agents, limits, tasks, labelled)
    for name in agents:
        visits = [run.of(task, run.relearning) for run in groups.get(name, [])]
        panel.draw(name, [epochs for epochs, _ in visits], [counts for _, counts in visits])


def _rewards(axes: Axes, agents: dict[str, Style], groups: Agents, task: str, spacing: int) -> None:
    for (name, style), place in zip(
        agents.items(), shifts(len(agents), 0.6 * spacing), strict=True
    ):
        mine = [run.of(task, run.rewards) for run in groups[name]]
        visits, values = by_visit([epochs for epochs, _ in mine], [means for _, means in mine])
        drawn = axes.errorbar(
            visits + place,
            [v.mean() for v in values],
            [v.std() for v in values],
            color=style.colour,
            marker=style.marker,
            ls=style.dashes,
            ms=3.8,
            mew=0,
            lw=1.2,
            elinewidth=0.9,
            zorder=3 if leads(name) else 2,
        )
        for bars in drawn.lines[2]:
            bars.set_alpha(0.45)
    axes.set(xlabel="epoch")
    count_epochs(axes)
    plain(axes)


def _read(runs: list[RunData]) -> Agents:
    """The runs that have finished an epoch, each looked through once."""
    found: Agents = {}
    for name, group in measures.by_variant(runs).items():
        for run in group:
            if tasks := measures.epoch_tasks(run):
                longest = max(trials_of(run).episode, default=1)
                numbers = measures.relearning(run), measures.reward_per_epoch(run)
                found.setdefault(name, []).append(_Epochs(np.array(tasks), *numbers, int(longest)))
    return found


def _tasks(groups: Agents) -> list[str]:
    every = [str(task) for group in groups.values() for run in group for task in run.tasks]
    return list(dict.fromkeys(every))


def _limits(groups: Agents) -> tuple[float, float]:
    """What the axis of episodes spans: from the fastest run to a whole epoch."""
    runs = [run for group in groups.values() for run in group]
    longest = max(10, *(run.longest for run in runs))
    counts = np.concatenate([run.relearning for run in runs])
    fastest = min(counts[np.isfinite(counts)], default=longest)
    return max(min(0.8 * float(fastest), longest / 10), 0.5), float(longest)


def _split(name: str, group: list[_Epochs]) -> tuple[str, int]:
    """An agent and its epoch's length, from its name or else its longest epoch."""
    if found := re.fullmatch(r"(.*\D)-(\d+)", name):
        return found[1], int(found[2])
    return name, max(run.longest for run in group)


def _measure(tasks: list[str]) -> str:
    known = {task: measures.THRESHOLDS[task] for task in tasks if task in measures.THRESHOLDS}
    levels = [f"{level:g} ({task_name(task)})" for task, level in known.items()]
    others = [task_name(task) for task in tasks if task not in known]
    reached = " or ".join(filter(None, (", ".join(levels[:-1]), *levels[-1:]))) or "a threshold"
    return (
        "Training episodes from the start of an epoch until the mean reward of "
        f"{measures.RELEARNING_TESTS} test episodes reached {reached}"
        + (f" (nobody has said what is good enough in {', '.join(others)})" if others else "")
    )


def _seeds(groups: Agents) -> str:
    return f"{seeds_in_words(map(len, groups.values()))} per agent"

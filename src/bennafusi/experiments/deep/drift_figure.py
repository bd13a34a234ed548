"""Cause and effect: how far weights wander, and what is left of the reward, by Adam's epsilon."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from bennafusi.experiments.agent_styles import Style, leads, styles
from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep.drift import drift
from bennafusi.experiments.deep.panels import legend, seeds_in_words
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.results import Picture, RunData

Points = dict[float, list[float]]  # by epsilon, one of each seed


class Run(NamedTuple):
    """What is drawn of one: who, Adam's epsilon, how far a weight wanders, the last reward."""

    agent: str
    epsilon: float
    drift: float
    reward: float


def cause_and_effect(
    runs: list[RunData], folder: Path, agents: Iterable[str], between: str
) -> Picture | None:
    """Draw the finished runs, of which a variant is an agent, ``between`` and epsilon."""
    found = []
    for run in runs:
        if judge.finished(run):
            agent, _, epsilon = run.variant.rpartition(between)
            reward = judge.final(judge.LONG_WINDOW)(run)
            found.append(Run(agent, float(epsilon), drift(run), reward))
    return of_numbers(found, folder, agents)


def of_numbers(runs: Iterable[Run], folder: Path, agents: Iterable[str]) -> Picture | None:
    """Draw drift and final reward over epsilon, and one over the other."""
    wandered: dict[str, Points] = {}
    ended: dict[str, Points] = {}
    for run in runs:
        wandered.setdefault(run.agent, {}).setdefault(run.epsilon, []).append(run.drift)
        ended.setdefault(run.agent, {}).setdefault(run.epsilon, []).append(run.reward)
    shown = styles(agent for agent in agents if agent in wandered)
    if not shown:
        return None
    with house_style():
        figure = Figure(figsize=(9.2, 3.4), layout="constrained")
        cause, effect, both = figure.subplots(1, 3)
        for agent, style in shown.items():
            _over_epsilon(cause, style, wandered[agent], agent)
            _over_epsilon(effect, style, ended[agent], agent)
            _against(both, style, wandered[agent], ended[agent], agent)
        wander = "drift of a weight\nin a million steps"
        cause.set(xscale="log", yscale="log", xlabel="Adam's epsilon", ylabel=wander)
        effect.set(xscale="log", xlabel="Adam's epsilon", ylabel="reward of the last tests")
        both.set(xscale="log", xlabel=wander, ylabel="reward of the last tests")
        both.xaxis.set_minor_formatter(NullFormatter())  # of a short range they lie on each other
        for axes in (effect, both):
            axes.set_ylim(-15, 515)
        for axes in (cause, effect, both):
            plain(axes)
        legend(figure, shown, 5)
        counts = [len(numbers) for points in ended.values() for numbers in points.values()]
        text = (
            "Left, the cause: how far a weight wanders late in training (root mean square in a "
            "million steps, second half of the run). Middle, the effect: the mean of the last "
            "tests. Right: one against the other. Each point is a run, lines are medians over "
            f"{seeds_in_words(counts)}."
        )
        title = "Adam's epsilon: how far weights wander, and what is kept"
        return save(folder / "cause-and-effect", figure, title, text)


def _over_epsilon(axes: Axes, style: Style, points: Points, agent: str) -> None:
    order = 3 if leads(agent) else 2
    known = sorted(points)
    for epsilon in known:
        numbers = points[epsilon]
        axes.plot([epsilon] * len(numbers), numbers, style.marker, color=style.colour, ms=4,
                  alpha=0.7, mew=0, zorder=order)  # fmt: skip
    medians = [float(np.median(points[epsilon])) for epsilon in known]
    axes.plot(known, medians, color=style.colour, ls=style.dashes, lw=1.3, zorder=order)


def _against(axes: Axes, style: Style, cause: Points, effect: Points, agent: str) -> None:
    """A mark for each run, larger for a larger epsilon."""
    order = 3 if leads(agent) else 2
    for rank, epsilon in enumerate(sorted(cause)):
        axes.plot(cause[epsilon], effect[epsilon], style.marker, color=style.colour,
                  ms=3.5 + 1.5 * rank, alpha=0.6, mew=0, zorder=order)  # fmt: skip

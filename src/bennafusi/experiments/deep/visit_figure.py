"""Return over steps, a panel for each game and a line for each of its visits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.curve_figure import draw_curve
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.experiments.deep.panels import legend, seeds_in_words, task_name, thousands
from bennafusi.experiments.figure_style import house_style, leads, plain, save, styles
from bennafusi.results import Picture, RunData
from bennafusi.synapse.chain import Float64

MOST_PARTS = 12  # of a visit; the tests of each are averaged


def by_steps(
    runs: Sequence[RunData], folder: Path, stem: str, title: str, caption: str
) -> Picture | None:
    """Draw what agents earn in tests over their steps, each game by itself.

    Games are not averaged with each other, and agents are compared after as many steps: of a game
    that they play badly they have seen more episodes by then.
    """
    groups = measures.by_variant([run for run in runs if trials_of(run).steps.size])
    if not groups:
        return None
    trained = _trained(runs)
    tasks, agents = list(dict.fromkeys(trained.values())), styles(groups)
    with house_style():
        figure = Figure(figsize=(6.4, 1.3 + 2.1 * len(tasks)), layout="constrained")
        panels = figure.subplots(len(tasks), 1, sharex=True, squeeze=False)[:, 0]
        shown = dict(zip(tasks, panels, strict=True))
        for epoch, task in trained.items():
            visits = {name: visit(group, epoch) for name, group in groups.items()}
            visits = {name: found for name, found in visits.items() if found}
            if len(trained) > 1:
                steps = np.concatenate([x for found in visits.values() for x, _ in found])
                shown[task].axvspan(steps.min(), steps.max(), color="0.95", lw=0, zorder=0)
            for order, (name, found) in enumerate(visits.items()):
                front = 3 if leads(name) else 2
                draw_curve(shown[task], agents[name], found, order / len(visits), front)
        for task, axes in shown.items():
            axes.set(title=task_name(task), ylabel="test return")
            plain(axes)
        panels[-1].set(xlabel="steps", xlim=(0, None))
        panels[-1].xaxis.set_major_formatter(FuncFormatter(thousands))
        legend(figure, agents, 3)
        text = (
            f"{caption} Each visit in at most {MOST_PARTS} parts of equally many tests; mean and "
            "one standard deviation (thin lines: each of fewer than 3) over "
            f"{seeds_in_words(map(len, groups.values()))} per agent."
        )
        return save(folder / stem, figure, title, text)


def visit(group: Sequence[RunData], epoch: int) -> list[tuple[Float64, Float64]]:
    """Steps and mean returns in parts of one epoch, of each run that has finished it.

    If none has, of the one that is furthest. All have as many parts, at the same steps: the mean
    over runs of those at which the parts' tests ended.

    Args:
        group: the runs of an agent.
        epoch: counted from 1.
    """
    there = [run for run in group if (trials_of(run).epoch == epoch).any()]
    done = [run for run in there if epoch in measures.switch_epochs(run)]
    if not done and there:
        done = [max(there, key=lambda run: int(trials_of(run).steps[-1]))]
    columns = []
    for run in done:
        tests = trials_of(run)
        mine = tests.epoch == epoch
        columns.append((tests.steps[mine], tests.reward[mine]))
    parts = min(MOST_PARTS, *(steps.size for steps, _ in columns)) if columns else 0
    means = [
        [[part.mean() for part in np.array_split(column, parts)] for column in pair]
        for pair in columns
    ]
    table = np.array(means, np.float64).reshape(len(columns), 2, parts)
    steps = table[:, 0].mean(axis=0) if columns else table[:0, 0]
    return [(steps, returns) for returns in table[:, 1]]


def _trained(runs: Sequence[RunData]) -> dict[int, str]:
    """The game of each epoch that some run has come to."""
    found: dict[int, str] = {}
    for run in runs:
        tests = trials_of(run)
        found |= dict(zip(tests.epoch.tolist(), tests.task.tolist(), strict=True))
    return dict(sorted(found.items()))

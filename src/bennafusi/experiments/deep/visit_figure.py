"""Return over steps, a panel for each game and a line for each of its visits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bennafusi.experiments.agent_styles import leads, styles
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.curve_figure import draw_curve
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.experiments.deep.panels import legend, seeds_in_words, task_name, thousands
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.results import Picture, RunData
from bennafusi.synapse.chain import Float64
from bennafusi.training.deep_state import Trial

MOST_PARTS = 12  # of a visit; the tests of each are averaged


def by_steps(
    runs: Sequence[RunData], folder: Path, stem: str, title: str, caption: str
) -> Picture | None:
    """Draw what agents earn in tests over their steps, each game by itself.

    Games are not averaged with each other, and agents are compared after as many steps: of a game
    that they play badly they have seen more episodes by then.
    """
    groups = {
        name: [seen for run in group if (seen := Seen.of(run)).tests.steps.size]
        for name, group in measures.by_variant(list(runs)).items()
    }
    groups = {name: group for name, group in groups.items() if group}
    if not groups:
        return None
    trained = _trained(seen for group in groups.values() for seen in group)
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


class Seen(NamedTuple):
    """What a run has recorded, read once."""

    tests: Trial
    finished: frozenset[int]  # epochs

    @classmethod
    def of(cls, run: RunData) -> Seen:
        """Of a run that may be unfinished."""
        return cls(trials_of(run), frozenset(measures.switch_epochs(run).tolist()))


def visit(group: Sequence[Seen], epoch: int) -> list[tuple[Float64, Float64]]:
    """Steps and mean returns in parts of one epoch, of each run that has finished it.

    If none has, of the one that is furthest. All have as many parts, at the same steps: the mean
    over runs of those at which the parts' tests ended.

    Args:
        group: the runs of an agent.
        epoch: counted from 1.
    """
    there = [seen for seen in group if (seen.tests.epoch == epoch).any()]
    if not there:
        return []
    furthest = max(there, key=lambda seen: int(seen.tests.steps[-1]))
    shown = [seen.tests for seen in there if epoch in seen.finished] or [furthest.tests]
    columns = [[c[tests.epoch == epoch] for c in (tests.steps, tests.reward)] for tests in shown]
    parts = min(MOST_PARTS, *(steps.size for steps, _ in columns))
    table = np.array(
        [
            [[part.mean() for part in np.array_split(column, parts)] for column in pair]
            for pair in columns
        ],
        np.float64,
    )
    steps = table[:, 0].mean(axis=0)
    return [(steps, returns) for returns in table[:, 1]]


def _trained(every: Iterable[Seen]) -> dict[int, str]:
    """The game of each epoch that some run has come to."""
    found: dict[int, str] = {}
    for tests, _ in every:
        found |= dict(zip(tests.epoch.tolist(), tests.task.tolist(), strict=True))
    return dict(sorted(found.items()))

"""Whether agents can still learn: units, features and weights, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from bennafusi.experiments.agent_styles import leads, styles
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.curve_figure import draw_curve
from bennafusi.experiments.deep.panels import count_epochs, legend, seeds_in_words
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.results import Picture, RunData
from bennafusi.synapse.chain import Float64

PANELS = {
    "dormant": "dormant units, share",
    "rank": "effective rank, last hidden layer",
    "norm": "norm of the weights",
    "moved": "distance from the start",
}
LEAST_EPOCHS = 2  # fewer show no course


def plasticity(runs: Sequence[RunData], folder: Path) -> Picture | None:
    """Draw what says whether a network can still learn, a panel for each measure."""
    groups = {
        name: [look for run in group if len(look := measures.plasticity(run)) > LEAST_EPOCHS]
        for name, group in measures.by_variant(list(runs)).items()
    }
    groups = {name: looks for name, looks in groups.items() if looks}
    if not groups:
        return None
    agents = styles(groups)
    with house_style():
        figure = Figure(figsize=(7.2, 5.4), layout="constrained")
        panels = dict(zip(PANELS, figure.subplots(2, 2, sharex=True).ravel(), strict=True))
        for name, axes in panels.items():
            for order, (variant, looks) in enumerate(groups.items()):
                found = [_course(look, name) for look in looks]
                front = 3 if leads(variant) else 2
                # An agent that began anew has not gone any way that could be measured.
                if not all(np.isnan(values).all() for _, values in found):
                    draw_curve(axes, agents[variant], found, order / len(groups), front)
            axes.set(title=PANELS[name], ylim=(0, None))
            plain(axes)
        for name in ("norm", "moved"):
            panels[name].set_xlabel("epoch")
            count_epochs(panels[name])
        legend(figure, agents, 3)
        text = (
            "At the end of each epoch, in states of the agent's own tests of the task that was "
            "trained: hidden units whose mean activation is at most a tenth of their layer's, "
            "directions that hold 99% of the last hidden layer's singular values, and how large "
            "the weights are and how far from where they began. Mean and one standard deviation "
            "(thin lines: each of fewer than 3) over "
            f"{seeds_in_words(map(len, groups.values()))} per agent."
        )
        return save(folder / "plasticity", figure, "Can it still learn?", text)


def _course(look: dict[int, dict[str, float]], name: str) -> tuple[Float64, Float64]:
    return np.array(list(look), np.float64), np.array([at[name] for at in look.values()])

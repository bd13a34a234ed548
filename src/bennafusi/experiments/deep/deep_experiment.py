"""What all deep experiments share, whatever they are about: job, tables, cost, extent, figures."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

from bennafusi.experiments.deep import deep_measures, deep_records, deep_tables
from bennafusi.experiments.deep.deep_job import DeepRun, online_cost, seconds_per_episode
from bennafusi.experiments.deep.table_s2 import multi_task, online
from bennafusi.experiments.experiment import Experiment, Extent, Runs, drawn
from bennafusi.results import Picture
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.schedule import EACH_STEP, ScheduleKind

# What is told first of an experiment: of several tasks in turn, and of one.
HEADLINE = ("relearnt ", "final moving average", "highest moving average")

# Steps of an episode, on average over a run: the poor ones of the beginning, then full ones.
USUAL_LENGTH = 400


def deep_experiment(**fields: Any) -> Experiment:
    """An experiment of deep agents, which have job, tables, scores, cost and extent in common."""
    common = {
        "job": DeepRun,
        "tables": deep_tables.tables,
        "scores": deep_tables.scores,
        "scalars": deep_records.scalars,
        "seconds": seconds,
        "headline": HEADLINE,
        "extent": extent,
    }
    return Experiment(**{**common, **fields})


def extent(settings: DeepSettings) -> Extent:
    """How long an experiment is, and on which network.

    Example:
        >>> extent(multi_task("quick")).words
        '8 epochs of 5,000 episodes, network 400-200'
        >>> extent(online("quick")).words
        '10,000 episodes, network 100-50'
    """
    epochs = f"{settings.epochs} epochs of " if settings.epochs > 1 else ""
    network = "-".join(map(str, settings.network.hidden))
    words = f"{epochs}{settings.length:,} {settings.unit}, network {network}"
    return Extent(settings.epochs * settings.length, words)


def seconds(settings: DeepSettings) -> float:
    """What one such run costs here, by a short measurement of one like it.

    It is of a Benna-Fusi agent; controls take less. Which of the paper's tasks there are matters
    little; an online run on another one is measured itself, and its episodes are thought to be
    between those of an agent that has not learnt much and the usual ones.
    """
    kind, hidden = settings.schedule.kind, settings.network.hidden
    if settings.separate and kind in EACH_STEP:
        cost = _own_cost(settings)
        length = between(cost.length, min(USUAL_LENGTH, settings.max_steps))
        each = cost.step * length
    else:
        length, each = USUAL_LENGTH, _episode_seconds(kind, hidden)
    episodes = settings.episodes if settings.steps is None else settings.steps / length
    return each * settings.epochs * episodes


def between(early: float, most: float) -> float:
    """The geometric mean of two lengths, of which the first is at most the second.

    Example:
        >>> between(25, most=400), between(500, most=400)
        (100.0, 400.0)
    """
    return math.sqrt(min(early, most) * most)


_own_cost = functools.cache(online_cost)


@functools.cache  # most of it is compiling, and a list of all experiments asks for each
def _episode_seconds(schedule: ScheduleKind, hidden: tuple[int, ...]) -> float:
    alone = schedule in EACH_STEP
    settings = online("paper") if alone else multi_task("paper")
    return seconds_per_episode(changed(settings, {"network.hidden": hidden}), USUAL_LENGTH)


def relearning_figures(runs: Runs, folder: Path, stem: str, title: str) -> list[Picture]:
    """How long each task takes to relearn, what the beakers hold meanwhile, and what they know."""
    from bennafusi.experiments.deep import (
        beaker_figure,
        depth_figure,
        plasticity_figure,
        relearning_figure,
    )

    return drawn(
        relearning_figure.relearning(runs, folder, stem, title),
        beaker_figure.beakers(runs, folder),
        depth_figure.depths(runs, folder),
        plasticity_figure.plasticity(runs, folder),
    )


def curve(
    runs: Runs, folder: Path, stem: str, title: str, caption: str, paper_window: int
) -> Picture | None:
    """The moving average of all runs, over the window of the run that is furthest."""
    from bennafusi.experiments.deep import curve_figure

    window = max((deep_measures.window_of(run, paper_window) for run in runs), default=1)
    return curve_figure.online(runs, folder, stem, title, caption, window)


def curve_figures(
    runs: Runs, folder: Path, stem: str, title: str, caption: str, paper_window: int
) -> list[Picture]:
    """The moving average, what the beakers hold and know, and the depth that is worth reading."""
    from bennafusi.experiments.deep import beaker_figure, depth_figure, readout_figure

    mine = [run for run in runs if run.variant == "benna-fusi"]
    return drawn(
        curve(runs, folder, stem, title, caption, paper_window),
        beaker_figure.beakers(runs, folder),
        depth_figure.depths(runs, folder),
        readout_figure.beside_the_weights(mine, folder),
    )

"""What the deep experiments share: their size at each scale, how a variant becomes a job.

The paper's numbers stand in :mod:`bennafusi.training.deep_settings` and nowhere else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from bennafusi.experiments.deep import measures
from bennafusi.experiments.deep.job import DeepRun, seconds_per_episode
from bennafusi.results import Picture, RunData
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import ONLINE, DeepSettings, ScheduleKind

Scale = Literal["smoke", "quick", "paper"]
Changes = Mapping[str, Any]
Variants = dict[str, dict[str, Any]]

# The tables name two discounts; the longer pole is given Cart-Pole's.
_CARTPOLE, _CATCHER = DeepSettings.gammas
GAMMAS = {"cartpole": _CARTPOLE, "catcher": _CATCHER, "cartpole-long": _CARTPOLE}

# "10^-3 to 10^-6": one control agent for each power of ten.
CONTROLS: Variants = {
    f"control-{rate}": {"chain.n": 1, "optimizer.learning_rate": float(rate)}
    for rate in ("1e-3", "1e-4", "1e-5", "1e-6")
}

# Seconds. Tests come often, so that even a handful of episodes has some.
_SMOKE: dict[str, Any] = {"network.hidden": (8, 8), "max_steps": 50, "test_every": 2}
SMOKE_MULTI: dict[str, Any] = {**_SMOKE, "episodes": 20, "epochs": 4}
SMOKE_ONLINE: dict[str, Any] = {**_SMOKE, "episodes": 40}

# Minutes.
QUICK_MULTI: dict[str, Any] = {"network.hidden": (100, 50), "episodes": 5_000, "epochs": 12}
QUICK_ONLINE: dict[str, Any] = {"episodes": 10_000}

# Steps of an episode, on average over a run: the poor ones of the beginning, then full ones.
USUAL_LENGTH = 400


def task_fields(*tasks: str) -> dict[str, Any]:
    """The settings that name the tasks.

    Example:
        >>> task_fields("catcher")
        {'tasks': ('catcher',), 'gammas': (0.99,)}
    """
    return {"tasks": tasks, "gammas": tuple(GAMMAS[task] for task in tasks)}


def multi_task(scale: Scale, changes: Changes | None = None) -> DeepSettings:
    """Several tasks in turn, Table S2's first column.

    Args:
        scale: how much of it.
        changes: in which an experiment differs from that, by path.
    """
    sizes = {"paper": {}, "quick": QUICK_MULTI, "smoke": SMOKE_MULTI}
    return changed(DeepSettings(), {**sizes[scale], **(changes or {})})


def online(scale: Scale, task: str) -> DeepSettings:
    """One task learnt step by step, Table S2's second column."""
    sizes = {"paper": {}, "quick": QUICK_ONLINE, "smoke": SMOKE_ONLINE}
    return changed(DeepSettings(), {**ONLINE, **task_fields(task), **sizes[scale]})


def varied(base: DeepSettings, changes: Changes) -> DeepSettings:
    """The settings of a variant; a change may be a function of the settings that it changes.

    Example:
        >>> base = DeepSettings(episodes=80)
        >>> varied(base, {"chain.n": 1, "episodes": lambda base: base.episodes // 8}).episodes
        10
    """
    fields = {name: value(base) if callable(value) else value for name, value in changes.items()}
    return changed(base, fields)


def jobs(variants: Variants) -> Callable[[str, int, DeepSettings], DeepRun]:
    """What makes the job of one agent and seed, given an experiment's variants."""

    def job(variant: str, seed: int, base: DeepSettings) -> DeepRun:
        if variant not in variants:
            raise ValueError(f"variant={variant!r}: choose one of {', '.join(variants)}")
        return DeepRun(varied(base, variants[variant]), seed)

    return job


def run_seconds(settings: DeepSettings) -> float:
    """What one paper-scale run costs here, by a short measurement of one like it.

    It is of a Benna-Fusi agent; controls take less. Which tasks there are matters little.
    """
    return _episode_seconds(settings.schedule.kind) * settings.epochs * settings.episodes


@functools.cache  # most of it is compiling, and a list of all experiments asks for each
def _episode_seconds(schedule: ScheduleKind) -> float:
    settings = online("paper", "cartpole") if schedule == "online" else multi_task("paper")
    return seconds_per_episode(settings, USUAL_LENGTH)


def drawn(*drawings: Picture | None) -> list[Picture]:
    """The figures that the runs were far enough for."""
    return [drawing for drawing in drawings if drawing is not None]


def online_figure(
    runs: list[RunData], folder: Path, stem: str, title: str, caption: str, paper_window: int
) -> list[Picture]:
    """The moving average of all runs, over the window that the run that is furthest has."""
    from bennafusi.experiments.deep import figures

    window = max((measures.window_of(run, paper_window) for run in runs), default=1)
    return drawn(figures.online(runs, folder, stem, title, caption, window))

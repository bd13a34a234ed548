"""The experiment ``train``: one deep agent of the user's choice; ``bennafusi train`` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from bennafusi.envs.catalogue import TASKS as WORLDS
from bennafusi.experiments.deep import scales
from bennafusi.experiments.deep.tables import numbers as numbers
from bennafusi.experiments.deep.tables import scores as scores
from bennafusi.results import Finding, Picture, RunData
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import ONLINE, DeepSettings, ScheduleKind

TASKS = tuple(WORLDS)
SCHEDULES: tuple[str, ...] = get_args(ScheduleKind)

VARIANTS: scales.Variants = {"benna-fusi": {}, "control": {"chain.n": 1}}
DEFAULT_VARIANTS = tuple(VARIANTS)
Job = scales.jobs(VARIANTS)


def settings(scale: scales.Scale) -> DeepSettings:
    """Cart-Pole alone, learnt online."""
    return scales.online(scale, "cartpole")


def choose(tasks: Sequence[str], schedule: ScheduleKind) -> DeepSettings:
    """Table S2, the column of the schedule; one task has one epoch, several take turns in 40.

    Example:
        >>> choose(["catcher"], "online").episodes, choose(["catcher"], "episodic").episodes
        (100000, 20000)
    """
    column = ONLINE if schedule == "online" else {}
    usual, start = DeepSettings(), "chain.hidden_start"
    several = {"epochs": usual.epochs, "episodes": usual.episodes, start: usual.chain.hidden_start}
    one = {"epochs": 1, start: ONLINE[start]}
    number = one if len(tasks) == 1 else several
    return changed(usual, {**column, **number, **scales.task_fields(*tasks)})


def awake(settings: DeepSettings, updates: int) -> int:
    """How many beakers can act on the weight after so many updates."""
    return settings.chain.awake(updates)


def scalars(settings: DeepSettings, record: dict[str, Any]) -> tuple[int, dict[str, float]]:
    """A record as the episode it belongs to, and its numbers by name; none of the levels'."""
    if record["kind"] == "levels":
        return record["episode"], {}
    if record["kind"] == "test":
        step = (record["epoch"] - 1) * settings.episodes + record["episode"]
        numbers = {k: v for k, v in record.items() if k not in ("kind", "task", "epoch", "episode")}
        task = {f"{k}/{record['task']}": numbers.pop(k) for k in ("reward", "length")}
        training = {
            f"{k}/{record['task']}": numbers.pop(k) for k in ("training_reward", "training_length")
        }
        return step, {**task, **training, **numbers}
    tests = {f"switch/{task}": sum(r) / len(r) for task, r in record["tests"].items()}
    distances = {
        f"distance/{group}/{place:02}": gap
        for group, gaps in record["distances"].items()
        for place, gap in enumerate(gaps, start=1)
    }
    return record["epoch"] * settings.episodes, {**tests, "awake": record["awake"], **distances}


def claims(runs: Sequence[RunData]) -> list[Finding]:
    """The paper says nothing of a run that a user made up."""
    del runs
    return []


def figures(runs: Sequence[RunData], folder: Path) -> list[Picture]:
    """Nothing is drawn; ``bennafusi watch`` shows the agent itself."""
    del runs, folder
    return []


def calibrate() -> float:
    """Seconds of one paper-scale run here."""
    return scales.run_seconds(settings("paper"))

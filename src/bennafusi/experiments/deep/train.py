"""The experiment ``train``: one deep agent of the user's choice; ``bennafusi train`` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from bennafusi.envs.named import TASKS as ENVS
from bennafusi.experiments.deep import table_s2
from bennafusi.experiments.deep.deep_job import SWITCH_TESTS
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import ONLINE, DeepSettings, ScheduleKind

TASKS = tuple(ENVS)
SCHEDULES: tuple[str, ...] = get_args(ScheduleKind)
GAMES = SWITCH_TESTS  # of each depth, with --depths


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
    return changed(usual, {**column, **number, **table_s2.task_fields(*tasks)})


def awake(settings: DeepSettings, updates: int) -> int:
    """How many beakers can act on the weight after so many updates."""
    return settings.chain.awake(updates)


EXPERIMENT = table_s2.deep_experiment(
    name="train",
    title="One deep agent",
    lead="Made by bennafusi train: an agent of the user's choice, on tasks of the user's choice.",
    summary="one deep agent; made by bennafusi train",
    variants={"benna-fusi": {}, "control": {"chain.n": 1}},
    settings=table_s2.online,
)

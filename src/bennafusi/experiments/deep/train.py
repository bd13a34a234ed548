"""The experiment ``train``: one deep agent of the user's choice; ``bennafusi train`` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from bennafusi.envs.gymnax_tasks import PREFIX
from bennafusi.envs.named import GYMNAX, find
from bennafusi.envs.named import TASKS as ENVS
from bennafusi.envs.task import observation_shape
from bennafusi.experiments.deep import table_s2
from bennafusi.experiments.deep.deep_experiment import deep_experiment
from bennafusi.experiments.deep.deep_job import SWITCH_TESTS
from bennafusi.synapse.reach import reach
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import MINIBATCH, ONLINE, STREAM, STREAM_CHAIN, DeepSettings
from bennafusi.training.schedule import EACH_STEP, ScheduleKind

TASKS = (*ENVS, *GYMNAX)
SCHEDULES: tuple[str, ...] = get_args(ScheduleKind)
GAMES = SWITCH_TESTS  # of each depth, with --depths


FILTERS = 16  # of a network that sees a grid
TURNS = 7  # epochs of games in turn


def known(task: str) -> bool:
    """Whether there may be such a task; gymnax itself says whether it has one."""
    return task in TASKS or task.startswith(PREFIX)


def usual_schedule(tasks: Sequence[str]) -> ScheduleKind:
    """How tasks are learnt unless said otherwise."""
    return "minibatch" if any(task.startswith(PREFIX) for task in tasks) else "online"


def choose(tasks: Sequence[str], schedule: ScheduleKind) -> DeepSettings:
    """Table S2, the column of the schedule; one task has one epoch, several take turns in 40.

    Minibatches and stream-Q are not the paper's: they have the numbers of the published MinAtar
    sequences, and those of stream-Q's own paper.

    Example:
        >>> choose(["catcher"], "online").episodes, choose(["catcher"], "episodic").episodes
        (100000, 20000)
    """
    if schedule == "minibatch":
        return _minibatch(tasks)
    column = ONLINE if schedule in EACH_STEP else {}
    usual, start = DeepSettings(), "chain.hidden_start"
    several = {"epochs": usual.epochs, "episodes": usual.episodes, start: usual.chain.hidden_start}
    one = {"epochs": 1, start: ONLINE[start]}
    number = one if len(tasks) == 1 else several
    stream = {**STREAM, **STREAM_CHAIN} if schedule == "stream" else {}
    return changed(usual, {**column, **number, **stream, **table_s2.task_fields(*tasks)})


def _minibatch(tasks: Sequence[str]) -> DeepSettings:
    try:
        envs = [find(task) for task in tasks]
    except ValueError as error:
        raise ValueError(f"tasks: {error}") from error
    grid = all(len(observation_shape(env)) == 3 for env in envs)
    longest = max(env.max_steps for env in envs)
    own = {"max_steps": longest, "network.filters": FILTERS if grid else 0}
    turns = {"epochs": 1 if len(tasks) == 1 else TURNS}
    return changed(DeepSettings(), {**MINIBATCH, **own, **turns, **table_s2.task_fields(*tasks)})


def reach_in_words(settings: DeepSettings) -> str:
    """How far the chains let weights go, for a user who waits for the run; "" without chains.

    Nor of stream-Q, of whose steps not each has a bound but all of them together.

    Example:
        >>> reach_in_words(choose(["cartpole"], "online"))
        'reach: 0.1, which is 0.2, 1 and 0.71 standard deviations of the layers at their start'
    """
    chain = settings.chain
    if chain.n == 1 or settings.schedule.kind == "stream":
        return ""
    rate = settings.optimizer.learning_rate
    far = reach(chain.chain, rate, every=chain.every, dt=chain.dt)
    layers = [f"{far * rows**0.5:.2g}" for rows, _ in settings.network.layers(settings.sizes)]
    mine = {"all": layers, "body": layers[:-1], "head": layers[-1:]}[chain.layers]
    words = " and ".join(filter(None, (", ".join(mine[:-1]), mine[-1])))
    return f"reach: {far:.2g}, which is {words} standard deviations of the layers at their start"


EXPERIMENT = deep_experiment(
    name="train",
    title="One deep agent",
    lead="Made by bennafusi train: an agent of the user's choice, on tasks of the user's choice.",
    summary="one deep agent; made by bennafusi train",
    variants={"benna-fusi": {}, "control": {"chain.n": 1}},
    settings=table_s2.online,
    seeds=1,
)

"""The metrics of several tasks in turn, from the records of a run.

A measure is called like the function of :mod:`bennafusi.metrics` that it comes from; then follow
its task and its unit. What is not known is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.metrics import (
    Duration,
    area_under_curve,
    average_performance,
    drop_after_switch,
    forgetting_from_end,
    forgetting_from_peak,
    forward_transfer,
    median_duration,
    relearning_gain,
    zero_shot_transfer,
)
from bennafusi.results import RunData
from bennafusi.synapse.chain import Float64

UNKNOWN = float("nan")


def by_task(run: RunData) -> dict[str, dict[str, float]]:
    """The metrics of each task by name; none before an epoch is finished.

    Relearning is of tasks that have a threshold alone, transfer of all but the first.
    """
    curves = {
        "reward {}, later visits": later_reward(run),
        "drop after switch {}, reward": drops(run),
        "area under curve {}, reward": areas(run),
    }
    relearnt, found = _relearnt(run), {}
    for task, kept in _kept(run).items():
        tests = {name: known.get(task, UNKNOWN) for name, known in curves.items()}
        numbers = {**relearnt.get(task, {}), **tests, **kept}
        found[task] = {name.format(task): number for name, number in numbers.items()}
    return found


def average(run: RunData) -> float:
    """:func:`bennafusi.metrics.average_performance` of scores as shares of their thresholds.

    Rewards of different tasks have no mean that says anything. NaN if one has no threshold.
    """
    levels = [measures.THRESHOLDS.get(task, UNKNOWN) for task in measures.switch_scores(run)]
    scores, trained = switch_table(run)
    return average_performance(scores / np.array(levels)) if trained else UNKNOWN


def switch_table(run: RunData) -> tuple[Float64, list[int]]:
    """Scores ``[switches + 1, tasks]`` and the task of each epoch, as the metrics ask for them."""
    scores = measures.switch_scores(run)
    places = {task: place for place, task in enumerate(scores)}
    table = np.array([*scores.values()], np.float64).T
    return table, [places[task] for task in measures.epoch_tasks(run)]


def lost_by_switch(scores: Float64, trained: Sequence[int]) -> Float64:
    """Of each task :func:`bennafusi.metrics.forgetting_from_end` of the run up to a switch, mean.

    Over all switches at which another task had just been trained: one that comes back again and
    again is lost several times, and the end of the run shows the last time at most.

    Example:
        >>> lost_by_switch(np.array([[0, 0], [9, 1], [5, 7], [8, 3]]), [0, 1, 0])
        array([4., 4.])
    """
    lost: list[list[float]] = [[] for _ in range(scores.shape[1])]
    for epoch, last in enumerate(trained, start=1):
        so_far = forgetting_from_end(scores[: epoch + 1], trained[:epoch])
        for task in set(trained[:epoch]) - {last}:
            lost[task].append(float(so_far[task]))
    return np.array([np.mean(each) if each else UNKNOWN for each in lost], np.float64)


def later_reward(run: RunData) -> dict[str, float]:
    """Mean reward per episode of each task in its visits after the first, if there were any."""
    rewards: dict[str, list[float]] = {}
    for task, reward in zip(measures.epoch_tasks(run), measures.reward_per_epoch(run), strict=True):
        rewards.setdefault(task, []).append(float(reward))
    return {task: float(np.mean(each[1:])) for task, each in rewards.items() if each[1:]}


def areas(run: RunData) -> dict[str, float]:
    """:func:`bennafusi.metrics.area_under_curve` of all tests of each task, without times."""
    tests = trials_of(run)
    return {
        str(task): area_under_curve(tests.reward[tests.task == task])
        for task in dict.fromkeys(tests.task.tolist())
    }


def drops(run: RunData) -> dict[str, float]:
    """:func:`bennafusi.metrics.drop_after_switch` of each task's own tests, mean over its returns.

    Over 10 tests on either side, or as many as its shortest visit has. A task that did not come
    back is left out.
    """
    found = {}
    for task, visits in _visits(run).items():
        lengths = [len(visit) for visit in visits]
        window, returns = min(measures.RELEARNING_TESTS, *lengths), [*accumulate(lengths)][:-1]
        if returns:
            each = drop_after_switch(np.concatenate(visits), returns, window)
            found[task] = float(each.mean())
    return found


def transfer(run: RunData, alone: RunData) -> dict[str, float]:
    """:func:`bennafusi.metrics.forward_transfer` of each task's first visit but the first task's.

    The best there is is what perfect play earns; a task of which that is not known is left out.

    Args:
        run: of the agent.
        alone: of the same seed, by the control agent at its own rate that begins each epoch anew,
            so that an agent's own speed counts as well.
    """
    mine, there, found = _visits(run), _visits(alone), {}
    for task in [*mine][1:]:
        if best := measures.PERFECT.get(task):
            visit, own = mine[task][0], there.get(task, [np.empty(0)])[0]
            known = visit.shape == own.shape and own.mean() < best
            found[task] = forward_transfer(visit, own, best) if known else UNKNOWN
    return found


def _visits(run: RunData) -> dict[str, list[Float64]]:
    """The test rewards of each visit, by task; epochs of one task in a row are one visit."""
    tests, before = trials_of(run), ""
    found: dict[str, list[Float64]] = {}
    for task, mine in measures.epochs(run, tests):
        rewards = tests.reward[mine].astype(np.float64)
        if task == before and task in found:
            found[task][-1] = np.concatenate([found[task][-1], rewards])
        elif rewards.size:
            found.setdefault(task, []).append(rewards)
        before = task
    return found


def _kept(run: RunData) -> dict[str, dict[str, float]]:
    """What the scores at switches say of each task."""
    scores, trained = switch_table(run)
    if not trained:
        return {}
    transfer = "zero-shot transfer {}, reward"
    parts = {
        "forgetting from end {}, reward": forgetting_from_end(scores, trained),
        "forgetting from end {}, reward, mean over switches": lost_by_switch(scores, trained),
        "forgetting from peak {}, reward": forgetting_from_peak(scores),
        transfer: zero_shot_transfer(scores, trained),
    }
    found = {
        task: {name: float(each[place]) for name, each in parts.items()}
        for place, task in enumerate(measures.switch_scores(run))
    }
    del found[measures.epoch_tasks(run)[0]][transfer]
    return found


def _relearnt(run: RunData) -> dict[str, dict[str, float]]:
    """How often and how soon tasks with a threshold were relearnt, visits after the first."""
    took: dict[str, list[Duration]] = {}
    for task, duration in zip(measures.epoch_tasks(run), measures.durations(run), strict=True):
        if task in measures.THRESHOLDS:
            took.setdefault(task, []).append(duration)
    found = {}
    for task, (first, *later) in took.items():
        again = median_duration(later) if later else UNKNOWN
        reached = sum(duration.reached for duration in later)
        found[task] = {
            "relearnt {}, share of later visits": reached / len(later) if later else UNKNOWN,
            "median duration {}, episodes to relearn": again,
            "relearning gain {}, share of episodes": _gain(first, again),
        }
    return found


def _gain(first: Duration, again: float) -> float:
    """NaN where the first time is not known or took nothing: there is no part of it to save."""
    if not first.reached or first.time <= 0:
        return UNKNOWN
    return relearning_gain(first.time, again)

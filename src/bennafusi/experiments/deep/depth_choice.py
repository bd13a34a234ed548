"""Which depth to go on with at a switch: chosen by some of the games that a look has recorded.

The depths of a look all play the same games. The first half of them chooses; whatever is said of
the choice is said by the other half, because the best of many depths in the same few games is
partly the luckiest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bennafusi.experiments.deep.deep_measures import THRESHOLDS, epoch_tasks
from bennafusi.results import RunData

MARGIN = 0.1  # of a task's threshold, by which a depth must beat the weights

Look = dict[str, Any]  # a record of kind ``depths``


def chosen(look: Look, task: str, margin: float = MARGIN) -> int:
    """The depth that plays a task best; 1, the weights, unless they are beaten clearly.

    Args:
        look: a record of kind ``depths``.
        task: that is about to be trained.
        margin: the share of the task's threshold by which the weights must be beaten.

    Example:
        >>> look = {"depths": [1, 2], "rewards": {"cartpole": [[100, 0], [140, 0]]}}
        >>> chosen(look, "cartpole"), chosen(look, "cartpole", margin=0.05)
        (1, 2)
    """
    means = [float(np.mean(games)) for games in _choosing(look, task)]
    best = int(np.argmax(means))  # the shallowest of equals
    clear = means[best] - means[0] > margin * THRESHOLDS[task]
    return int(look["depths"][best]) if clear else 1


def earned(look: Look, task: str, depth: int) -> float:
    """What a depth earned in the games that choose."""
    return float(np.mean(_choosing(look, task)[look["depths"].index(depth)]))


def gain(look: Look, task: str, depth: int) -> float:
    """What a depth earns beyond the weights, in the games that did not choose.

    Example:
        >>> look = {"depths": [1, 2], "rewards": {"cartpole": [[100, 20], [140, 90]]}}
        >>> gain(look, "cartpole", 2)
        70.0
    """
    games = look["rewards"][task]
    mine, weights = games[look["depths"].index(depth)], games[0]
    half = len(weights) // 2
    return float(np.mean(mine[half:]) - np.mean(weights[half:]))


class Return(NamedTuple):
    """A switch to a task that was trained before.

    Attributes:
        task: that begins.
        look: at the depths, right before it begins.
    """

    task: str
    look: Look


def returns(run: RunData) -> Iterator[Return]:
    """The switches of a run to tasks that were trained before, the end of the last epoch included.

    At its end a run could go on with the task whose turn it is, whether it does or not.
    """
    ended = len(epoch_tasks(run))
    looks = {look["epoch"]: look for look in run.records if look["kind"] == "depths"}
    for epoch, look in looks.items():  # the last look of an epoch is the one at its end
        tasks = list(look["rewards"])
        if len(tasks) <= epoch <= ended and len(look["rewards"][tasks[0]][0]) > 1:
            yield Return(tasks[epoch % len(tasks)], look)


def _choosing(look: Look, task: str) -> list[list[float]]:
    return [games[: max(1, len(games) // 2)] for games in look["rewards"][task]]

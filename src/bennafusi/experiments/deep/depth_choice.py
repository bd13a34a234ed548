"""Which depth to go on with at a switch: chosen by some of the games that a look has recorded.

The depths of a look all play the same games. The first half of them chooses; whatever is said of
the choice is said by the other half, because the best of many depths in the same few games is
partly the luckiest one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bennafusi.experiments.deep.deep_measures import THRESHOLDS, epoch_tasks
from bennafusi.results import RunData

MARGIN = 0.1  # of a task's threshold, by which a depth must beat the weights

Look = dict[str, Any]  # a record of kind ``depths``


def chosen(look: Look, task: str, margin: float = MARGIN) -> int:
    """The depth that plays a task best; 1, the weights, unless they are beaten clearly.

    Clearly is by ``margin`` of the threshold of the task, which is about to be trained.

    Example:
        >>> look = {"depths": [1, 2], "rewards": {"cartpole": [[100, 0], [140, 0]]}}
        >>> chosen(look, "cartpole"), chosen(look, "cartpole", margin=0.05)
        (1, 2)
    """
    found = best(look, task)
    clear = earned(look, task, found) - earned(look, task, 1) > margin * THRESHOLDS[task]
    return found if clear else 1


def best(look: Look, task: str) -> int:
    """The depth that earned most in the games that choose; the shallowest of equals.

    Example:
        >>> look = {"depths": [1, 2, 3], "rewards": {"catcher": [[5, 9], [6, 0], [6, 9]]}}
        >>> best(look, "catcher")
        2
    """
    means = [float(np.mean(games)) for games in _choosing(look, task)]
    return int(look["depths"][int(np.argmax(means))])


def by_loss(look: Look) -> int | None:
    """The depth with the smallest loss on the weights' own games, if clearly below theirs.

    Example:
        >>> by_loss({"depths": [1, 2, 3], "losses": [1.0, 0.95, 0.8]}), by_loss({})
        (3, None)
    """
    if "losses" not in look:
        return None
    losses = np.asarray(look["losses"])
    best = int(np.argmin(losses))
    return int(look["depths"][best]) if losses[best] < (1 - MARGIN) * losses[0] else 1


def by_agreement(look: Look) -> int | None:
    """The depth that most often chooses as the other depths do, if clearly more than the weights.

    Example:
        >>> by_agreement({"depths": [1, 2, 3], "agreement": [0.5, 0.55, 0.7]}), by_agreement({})
        (3, None)
    """
    if "agreement" not in look:
        return None
    shares = np.asarray(look["agreement"])
    best = int(np.argmax(shares))
    return int(look["depths"][best]) if shares[best] > shares[0] + MARGIN else 1


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


class Switch(NamedTuple):
    """A switch, and one of the tasks at it."""

    task: str  # that begins, or that has ended
    look: Look  # at the depths, between the two


def returns(run: RunData) -> list[Switch]:
    """The switches of a run to tasks that were trained before, the end of the last epoch included.

    At its end a run could go on with the task whose turn it is, whether it does or not.
    """
    found = []
    for look in _at_switches(run):
        tasks = list(look["rewards"])
        if look["epoch"] >= len(tasks):
            found.append(Switch(tasks[look["epoch"] % len(tasks)], look))
    return found


def ends(run: RunData) -> list[Switch]:
    """The ends of a run's epochs, with the task that was trained in each."""
    return [Switch(look["task"], look) for look in _at_switches(run)]


def _at_switches(run: RunData) -> list[Look]:
    """The looks at the end of every epoch; those of one game have none left to judge by."""
    ended = len(epoch_tasks(run))
    looks = {look["epoch"]: look for look in run.records if look["kind"] == "depths"}
    games = {epoch: len(next(iter(look["rewards"].values()))[0]) for epoch, look in looks.items()}
    # The last look of an epoch that has ended is the one at its end.
    return [look for epoch, look in looks.items() if 0 < epoch <= ended and games[epoch] > 1]


def _choosing(look: Look, task: str) -> list[list[float]]:
    return [games[: max(1, len(games) // 2)] for games in look["rewards"][task]]

"""An episode of one of the paper's tasks as plain numbers: to be drawn, and small, to be kept."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np

from bennafusi.envs.cartpole import FARTHEST, STEEPEST, CartPole
from bennafusi.envs.control import ControlTask
from bennafusi.training.rollout import Trajectory

MOST_FRAMES = 250  # of a game that is kept; of a longer one every second or third step
MOST_SWITCHES = 24  # of a run, at which games are kept
# What moves in a picture, and how finely it is kept: metres, radians, pixels, reward.
UNITS = {"x": 0.01, "angle": 0.001, "column": 1, "row": 1, "paddle": 1, "totals": 1}


def kept_at(epochs: int, epoch: int) -> bool:
    """Whether games are kept at the end of an epoch: of a long run only at every so manieth.

    Example:
        >>> [epoch for epoch in range(9) if kept_at(8, epoch)]
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
        >>> [epoch for epoch in range(61) if kept_at(60, epoch)][-4:]
        [51, 54, 57, 60]
    """
    return epoch % -(-epochs // MOST_SWITCHES) == 0 or epoch == epochs


def frames(env: ControlTask, played: Trajectory) -> dict[str, Any]:
    """All that a page needs to draw an episode: what stays as it is, and lists of what moves.

    Args:
        env: the task.
        played: one episode of it, without the void.
    """
    rows = played.states.values.tolist()
    names = "".join(env.action_names[action][:1] for action in played.actions)
    return {
        **(_cart(env, rows) if isinstance(env, CartPole) else _catcher(rows)),
        "totals": [float(f"{total:g}") for total in played.returns],
        "actions": f"-{names}",
    }


def packed(drawn: dict[str, Any]) -> dict[str, Any]:
    """An episode small enough for a record: coarser in time and place, a kilobyte or two.

    Args:
        drawn: what :func:`frames` gave.

    Returns:
        What stays as it is, ``reward``, ``steps``, of which one in ``every`` is there, and the
        last; their ``actions``; and in ``moves`` of each list its ``unit`` and ``runs``: see
        :func:`runs`.

    Example:
        >>> small = packed({"x": [0.5, 0.5, 0.52], "totals": [0, 1, 2], "actions": "-lr"})
        >>> small["reward"], small["steps"], small["every"], small["moves"]["x"]
        (2, 2, 1, {'unit': 0.01, 'runs': [50, 0, 2]})
    """
    steps = len(drawn["totals"]) - 1
    every = max(1, -(-steps // MOST_FRAMES))
    shown = [*range(0, steps, every), steps]
    moves = {}
    for name in (name for name in UNITS if name in drawn):
        whole = np.round(np.array(drawn[name])[shown] / UNITS[name]).astype(int)
        moves[name] = {"unit": UNITS[name], "runs": runs(np.diff(whole, prepend=0).tolist())}
    return {
        **{name: part for name, part in drawn.items() if name not in UNITS},
        "reward": drawn["totals"][-1],
        "steps": steps,
        "every": every,
        "actions": "".join(drawn["actions"][step] for step in shown),
        "moves": moves,
    }


def runs(changes: Iterable[int]) -> list[int | list[int]]:
    """Changes from frame to frame; one that comes three times or more as itself and how often.

    Example:
        >>> runs([40, 2, 2, 2, 2, -9, 0, 0])
        [40, [2, 4], -9, 0, 0]
    """
    found: list[int | list[int]] = []
    for change, same in groupby(changes):
        times = len(list(same))
        found += [[change, times]] if times > 2 else [change] * times
    return found


def _cart(world: CartPole, rows: list[list[float]]) -> dict[str, Any]:
    return {
        "kind": "cartpole",
        "pole": 2 * world.half_length,
        "farthest": FARTHEST,
        "steepest": round(STEEPEST, 4),
        "x": [round(row[0], 3) for row in rows],
        "angle": [round(row[2], 4) for row in rows],
    }


def _catcher(rows: list[list[float]]) -> dict[str, Any]:
    return {
        "kind": "catcher",
        "column": [int(row[0]) for row in rows],
        "row": [int(row[3]) for row in rows],
        "paddle": [int(row[2]) for row in rows],
    }

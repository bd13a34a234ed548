"""What the depths of a table know: how the greedy policy of each beaker finds either goal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bennafusi.envs.grid import Grid
from bennafusi.synapse.chain import Float64


def path_lengths(grid: Grid, values: Float64, goal: int) -> list[int | None]:
    """Steps that the greedy policy takes from each cell to pick up at the goal; None for never.

    Values are a table, ``[cells, actions]``. Of actions that tie the first is taken, so that a
    table of zeros walks into a wall.

    Example:
        >>> grid, values = Grid(size=2), np.zeros((4, 5))
        >>> values[0, 1] = values[1, 4] = values[2, 2] = 1  # right, pick up, down into the wall
        >>> path_lengths(grid, values, goal=1)
        [2, 1, None, 2]
    """
    action = np.argmax(values, axis=1)
    after = _moved(grid, action)
    steps = np.where((action == 4) & (np.arange(grid.cells) == goal), 1, 0)
    for _ in range(grid.cells):  # no shorter way is longer than that
        known = steps[after] > 0
        longer = np.where((steps == 0) & known, steps[after] + 1, steps)
        if (longer == steps).all():
            break
        steps = longer
    return [int(count) or None for count in steps]


def record(grid: Grid, levels: NDArray[np.float64], epoch: int, steps: int) -> dict[str, Any]:
    """How each depth's greedy policy finds the goals at a switch.

    Levels are the tables, ``[n, cells * actions]``; the epoch is the one that has ended, from 1.

    Returns:
        For each goal and depth, ``found``, the share of cells from which it is reached, and
        ``length``, the mean steps from those (None if there are none).
    """
    paths = {
        name: [path_lengths(grid, q.reshape(grid.cells, grid.actions), goal) for q in levels]
        for name, goal in zip(("upper right", "lower left"), grid.goals, strict=True)
    }
    ways = {name: [[n for n in one if n] for one in of] for name, of in paths.items()}
    return {
        "kind": "depths",
        "epoch": epoch,
        "steps": steps,
        "found": {name: [len(one) / grid.cells for one in of] for name, of in ways.items()},
        "length": {
            name: [round(float(np.mean(one)), 4) if one else None for one in of]
            for name, of in ways.items()
        },
    }


def _moved(grid: Grid, action: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where each cell's action leads."""
    row, column = np.divmod(np.arange(grid.cells), grid.size)
    row = row + (action == 2) - (action == 0)
    column = column + (action == 1) - (action == 3)
    last = grid.size - 1
    cells: NDArray[np.intp] = np.clip(row, 0, last) * grid.size + np.clip(column, 0, last)
    return cells

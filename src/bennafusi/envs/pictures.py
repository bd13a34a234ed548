"""Pictures of observations that a task has no picture of its own for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bennafusi.colours import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, YELLOW, rgb
from bennafusi.envs.control import canvas, paint_box

CELL = 24  # pixels of a cell of a grid
BAR, TALL, MARGIN = 40, 200, 20  # of a bar and around it
GROUND, LINE, INK = (20, 22, 28), (200, 196, 188), (37, 99, 175)
# Of up to ten channels; where several are on, the first one is seen.
COLOURS = (
    *map(rgb, (YELLOW, SKY, BLUE, VERMILION, GREEN, PURPLE, ORANGE)),
    (150, 150, 150),
    (220, 220, 220),
    (90, 90, 90),
)


def topmost(seen: NDArray[Any]) -> NDArray[np.int64]:
    """The first channel that is on in each cell, counted from 1; 0 where none is.

    Example:
        >>> topmost(np.array([[[0, 1, 1], [0, 0, 0]]])).tolist()
        [[2, 0]]
    """
    on = seen > 0
    return np.where(on.any(-1), 1 + on.argmax(-1), 0).astype(np.int64)


def grid_picture(seen: NDArray[Any]) -> NDArray[np.uint8]:
    """A grid of cells, ``[rows, columns, channels]``, in the colours of its channels."""
    palette = np.array([GROUND, *(COLOURS[k % len(COLOURS)] for k in range(seen.shape[-1]))])
    cells = palette[topmost(seen)]
    picture = cells.repeat(CELL, axis=0).repeat(CELL, axis=1).astype(np.uint8)
    picture[::CELL], picture[:, ::CELL] = GROUND, GROUND  # a thin line between two cells
    return picture


def grid_letters(seen: NDArray[Any]) -> str:
    """The same in letters: a digit for the channel, a dot where there is none.

    Example:
        >>> print(grid_letters(np.array([[[0, 1], [0, 0]], [[1, 1], [0, 0]]])), end="")
        2.
        1.
    """
    rows = ["".join("." if not k else f"{k % 10}" for k in row) for row in topmost(seen).tolist()]
    return "".join(f"{row}\n" for row in rows)


def bars(seen: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.uint8]:
    """A bar for each number, from the middle of its bounds; of any shape, one after the other."""
    numbers, least, most = (np.asarray(x, np.float64).ravel() for x in (seen, low, high))
    picture = canvas(TALL + 2 * MARGIN, BAR * numbers.size + 2 * MARGIN, (246, 244, 238))
    middle = MARGIN + TALL / 2
    paint_box(picture, LINE, MARGIN, middle - 1, BAR * numbers.size, 2)
    spans = np.where(most - least < 1e6, (most - least) / 2, np.maximum(np.abs(numbers), 1))
    centres = np.where(most - least < 1e6, (most + least) / 2, 0)
    for place, share in enumerate(np.clip((numbers - centres) / spans, -1, 1)):
        top = middle - max(share, 0) * TALL / 2
        box = (MARGIN + BAR * (place + 0.2), top, 0.6 * BAR, max(abs(share) * TALL / 2, 1))
        paint_box(picture, INK, *box)
    return picture.astype(np.uint8)

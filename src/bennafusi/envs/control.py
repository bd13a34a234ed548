"""What the paper's control tasks have in common, so that one compiled loop can switch tasks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from jax import Array
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Canvas = NDArray[np.float64]
Colour = tuple[int, int, int]

NOISE = 4
"""How many uniform numbers in [0, 1) a task may use per reset or step."""


class ControlState(NamedTuple):
    """Where things are; of one shape for all control tasks, so that one loop can keep any of them.

    Attributes:
        values: the numbers a task is about, float32; four of them in the paper's tasks.
        lives: lives left, int32; 1 in a task without lives.
        steps: steps taken in this episode, int32.
    """

    values: Array
    lives: Array
    steps: Array


class ControlTask(ABC):
    """A task with real observations, as pure functions of (state, action, chance).

    It is a :class:`bennafusi.envs.task.Task` that takes its chance as :data:`NOISE` uniform
    numbers.
    """

    max_steps: int

    @property
    def noise(self) -> int:
        """Uniform numbers per reset or step."""
        return NOISE

    @property
    @abstractmethod
    def actions(self) -> int:
        """Actions are whole numbers below this one."""

    @property
    def action_names(self) -> tuple[str, ...]:
        """What each action does, in a word."""
        return ("left", "right", "none")[: self.actions]

    @property
    @abstractmethod
    def observations(self) -> tuple[Float32, Float32]:
        """The least and the greatest values of an observation."""

    @property
    @abstractmethod
    def normal(self) -> tuple[Float32, Float32]:
        """Centre and scale by which the paper's network sees observations."""

    @abstractmethod
    def reset(self, chance: Array) -> ControlState:
        """The state at the start of an episode."""

    @abstractmethod
    def step(
        self, state: ControlState, action: Array, chance: Array
    ) -> tuple[ControlState, Array, Array, Array]:
        """One action: the next state, the reward (float32), terminated, truncated."""

    @abstractmethod
    def draw(self, state: ControlState) -> NDArray[np.uint8]:
        """An RGB picture."""

    @abstractmethod
    def text(self, state: ControlState) -> str:
        """The state in letters."""

    def observe(self, state: ControlState) -> Array:
        """What a user of Gymnasium sees: the values as they are."""
        return state.values

    def features(self, state: ControlState) -> Array:
        """What the paper's network sees: the values, centred and scaled."""
        centre, scale = self.normal
        return (state.values - centre) / scale

    def _is_late(self, steps: Array, terminated: Array) -> Array:
        """Whether time has run out; an episode that ended by itself was not cut short."""
        return ~terminated & (steps >= self.max_steps)


# By hand: Pillow's shapes begin and end at whole pixels, so that a pole would jump where it sways,
# and who takes a task through Gymnasium needs no library of pictures.


def canvas(height: int, width: int, colour: Colour) -> Canvas:
    """An empty picture."""
    return np.full((height, width, 3), colour, np.float64)


def paint_box(picture: Canvas, colour: Colour, x: float, y: float, w: float, h: float) -> None:
    """Paint a box by its left edge, upper edge, width and height, in pixels, with smooth edges."""
    part, top, left = _around(picture, (x, x + w), (y, y + h))
    rows, columns = top + np.arange(part.shape[0]), left + np.arange(part.shape[1])
    # the share of each pixel's height, and width, that the box covers
    down = np.clip(np.minimum(rows + 1, y + h) - np.maximum(rows, y), 0, 1)
    along = np.clip(np.minimum(columns + 1, x + w) - np.maximum(columns, x), 0, 1)
    _blend(part, np.outer(down, along), colour)


def paint_rod(
    picture: Canvas,
    colour: Colour,
    start: tuple[float, float],
    end: tuple[float, float],
    radius: float,
) -> None:
    """Paint a rod with round ends between two points (x, y), in pixels, with smooth edges."""
    (x0, y0), (dx, dy) = start, (end[0] - start[0], end[1] - start[1])
    reach = radius + 1
    part, top, left = _around(
        picture,
        (min(x0, end[0]) - reach, max(x0, end[0]) + reach),
        (min(y0, end[1]) - reach, max(y0, end[1]) + reach),
    )
    y, x = np.mgrid[: part.shape[0], : part.shape[1]] + 0.5
    x, y = x + left, y + top
    length = max(dx * dx + dy * dy, 1e-12)  # a rod without a length is a disc
    share = np.clip(((x - x0) * dx + (y - y0) * dy) / length, 0, 1)
    distance = np.hypot(x - x0 - share * dx, y - y0 - share * dy)
    _blend(part, np.clip(radius + 0.5 - distance, 0, 1), colour)


def _around(
    picture: Canvas, columns: tuple[float, float], rows: tuple[float, float]
) -> tuple[Canvas, int, int]:
    """The part of a picture between these edges, and where it begins: row, column."""
    (left, right), (top, bottom) = (
        (max(0, math.floor(low)), max(0, math.ceil(high))) for low, high in (columns, rows)
    )
    return picture[top:bottom, left:right], top, left


def _blend(picture: Canvas, cover: Canvas, colour: Colour) -> None:
    picture += cover[..., None] * (np.array(colour) - picture)

"""What a task is: pure functions of a state, an action and chance, of any size."""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

Bounds: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float32]]


class Task(Protocol):
    """A task; hashable, for it is compiled in.

    ``reset`` and ``step`` are given their chance: ``noise`` uniform numbers in [0, 1), or, where
    ``noise`` is None, a random key. A training loop that draws numbers in blocks is much faster
    than one that splits a key at each step; :func:`draw_chance` makes either out of a key.
    """

    @property
    def actions(self) -> int:
        """Actions are whole numbers below this one."""

    @property
    def observations(self) -> int | Bounds:
        """Observations are whole numbers below this one, or arrays between these two."""

    @property
    def noise(self) -> int | None:
        """How many uniform numbers a reset or a step takes; None if it takes a key."""

    def reset(self, chance: Array) -> Any:
        """The state at the start of an episode."""

    def step(self, state: Any, action: Array, chance: Array) -> tuple[Any, Array, Array, Array]:
        """The next state, the reward (float32), whether it terminated, whether it was truncated."""

    def observe(self, state: Any) -> Array:
        """What is seen of the state."""

    def draw(self, state: Any) -> NDArray[np.uint8]:
        """An RGB picture."""

    def text(self, state: Any) -> str:
        """The state in letters."""


def draw_chance(task: Task, key: Array) -> Array:
    """The chance that a reset or a step of the task takes, from a key of its own."""
    return key if task.noise is None else jax.random.uniform(key, (task.noise,), jnp.float32)


def observation_shape(task: Task) -> tuple[int, ...]:
    """The shape of an observation; of a whole number it is ().

    Example:
        >>> from bennafusi.envs.catcher import Catcher
        >>> observation_shape(Catcher())
        (4,)
    """
    seen = task.observations
    return () if isinstance(seen, int) else seen[0].shape


def observation_size(task: Task) -> int:
    """How many numbers an observation has."""
    return math.prod(observation_shape(task))

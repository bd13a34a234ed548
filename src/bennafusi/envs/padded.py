"""Tasks of different size, made alike so that one network can learn them in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from bennafusi.envs.task import Bounds, Task, observation_shape


@dataclass(frozen=True)
class Padded:
    """A task seen in a larger array, filled up with zeros, and with as many actions as are asked.

    An action beyond the task's own does what its last one does.
    """

    task: Any  # whose observations are arrays
    shape: tuple[int, ...]  # of what is seen of it, on no axis shorter than the task's own
    actions: int  # at least the task's own

    @property
    def action_names(self) -> tuple[str, ...]:
        """What each action does, in a word."""
        names: tuple[str, ...] = self.task.action_names
        return names + names[-1:] * (self.actions - len(names))

    @property
    def max_steps(self) -> int:
        """Steps after which an episode is cut short."""
        steps: int = self.task.max_steps
        return steps

    @property
    def observations(self) -> Bounds:
        """The least and the greatest values of an observation."""
        low, high = (np.pad(end, self._widths) for end in self.task.observations)
        return low, high

    @property
    def noise(self) -> int | None:
        """How many uniform numbers a reset or a step takes; None if it takes a key."""
        noise: int | None = self.task.noise
        return noise

    @property
    def _widths(self) -> list[tuple[int, int]]:
        own = observation_shape(self.task)
        return [(0, wanted - length) for wanted, length in zip(self.shape, own, strict=True)]

    def reset(self, chance: Array) -> Any:
        """The state at the start of an episode."""
        return self.task.reset(chance)

    def step(self, state: Any, action: Array, chance: Array) -> tuple[Any, Array, Array, Array]:
        """The next state, the reward (float32), whether it terminated, whether it was truncated."""
        own = jnp.minimum(action, jnp.asarray(self.task.actions - 1, action.dtype))
        moved: tuple[Any, Array, Array, Array] = self.task.step(state, own, chance)
        return moved

    def observe(self, state: Any) -> Array:
        """What is seen of the state, and zeros; scaled, where the task says by what."""
        see = getattr(self.task, "features", self.task.observe)
        return jnp.pad(see(state), self._widths)

    def draw(self, state: Any) -> NDArray[np.uint8]:
        """The task's own picture."""
        picture: NDArray[np.uint8] = self.task.draw(state)
        return picture

    def text(self, state: Any) -> str:
        """The state in letters."""
        text: str = self.task.text(state)
        return text


def alike(tasks: Sequence[Task]) -> tuple[Padded, ...]:
    """The same tasks with observations of one shape and one number of actions.

    Example:
        >>> from bennafusi.envs.gymnax_tasks import GymnaxTask
        >>> games = alike([GymnaxTask("Breakout-MinAtar"), GymnaxTask("Freeway-MinAtar")])
        >>> games[0].shape, games[0].actions
        ((10, 10, 7), 6)

    Raises:
        ValueError: if their observations have different numbers of axes.
    """
    shapes = [observation_shape(task) for task in tasks]
    if len(set(map(len, shapes))) > 1:
        found = " and ".join(map(str, dict.fromkeys(shapes)))
        raise ValueError(f"observations of shape {found} cannot be padded to one shape")
    shape = tuple(map(max, zip(*shapes, strict=True)))
    actions = max(task.actions for task in tasks)
    return tuple(Padded(task, shape, actions) for task in tasks)

"""A replay that holds a fair sample of everything there ever was, not the newest."""

from __future__ import annotations

from typing import Any, Self

import jax
import jax.numpy as jnp
from jax import Array

from bennafusi.agents import replay
from bennafusi.agents.replay import Replay, Transition


class Reservoir(Replay):
    """A uniform sample of all transitions so far, in no order."""

    __slots__ = ()

    def add(self, transition: Transition, key: Array | None = None) -> Self:
        r"""The reservoir after one more transition, which may or may not be in it.

        The t-th takes the place of a random one with probability :math:`capacity / t`, so that
        each of the t is held with that probability.

        References:
            Vitter, *Random sampling with a reservoir*, 1985, algorithm R.
        """
        if key is None:
            raise TypeError("key=None: chance decides what a reservoir keeps; give a random key")
        place = jax.random.randint(key, (), 0, self.added + 1)
        place = jnp.where(self.added >= self.capacity, place, self.added)
        kept = place < self.capacity
        place = jnp.minimum(place, self.capacity - 1)
        row = jax.tree.map(
            lambda rows, new: jnp.where(kept, new, rows[place]), self.transitions, transition
        )
        return type(self)(replay.put(self.transitions, row, place), self.added + 1)


def empty(
    capacity: int, shape: tuple[int, ...], dtype: Any = jnp.float32, tasks: bool = False
) -> Reservoir:
    """A reservoir with room for ``capacity`` transitions, as :func:`bennafusi.agents.replay.empty`.

    Example:
        >>> reservoir = empty(3, (2,))
        >>> int(reservoir.stored()), reservoir.transitions.observation.shape
        (0, (3, 2))
    """
    return Reservoir(*replay.empty(capacity, shape, dtype, tasks))

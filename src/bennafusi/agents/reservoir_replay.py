"""A replay that holds a fair sample of everything there ever was, not the newest."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.agents import replay
from bennafusi.agents.replay import Replay, Transition


class Reservoir(NamedTuple):
    """A uniform sample of all transitions so far.

    Attributes:
        transitions: with a leading axis, in no order.
        added: how many have been added since it was empty, int32.
        key: random key of the next choice.
    """

    transitions: Transition
    added: Array
    key: Array


def empty(capacity: int, shape: tuple[int, ...], key: Array) -> Reservoir:
    """A reservoir with room for ``capacity`` transitions with observations of that shape.

    Example:
        >>> reservoir = empty(3, (2,), jax.random.key(0))
        >>> int(stored(reservoir)), reservoir.transitions.observation.shape
        (0, (3, 2))
    """
    return Reservoir(*replay.empty(capacity, shape), jnp.copy(key))


def stored(reservoir: Reservoir) -> Array:
    """How many transitions there are to draw from."""
    return replay.stored(_as_replay(reservoir))


def add(reservoir: Reservoir, transition: Transition) -> Reservoir:
    r"""The reservoir after one more transition, which may or may not be in it.

    The t-th takes the place of a random one with probability :math:`capacity / t`, so that each of
    the t is held with that probability.

    References:
        Vitter, *Random sampling with a reservoir*, 1985, algorithm R.
    """
    capacity = reservoir.transitions.action.size
    next_key, now = jax.random.split(reservoir.key)
    full = reservoir.added >= capacity
    place = jax.random.randint(now, (), 0, reservoir.added + 1)
    place = jnp.where(full, place, reservoir.added)
    kept = place < capacity
    place = jnp.minimum(place, capacity - 1)

    def put(rows: Array, row: Array) -> Array:
        chosen = jnp.where(kept, row, rows[place])
        changed: Array = lax.dynamic_update_index_in_dim(rows, chosen, place, 0)
        return changed

    rows = jax.tree.map(put, reservoir.transitions, transition)
    return Reservoir(rows, reservoir.added + 1, next_key)


def clear(reservoir: Reservoir) -> Reservoir:
    """An empty reservoir; what is left in it can no longer be drawn."""
    return reservoir._replace(added=jnp.zeros_like(reservoir.added))


def sample(reservoir: Reservoir, key: Array, count: int) -> Transition:
    """``count`` different transitions in random order; there must be as many."""
    return replay.sample(_as_replay(reservoir), key, count)


def _as_replay(reservoir: Reservoir) -> Replay:
    return Replay(reservoir.transitions, reservoir.added)

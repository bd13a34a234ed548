"""Experience: what happened in a step, and a ring of the newest of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax


class Transition(NamedTuple):
    """One step of a task; many of them with a leading axis.

    Attributes:
        observation: what the agent saw.
        action: what it did, int32.
        reward: what it got.
        discount: of what comes next; 0 where nothing does.
        next_observation: what it saw then.
    """

    observation: Array
    action: Array
    reward: Array
    discount: Array
    next_observation: Array


class Replay(NamedTuple):
    """The newest transitions.

    Attributes:
        transitions: with a leading axis, the ring.
        added: how many have been added since it was empty, int32.
    """

    transitions: Transition
    added: Array


def empty(capacity: int, shape: tuple[int, ...], dtype: Any = jnp.float32) -> Replay:
    """A ring with room for ``capacity`` transitions with observations of that shape and type.

    Example:
        >>> replay = empty(capacity=3, shape=(2,))
        >>> int(stored(replay)), replay.transitions.observation.shape
        (0, (3, 2))
    """
    rows, number = jnp.zeros((capacity, *shape), dtype), jnp.zeros(capacity, jnp.float32)
    action = jnp.zeros(capacity, jnp.int32)
    return Replay(Transition(rows, action, number, number, rows), jnp.zeros((), jnp.int32))


def stored(replay: Replay) -> Array:
    """How many transitions there are to draw from."""
    return jnp.minimum(replay.added, replay.transitions.action.size)


def add(replay: Replay, transition: Transition) -> Replay:
    """The ring with one more transition, in the place of the oldest once it is full."""
    place = replay.added % replay.transitions.action.size
    ring = jax.tree.map(
        lambda rows, row: lax.dynamic_update_index_in_dim(rows, row, place, 0),
        replay.transitions,
        transition,
    )
    return Replay(ring, replay.added + 1)


def clear(replay: Replay) -> Replay:
    """An empty ring; what is left in it can no longer be drawn."""
    return replay._replace(added=jnp.zeros_like(replay.added))


def sample_one(replay: Replay, chance: Array) -> Transition:
    """A transition picked by a uniform number in [0, 1)."""
    count = stored(replay)
    place = jnp.floor(chance * count.astype(chance.dtype)).astype(jnp.int32)
    return _take(replay, jnp.minimum(place, count - 1))


def sample_with_return(replay: Replay, key: Array, count: int) -> Transition:
    """``count`` transitions, each drawn from all; one may be drawn twice. There must be one.

    Of a large ring this is far quicker than :func:`sample`, which looks at every place of it.
    """
    places = jax.random.randint(key, (count,), 0, stored(replay))
    return _take(replay, places)


def packed(transition: Transition) -> Transition:
    """A transition as it is stored: observations that are bits, eight in a byte.

    Example:
        >>> bits = jnp.ones((2, 5), bool)
        >>> step = Transition(bits, jnp.int32(0), jnp.float32(0), jnp.float32(0), bits)
        >>> packed(step).observation.shape, bool(unpacked(packed(step), (2, 5)).observation.all())
        ((2,), True)
    """
    if transition.observation.dtype != bool:
        return transition
    seen, then = transition.observation, transition.next_observation
    return transition._replace(
        observation=jnp.packbits(seen.ravel()), next_observation=jnp.packbits(then.ravel())
    )


def unpacked(transition: Transition, shape: tuple[int, ...]) -> Transition:
    """The opposite, for observations of that shape; of one transition or of many."""
    if transition.observation.dtype != jnp.uint8:
        return transition

    def bits(rows: Array) -> Array:
        found = jnp.unpackbits(rows, axis=-1, count=math.prod(shape))
        return found.reshape(*rows.shape[:-1], *shape).astype(bool)

    seen, then = bits(transition.observation), bits(transition.next_observation)
    return transition._replace(observation=seen, next_observation=then)


def sample(replay: Replay, key: Array, count: int) -> Transition:
    """``count`` different transitions in random order; there must be as many.

    Example:
        >>> replay = empty(capacity=8, shape=(1,))
        >>> for reward in range(5):
        ...     step = Transition(jnp.zeros(1), jnp.int32(0), jnp.float32(reward), 0.9, jnp.ones(1))
        ...     replay = add(replay, jax.tree.map(jnp.asarray, step))
        >>> sorted(sample(replay, jax.random.key(0), 5).reward.tolist())
        [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    capacity = replay.transitions.action.size
    # A random rank for each, below 0 for places that hold nothing; the highest ranks are drawn.
    rank = jax.random.uniform(key, (capacity,))
    held = jnp.arange(capacity) < replay.added
    _, places = lax.top_k(jnp.where(held, rank, -jnp.ones_like(rank)), count)
    return _take(replay, places)


def _take(replay: Replay, places: Array) -> Transition:
    taken: Transition = jax.tree.map(lambda rows: rows[places], replay.transitions)
    return taken

"""Experience: what happened in a step, a ring of the newest of them, and draws from any memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol, Self

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
        task: which task it was, int32; None where that is the task at hand.
    """

    observation: Array
    action: Array
    reward: Array
    discount: Array
    next_observation: Array
    task: Array | None = None


class Memory(Protocol):
    """What every replay can do; the draws below are the same for all."""

    @property
    def transitions(self) -> Transition:
        """All there is room for, with a leading axis."""

    @property
    def capacity(self) -> int:
        """How many can be drawn from at most."""

    def stored(self) -> Array:
        """How many transitions there are to draw from."""

    def places(self, numbers: Array) -> Array:
        """Where the transitions of these numbers lie; each is below :meth:`stored`."""

    def add(self, transition: Transition, key: Array) -> Self:
        """The memory after one more transition; the key decides what is left to chance."""

    def clear(self) -> Self:
        """An empty memory; what is left in it can no longer be drawn."""


class Replay(NamedTuple):
    """The newest transitions.

    Attributes:
        transitions: with a leading axis, the ring.
        added: how many have been added since it was empty, int32.
    """

    transitions: Transition
    added: Array

    @property
    def capacity(self) -> int:
        """How many there is room for."""
        return self.transitions.action.size

    def stored(self) -> Array:
        """How many transitions there are to draw from."""
        return jnp.minimum(self.added, self.capacity)

    def places(self, numbers: Array) -> Array:
        """Where the transitions of these numbers lie."""
        return numbers

    def add(self, transition: Transition, key: Array | None = None) -> Self:
        """The ring with one more transition, in the place of the oldest once it is full."""
        del key
        rows = put(self.transitions, transition, self.added % self.capacity)
        return type(self)(rows, self.added + 1)

    def clear(self) -> Self:
        """An empty ring."""
        return self._replace(added=jnp.zeros_like(self.added))


def empty(
    capacity: int, shape: tuple[int, ...], dtype: Any = jnp.float32, tasks: bool = False
) -> Replay:
    """A ring with room for ``capacity`` transitions with observations of that shape and type.

    With ``tasks`` each transition says which task it is of.

    Example:
        >>> replay = empty(capacity=3, shape=(2,))
        >>> int(replay.stored()), replay.transitions.observation.shape
        (0, (3, 2))
    """
    # Each in a buffer of its own, so that all can be donated.
    (seen, then), (reward, discount), (action, task) = (
        [jnp.zeros((capacity, *more), of) for _ in range(2)]
        for more, of in ((shape, dtype), ((), jnp.float32), ((), jnp.int32))
    )
    room = Transition(seen, action, reward, discount, then, task if tasks else None)
    return Replay(room, jnp.zeros((), jnp.int32))


def put(rows: Transition, row: Transition, place: Array) -> Transition:
    """A row in the place of the one that is there."""
    changed: Transition = jax.tree.map(
        lambda all_, one: lax.dynamic_update_index_in_dim(all_, one, place, 0), rows, row
    )
    return changed


def sample_one(memory: Memory, chance: Array) -> Transition:
    """A transition picked by a uniform number in [0, 1)."""
    count = memory.stored()
    number = jnp.floor(chance * count.astype(chance.dtype)).astype(jnp.int32)
    return _take(memory, jnp.minimum(number, count - 1))


def sample_with_return(memory: Memory, key: Array, count: int) -> Transition:
    """``count`` transitions, each drawn from all; one may be drawn twice. There must be one.

    Of a large memory this is far quicker than :func:`sample`, which looks at every place of it.
    """
    return _take(memory, jax.random.randint(key, (count,), 0, memory.stored()))


def packed(transition: Transition) -> Transition:
    """A transition as it is stored: observations that are bits, eight in a byte.

    Example:
        >>> bits = jnp.ones((2, 5), bool)
        >>> step = Transition(bits, jnp.int32(0), jnp.float32(0), jnp.float32(0), bits)
        >>> bool(unpacked(packed(step), bits).observation.all()), packed(step).observation.shape
        (True, (2,))
    """
    if transition.observation.dtype != bool:
        return transition
    seen, then = transition.observation, transition.next_observation
    return transition._replace(
        observation=jnp.packbits(seen.ravel()), next_observation=jnp.packbits(then.ravel())
    )


def unpacked(transition: Transition, seen: Array) -> Transition:
    """The opposite, for observations like ``seen``; of one transition or of many."""
    if seen.dtype != bool:  # not that of what is stored: a task's own observations may be bytes
        return transition
    shape = seen.shape

    def bits(rows: Array) -> Array:
        # Many transitions are the last axis while it is done, so that XLA shifts many at a time;
        # filters want them there as well, and turning back is then no work at all.
        rows = jnp.moveaxis(rows, -1, 0)[:, None]
        shifts = jnp.arange(7, -1, -1, dtype=jnp.uint8).reshape(1, 8, *(1,) * (rows.ndim - 2))
        whole = (rows.shape[0], 8, *rows.shape[2:])
        spread = (jnp.broadcast_to(x, whole) for x in (rows, shifts))
        found = (lax.shift_right_logical(*spread) & jnp.uint8(1)).astype(bool)
        found = found.reshape(-1, *rows.shape[2:])[: math.prod(shape)]
        found = found.reshape(*shape, *rows.shape[2:])
        return jnp.moveaxis(found, range(len(shape)), range(-len(shape), 0))

    seen, then = bits(transition.observation), bits(transition.next_observation)
    return transition._replace(observation=seen, next_observation=then)


def sample(memory: Memory, key: Array, count: int) -> Transition:
    """``count`` different transitions in random order; there must be as many.

    Example:
        >>> replay = empty(capacity=8, shape=(1,))
        >>> for reward in range(5):
        ...     step = Transition(jnp.zeros(1), jnp.int32(0), jnp.float32(reward), 0.9, jnp.ones(1))
        ...     replay = replay.add(jax.tree.map(jnp.asarray, step))
        >>> sorted(sample(replay, jax.random.key(0), 5).reward.tolist())
        [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    # A random rank for each, below 0 for numbers that are not given; the highest ranks are drawn.
    rank = jax.random.uniform(key, (memory.capacity,))
    held = jnp.arange(memory.capacity) < memory.stored()
    _, numbers = lax.top_k(jnp.where(held, rank, -jnp.ones_like(rank)), count)
    return _take(memory, numbers)


def _take(memory: Memory, numbers: Array) -> Transition:
    places = memory.places(numbers)
    taken: Transition = jax.tree.map(lambda rows: rows[places], memory.transitions)
    return taken

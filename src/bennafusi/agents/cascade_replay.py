"""Multi-timescale replay: a cascade of rings, in which memories grow old by a power law.

Memories in data instead of weights: what a chain does for a weight, this does for experience.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.agents import replay
from bennafusi.agents.replay import Transition

RINGS = 20  # in the paper


class Cascade(NamedTuple):
    """Rings of equal size, one after another, and what fell out between them.

    A transition stays where it was written; what moves from ring to ring is the number of its row.

    Attributes:
        transitions: with a leading axis, in any order: one more than can be held.
        rows: of each place the row that lies there: the rings in turn, then the room for what fell
            out, int32.
        free: the row of the next transition, int32.
        added: how many have entered each ring since it was empty, int32 ``[rings]``.
        fallen: how many fell out between two rings, int32.
        gone: how many of those have been forgotten, int32.
        keep: probability with which what leaves a ring enters the next.
    """

    transitions: Transition
    rows: Array
    free: Array
    added: Array
    fallen: Array
    gone: Array
    keep: Array

    @property
    def capacity(self) -> int:
        """How many can be held."""
        return self.transitions.action.size - 1

    def stored(self) -> Array:
        """How many transitions there are to draw from."""
        return self._filled().sum() + self.fallen - self.gone

    def places(self, numbers: Array) -> Array:
        """Where they lie: counted through the rings in turn, then through what fell out."""
        size, room = self._sizes()
        ends = jnp.cumsum(self._filled())
        ring = jnp.searchsorted(ends, numbers, side="right").astype(jnp.int32)
        before = jnp.concatenate([jnp.zeros(1, ends.dtype), ends])[ring]
        within = numbers - before
        outside = self.capacity + (self.gone + within) % room
        return self.rows[jnp.where(ring < self.added.size, ring * size + within, outside)]

    def add(self, transition: Transition, key: Array) -> Self:
        """The cascade with one more transition."""
        size, room = self._sizes()
        rings = self.added.size
        passes = jax.random.uniform(key, (rings,)) < self.keep
        # Nothing enters a ring behind the last one.
        passes = passes & (jnp.arange(rings) < rings - 1)
        Carry = tuple[Array, Array, Array, Array, Array]

        def enter(carry: Carry) -> Carry:
            rows, added, row, ring, _ = carry
            place = ring * size + added[ring] % size
            leaving, full = rows[place], added[ring] >= size
            return rows.at[place].set(row), added.at[ring].add(1), leaving, ring + 1, full

        # One enters the first ring; each ring it comes to gives up at most one.
        start = (self.rows, self.added, self.free, jnp.zeros((), jnp.int32), jnp.ones((), bool))
        rows, added, row, ring, full = lax.while_loop(
            lambda c: (c[3] == 0) | (c[4] & passes[jnp.maximum(c[3] - 1, 0)]), enter, start
        )
        falls = full & (ring < rings)
        # Before it falls there: in a crowded room the newest takes the place of the oldest.
        oldest = jnp.where(self.fallen > self.gone, rows[self.capacity + self.gone % room], row)
        place = self.capacity + self.fallen % room
        rows = rows.at[place].set(jnp.where(falls, row, rows[place]))
        fallen = self.fallen + falls.astype(jnp.int32)
        after = self._replace(
            transitions=replay.put(self.transitions, transition, self.free),
            rows=rows,
            added=added,
            fallen=fallen,
        )
        crowded = (after.stored() > self.capacity) & (fallen > self.gone)
        # While nothing is forgotten, rows are taken in turn.
        free = jnp.where(full & (ring == rings), row, jnp.where(crowded, oldest, self.free + 1))
        return after._replace(free=free, gone=self.gone + crowded.astype(jnp.int32))

    def clear(self) -> Self:
        """An empty cascade."""
        counts = (self.free, self.added, self.fallen, self.gone)
        free, added, fallen, gone = map(jnp.zeros_like, counts)
        return self._replace(free=free, added=added, fallen=fallen, gone=gone)

    def _filled(self) -> Array:
        """How many each ring holds."""
        return jnp.minimum(self.added, self._sizes()[0])

    def _sizes(self) -> tuple[int, int]:
        """Of each ring, and of the room for what fell out: ``rings - 1`` times as much."""
        rings = self.added.size
        size = self.capacity // rings
        return size, size * (rings - 1)


def empty(
    capacity: int,
    shape: tuple[int, ...],
    dtype: Any = jnp.float32,
    tasks: bool = False,
    *,
    rings: int = RINGS,
    keep: float = 0.85,
) -> Cascade:
    r"""A cascade with room for ``capacity`` transitions with observations of that shape.

    Each of ``rings`` holds an equal part. A new transition enters the first one. What a full ring
    gives up enters the next with probability ``keep``, else it falls out; what the last one gives
    up is forgotten. What fell out can still be drawn while there is room: once more than
    ``capacity`` are held, the oldest of it is forgotten, one per transition.

    Args:
        capacity: how many transitions can be held; a multiple of ``rings``.
        shape: of an observation.
        dtype: of an observation.
        tasks: whether each transition says which task it is of.
        rings: how many there are; 20 in the paper.
        keep: probability of entering the next one; 0.85 in the paper.

    Returns:
        The empty cascade.

    Example:
        >>> cascade = empty(6, (2,), rings=3)
        >>> int(cascade.stored()), cascade.added.tolist()
        (0, [0, 0, 0])

    References:
        Kaplanis, Clopath and Shanahan, *Continual reinforcement learning with multi-timescale
        replay*, 2020.
    """
    if rings < 2 or capacity < rings or capacity % rings:
        raise ValueError(
            f"capacity={capacity}, rings={rings}: capacity must be a multiple of at least 2 rings"
        )
    if not 0 <= keep <= 1:
        raise ValueError(f"keep={keep}: must be from 0 to 1")
    room = capacity - capacity // rings  # the first ring is full before anything falls out
    free, fallen, gone = (jnp.zeros((), jnp.int32) for _ in range(3))
    return Cascade(
        replay.empty(capacity + 1, shape, dtype, tasks).transitions,
        jnp.zeros(capacity + room, jnp.int32),
        free,
        jnp.zeros(rings, jnp.int32),
        fallen,
        gone,
        jnp.asarray(keep, jnp.float32),
    )

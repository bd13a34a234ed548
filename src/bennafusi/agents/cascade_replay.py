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

    Attributes:
        transitions: with a leading axis: the rings in turn, then the room for what fell out.
        added: how many have entered each ring since it was empty, int32 ``[rings]``.
        fallen: how many fell out between two rings, int32.
        gone: how many of those have been forgotten, int32.
        keep: probability with which what leaves a ring enters the next.
    """

    transitions: Transition
    added: Array
    fallen: Array
    gone: Array
    keep: Array

    @property
    def capacity(self) -> int:
        """How many can be held."""
        return self._sizes()[0] * self.added.size

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
        outside = self.added.size * size + (self.gone + within) % room
        return jnp.where(ring < self.added.size, ring * size + within, outside)

    def add(self, transition: Transition, key: Array) -> Self:
        """The cascade with one more transition."""
        size, room = self._sizes()
        rings = self.added.size
        passes = jax.random.uniform(key, (rings,)) < self.keep
        # Nothing enters a ring behind the last one.
        passes = passes & (jnp.arange(rings) < rings - 1)
        Carry = tuple[Transition, Array, Transition, Array, Array]

        def enter(carry: Carry) -> Carry:
            rows, added, item, ring, _ = carry
            place = ring * size + added[ring] % size
            full = added[ring] >= size
            leaving = jax.tree.map(lambda r: r[place], rows)
            rows = replay.put(rows, item, place)
            item = jax.tree.map(lambda old, new: jnp.where(full, old, new), leaving, item)
            return rows, added.at[ring].add(1), item, ring + 1, full

        # One transition enters the first ring; each ring it comes to gives up at most one.
        carry: Carry = (
            self.transitions,
            self.added,
            transition,
            jnp.zeros((), jnp.int32),
            jnp.ones((), bool),
        )
        carry = lax.while_loop(
            lambda c: (c[3] == 0) | (c[4] & passes[jnp.maximum(c[3] - 1, 0)]), enter, carry
        )
        rows, added, item, ring, full = carry
        falls = full & (ring < rings)
        place = rings * size + self.fallen % room
        current = jax.tree.map(lambda r: r[place], rows)
        kept = jax.tree.map(lambda new, old: jnp.where(falls, new, old), item, current)
        rows = replay.put(rows, kept, place)
        fallen = self.fallen + falls.astype(jnp.int32)
        after = self._replace(transitions=rows, added=added, fallen=fallen)
        crowded = (after.stored() > rings * size) & (fallen > self.gone)
        return after._replace(gone=self.gone + crowded.astype(jnp.int32))

    def clear(self) -> Self:
        """An empty cascade."""
        counts = (self.added, self.fallen, self.gone)
        added, fallen, gone = map(jnp.zeros_like, counts)
        return self._replace(added=added, fallen=fallen, gone=gone)

    def _filled(self) -> Array:
        """How many each ring holds."""
        return jnp.minimum(self.added, self._sizes()[0])

    def _sizes(self) -> tuple[int, int]:
        """Of each ring, and of the room for what fell out: ``rings - 1`` times as much."""
        rings = self.added.size
        size = self.transitions.action.size // (2 * rings - 1)
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
    ``capacity`` are held, the oldest of it is forgotten, one per transition. Memory for nearly
    twice the capacity is set aside.

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
    nothing = jnp.zeros((), jnp.int32)
    return Cascade(
        replay.empty(capacity + room, shape, dtype, tasks).transitions,
        jnp.zeros(rings, jnp.int32),
        nothing,
        jnp.copy(nothing),
        jnp.asarray(keep, jnp.float32),
    )

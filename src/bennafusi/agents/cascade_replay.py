"""Multi-timescale replay: a cascade of rings, in which memories grow old by a power law.

Memories in data instead of weights: what a chain does for a weight, this does for experience.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.agents import replay
from bennafusi.agents.replay import Transition


class Cascade(NamedTuple):
    """Rings of equal size, one after another, and what fell out between them.

    Attributes:
        transitions: with a leading axis: the rings in turn, then the room for what fell out.
        added: how many have entered each ring since it was empty, int32 ``[rings]``.
        fallen: how many fell out between two rings, int32.
        gone: how many of those have been forgotten, int32.
        keep: probability with which what leaves a ring enters the next.
        key: random key of the next choices.
    """

    transitions: Transition
    added: Array
    fallen: Array
    gone: Array
    keep: Array
    key: Array


def empty(
    capacity: int, shape: tuple[int, ...], key: Array, rings: int = 20, keep: float = 0.85
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
        key: random key.
        rings: how many there are; 20 in the paper.
        keep: probability of entering the next one; 0.85 in the paper.

    Returns:
        The empty cascade.

    Example:
        >>> cascade = empty(6, (2,), jax.random.key(0), rings=3)
        >>> int(stored(cascade)), cascade.added.tolist()
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
        replay.empty(capacity + room, shape).transitions,
        jnp.zeros(rings, jnp.int32),
        nothing,
        jnp.copy(nothing),
        jnp.asarray(keep, jnp.float32),
        jnp.copy(key),
    )


def stored(cascade: Cascade) -> Array:
    """How many transitions there are to draw from."""
    in_rings = jnp.minimum(cascade.added, _sizes(cascade)[0]).sum()
    return in_rings + cascade.fallen - cascade.gone


def add(cascade: Cascade, transition: Transition) -> Cascade:
    """The cascade with one more transition."""
    size, room = _sizes(cascade)
    rings = cascade.added.size
    next_key, now = jax.random.split(cascade.key)
    passes = jax.random.uniform(now, (rings,)) < cascade.keep
    # Nothing enters a ring behind the last one.
    passes = passes & (jnp.arange(rings) < rings - 1)
    Carry = tuple[Transition, Array, Transition, Array, Array]

    def enter(carry: Carry) -> Carry:
        rows, added, item, ring, _ = carry
        place = ring * size + added[ring] % size
        full = added[ring] >= size
        leaving = jax.tree.map(lambda r: r[place], rows)
        rows = _put(rows, item, place)
        item = jax.tree.map(lambda old, new: jnp.where(full, old, new), leaving, item)
        return rows, added.at[ring].add(1), item, ring + 1, full

    # One transition enters the first ring; each ring it comes to gives up at most one.
    carry: Carry = (
        cascade.transitions,
        cascade.added,
        transition,
        jnp.zeros((), jnp.int32),
        jnp.ones((), bool),
    )
    carry = lax.while_loop(
        lambda c: (c[3] == 0) | (c[4] & passes[jnp.maximum(c[3] - 1, 0)]), enter, carry
    )
    rows, added, item, ring, full = carry
    falls = full & (ring < rings)
    place = rings * size + cascade.fallen % room
    current = jax.tree.map(lambda r: r[place], rows)
    kept = jax.tree.map(lambda new, old: jnp.where(falls, new, old), item, current)
    rows = _put(rows, kept, place)
    fallen = cascade.fallen + falls.astype(jnp.int32)
    after = Cascade(rows, added, fallen, cascade.gone, cascade.keep, next_key)
    crowded = (stored(after) > rings * size) & (fallen > cascade.gone)
    return after._replace(gone=cascade.gone + crowded.astype(jnp.int32))


def clear(cascade: Cascade) -> Cascade:
    """An empty cascade; what is left in it can no longer be drawn."""
    return cascade._replace(
        added=jnp.zeros_like(cascade.added),
        fallen=jnp.zeros_like(cascade.fallen),
        gone=jnp.zeros_like(cascade.gone),
    )


def sample(cascade: Cascade, key: Array, count: int) -> Transition:
    """``count`` different transitions in random order; there must be as many."""
    rank = jax.random.uniform(key, (cascade.transitions.action.size,))
    _, places = lax.top_k(jnp.where(held(cascade), rank, -jnp.ones_like(rank)), count)
    taken: Transition = jax.tree.map(lambda rows: rows[places], cascade.transitions)
    return taken


def held(cascade: Cascade) -> Array:
    """Which places hold a transition that can be drawn."""
    size, room = _sizes(cascade)
    in_rings = jnp.arange(size)[None] < cascade.added[:, None]
    age = (jnp.arange(room) - cascade.gone) % room
    return jnp.concatenate([in_rings.reshape(-1), age < cascade.fallen - cascade.gone])


def _sizes(cascade: Cascade) -> tuple[int, int]:
    """Of each ring, and of the room for what fell out: ``rings - 1`` times as much."""
    rings = cascade.added.size
    size = cascade.transitions.action.size // (2 * rings - 1)
    return size, size * (rings - 1)


def _put(rows: Transition, row: Transition, place: Array) -> Transition:
    put: Transition = jax.tree.map(
        lambda r, x: lax.dynamic_update_index_in_dim(r, x, place, 0), rows, row
    )
    return put

"""Parameters packed into few arrays: small ones share one, large ones keep their own.

A compiled program pays for every array it touches, however small. A network's gains and biases
cost as much to step as its matrices unless they travel together.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

SMALL = 2**14  # elements; an array this large is busy for longer than its overhead


class Layout(NamedTuple):
    """Which leaves of a tree share an array; hashable, so that it can be part of a static state.

    Attributes:
        structure: the tree's structure.
        shapes: shape of each leaf.
        bins: the leaves of each packed array, by their position in the tree.
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    bins: tuple[tuple[int, ...], ...]


def layout_of(tree: Any) -> Layout:
    """The layout of a tree of arrays: small leaves of one type share a bin.

    Example:
        >>> layout_of({"w": jnp.ones((200, 100)), "b": jnp.ones(100), "gain": jnp.ones(100)}).bins
        ((0, 1), (2,))
    """
    leaves, structure = jax.tree.flatten(tree)
    bins: dict[object, tuple[int, ...]] = {}
    for index, leaf in enumerate(leaves):
        place: object = leaf.dtype if leaf.size < SMALL else index
        bins[place] = (*bins.get(place, ()), index)
    return Layout(structure, tuple(leaf.shape for leaf in leaves), tuple(bins.values()))


def pack(layout: Layout, tree: Any, lead: int = 0) -> tuple[Array, ...]:
    """The packed arrays of a tree whose leaves have ``lead`` axes before their layout's shape."""
    leaves = jax.tree.leaves(tree)

    def join(members: tuple[int, ...]) -> Array:
        if len(members) == 1:
            only: Array = leaves[members[0]]
            return only
        rows = [leaves[index].reshape(*leaves[index].shape[:lead], -1) for index in members]
        return jnp.concatenate(rows, lead)

    return tuple(map(join, layout.bins))


def unpack(layout: Layout, arrays: tuple[Array, ...], lead: int = 0) -> Any:
    """The tree that was packed into ``arrays``.

    Example:
        >>> tree = {"w": jnp.ones((2, 3)), "b": jnp.zeros(2)}
        >>> layout = layout_of(tree)
        >>> [x.shape for x in pack(layout, tree)]
        [(8,)]
        >>> jax.tree.map(jnp.shape, unpack(layout, pack(layout, tree)))
        {'b': (2,), 'w': (2, 3)}
    """
    leaves: list[Array | None] = [None] * len(layout.shapes)
    for members, array in zip(layout.bins, arrays, strict=True):
        if len(members) == 1:
            leaves[members[0]] = array
            continue
        offset = 0
        for index in members:
            shape = layout.shapes[index]
            size = math.prod(shape)
            part = jax.lax.slice_in_dim(array, offset, offset + size, axis=lead)
            leaves[index] = part.reshape(*array.shape[:lead], *shape)
            offset += size
    return jax.tree.unflatten(layout.structure, leaves)

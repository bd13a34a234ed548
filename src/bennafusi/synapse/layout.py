"""Parameters packed into few arrays: small ones share one, large ones keep their own.

A compiled program pays for every array it touches, however small. A network's gains and biases
cost as much to step as its matrices unless they travel together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

SMALL = 2**14  # elements; an array this large is busy for longer than its overhead


class Layout(NamedTuple):
    """Which leaves of a tree share an array; hashable, so that it can be part of a structure.

    Attributes:
        structure: the tree's structure.
        shapes: shape of each leaf.
        bins: the leaves of each packed array, by their position in the tree.
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    bins: tuple[tuple[int, ...], ...]


@jax.tree_util.register_pytree_with_keys_class
@dataclass(frozen=True)
class Packed:
    """A packed tree: its leaves are the common arrays, its structure knows the layout."""

    layout: Layout
    arrays: tuple[Any, ...]

    def tree_flatten_with_keys(self) -> tuple[tuple[tuple[Any, Any], ...], Layout]:
        """For ``jax.tree``: the arrays by their number."""
        keyed = enumerate(self.arrays)
        return tuple((jax.tree_util.SequenceKey(i), array) for i, array in keyed), self.layout

    @classmethod
    def tree_unflatten(cls, layout: Layout, arrays: tuple[Any, ...]) -> Packed:
        """For ``jax.tree``."""
        return cls(layout, arrays)


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


def pack(layout: Layout, tree: Any, lead: int = 0) -> Packed:
    """A tree, of which the leaves have ``lead`` axes before their layout's shape, in few arrays."""
    leaves = jax.tree.leaves(tree)

    def join(members: tuple[int, ...]) -> Array:
        if len(members) == 1:
            only: Array = leaves[members[0]]
            return only
        rows = [leaves[index].reshape(*leaves[index].shape[:lead], -1) for index in members]
        return jnp.concatenate(rows, lead)

    return Packed(layout, tuple(map(join, layout.bins)))


def unpack(tree: Any, lead: int = 0) -> Any:
    """The tree that was packed; one that never was comes back as it is.

    Example:
        >>> tree = {"w": jnp.ones((2, 3)), "b": jnp.zeros(2)}
        >>> packed = pack(layout_of(tree), tree)
        >>> [x.shape for x in jax.tree.leaves(packed)]
        [(8,)]
        >>> jax.tree.map(jnp.shape, unpack(packed))
        {'b': (2,), 'w': (2, 3)}
    """
    if not isinstance(tree, Packed):
        return tree
    layout = tree.layout
    leaves: list[Array | None] = [None] * len(layout.shapes)
    for members, array in zip(layout.bins, tree.arrays, strict=True):
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


def leaf_shapes(tree: Any) -> list[tuple[int, ...]]:
    """Shapes ``[rows, *shape]`` of the leaves of a tree of levels, packed or not, in their order.

    Example:
        >>> tree = {"w": jnp.ones((4, 2, 3)), "b": jnp.zeros((4, 2))}
        >>> leaf_shapes(tree)
        [(4, 2), (4, 2, 3)]
        >>> leaf_shapes(pack(layout_of(jax.tree.map(lambda u: u[0], tree)), tree, lead=1))
        [(4, 2), (4, 2, 3)]
    """
    if not isinstance(tree, Packed):
        return [jnp.shape(leaf) for leaf in jax.tree.leaves(tree)]
    rows = {
        index: len(array)
        for members, array in zip(tree.layout.bins, tree.arrays, strict=True)
        for index in members
    }
    return [(rows[index], *shape) for index, shape in enumerate(tree.layout.shapes)]

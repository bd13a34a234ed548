"""Hidden units as a whole: where their weights stand, and how a unit is born again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.rivals.skeleton import Tree
from bennafusi.synapse.layout import Packed
from bennafusi.synapse.precision import wide

Initializer = Callable[[Array, tuple[int, ...], Any], Array]


class Units(NamedTuple):
    """Where the weights of one hidden layer stand among the parameters.

    Each is named by its path, as ``"layers/0/kernel"``.

    Attributes:
        incoming: ``[inputs, units]``, units on the last axis.
        outgoing: ``[units, outputs]``, units on the last but one axis.
        bias: ``[units]``, if there is one.
        next_bias: ``[outputs]``, if there is one.
    """

    incoming: str
    outgoing: str
    bias: str | None = None
    next_bias: str | None = None


Layers = Sequence[Units]


def need_layers(layers: Layers) -> tuple[Units, ...]:
    """The layers as they will be used, or a clear error."""
    found = tuple(layers)
    if not found:
        raise ValueError("layers=(): there must be at least one layer of hidden units")
    for layer in found:
        if not isinstance(layer, Units):
            raise TypeError(f"layers: holds {layer!r}; every entry must be a Units")
    return found


def by_path(tree: Tree) -> dict[str, Array]:
    """Every leaf by its path."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in leaves}


def widths(params: Tree, layers: Layers) -> list[int]:
    """How many units each layer has; checks that the parameters are where ``layers`` says."""
    leaves = by_path(params)
    if not leaves:  # optax.tree.map_params asks for the state of a tree without leaves
        return [0 for _ in layers]
    found = []
    for layer in layers:
        for role, path in layer._asdict().items():
            if path is not None and path not in leaves:
                raise ValueError(
                    f"layers: {role}={path!r} is no parameter; there are {sorted(leaves)}"
                )
        into, shape = leaves[layer.incoming].shape, leaves[layer.outgoing].shape
        for role, path, axes in zip(layer._fields, layer, (into, shape), strict=False):
            if len(axes) < 2:
                raise ValueError(f"layers: {role}={path!r} of shape {axes} is no matrix of weights")
        if shape[-2] != into[-1]:
            raise ValueError(
                f"layers: {layer.incoming!r} leads to {into[-1]} units, and {layer.outgoing!r} of "
                f"shape {shape} comes from {shape[-2]}"
            )
        for role, path, size in (
            ("bias", layer.bias, into[-1]),
            ("next_bias", layer.next_bias, shape[-1]),
        ):
            own = () if path is None else leaves[path].shape
            if path is not None and own[-1:] != (size,):
                raise ValueError(f"layers: {role}={path!r} of shape {own} must have {size} numbers")
        found.append(into[-1])
    return found


def need_activations(
    activations: Sequence[Array], params: Tree, layers: Layers
) -> tuple[Array, ...]:
    """Activations of every layer, ``[examples, units]``, or a clear error."""
    if not isinstance(activations, list | tuple):
        raise TypeError(
            f"activations: of type {type(activations).__name__}; must be a list, of each of the "
            f"{len(layers)} layers an array [examples, units]"
        )
    if len(activations) != len(layers):
        raise ValueError(
            f"activations: {len(activations)} arrays for {len(layers)} layers; one each is needed"
        )
    for place, (h, width) in enumerate(zip(activations, widths(params, layers), strict=True)):
        if h.ndim < 1 or h.shape[-1] != width:
            raise ValueError(f"activations: layer {place} has {width} units, not shape {h.shape}")
        if width and not h.size:
            raise ValueError(f"activations: layer {place} has no examples, its shape is {h.shape}")
    return tuple(wide(h).reshape(-1, h.shape[-1]) for h in activations)


def reborn(
    weights: Tree, layers: Layers, chosen: Sequence[Array], key: Array, initializer: Initializer
) -> Tree:
    """The weights with the chosen units born again: new weights in, none out, no bias.

    Args:
        weights: all weights.
        layers: where those of each layer stand.
        chosen: of each layer a mask of its units, ``[units]``.
        key: random key.
        initializer: one of ``jax.nn.initializers``, for the weights in.

    Returns:
        The weights.
    """
    leaves = by_path(weights)
    for layer, mask, own in zip(layers, chosen, jax.random.split(key, len(layers)), strict=True):
        into = leaves[layer.incoming]
        fresh = initializer(own, into.shape, into.dtype)
        leaves[layer.incoming] = jnp.where(_last(mask, into), fresh, into)
        if layer.bias is not None:
            bias = leaves[layer.bias]
            leaves[layer.bias] = jnp.where(_last(mask, bias), jnp.zeros_like(bias), bias)
    # After all weights in: those between two layers are also the weights out of the first one.
    for layer, mask in zip(layers, chosen, strict=True):
        out = leaves[layer.outgoing]
        leaves[layer.outgoing] = jnp.where(_last_but_one(mask, out), jnp.zeros_like(out), out)
    return with_leaves(weights, leaves)


def newborn_state(
    optimizer: optax.GradientTransformation,
    state: optax.OptState,
    params: Tree,
    weights: Tree,
    places: tuple[Layers, Sequence[Array]],
) -> optax.OptState:
    """The optimiser's state as it would start, wherever it is about a weight of a chosen unit.

    Of Adam that is 0 in both moments; of an average, a start that is pulled to, or the beakers of a
    chain it is the new weight. What ``optax.masked`` or ``optax.multi_transform`` keeps from one of
    their parts stays hidden.

    Args:
        optimizer: whose state it is.
        state: before.
        params: the parameters, in their types.
        weights: the same after the chosen units were born again.
        places: the layers, and of each a mask of its units.

    Returns:
        The state.
    """
    if any(map(_packed, jax.tree.leaves(state, is_leaf=_packed))):
        raise ValueError(
            "optimizer: packs parameters into common arrays, of which a unit's part cannot be made "
            "new; leave out packed=True"
        )
    marked = {path: jnp.zeros(leaf.shape, bool) for path, leaf in by_path(params).items()}
    for layer, mask in zip(*places, strict=True):
        marked[layer.incoming] |= _last(mask, marked[layer.incoming])
        marked[layer.outgoing] |= _last_but_one(mask, marked[layer.outgoing])
        if layer.bias is not None:
            marked[layer.bias] |= _last(mask, marked[layer.bias])

    def hidden(leaf: Any) -> bool:
        return isinstance(leaf, optax.MaskedNode)

    def laid_out(leaf: Any, mask: Array) -> Any:
        if hidden(leaf):
            return leaf
        if leaf.shape[leaf.ndim - mask.ndim :] != mask.shape:  # several of them may be stacked
            raise ValueError(
                f"optimizer: keeps an array of shape {leaf.shape} for a parameter of shape "
                f"{mask.shape}, of which a unit's part cannot be made new; take one whose state "
                "is shaped like the parameters, such as optax.adam"
            )
        return mask

    masks = optax.tree.map_params(
        optimizer,
        laid_out,
        state,
        with_leaves(params, marked),
        transform_non_params=lambda _: None,
        is_leaf=hidden,
    )
    fresh = optimizer.init(jax.tree.map(lambda w, p: w.astype(p.dtype), weights, params))
    return jax.tree.map(
        lambda mask, new, old: old if mask is None else jnp.where(mask, new, old),
        masks,
        fresh,
        state,
        is_leaf=lambda leaf: leaf is None,
    )


def _packed(part: Any) -> bool:
    return isinstance(part, Packed)


def with_leaves(tree: Tree, changed: dict[str, Array]) -> Tree:
    """The tree with some of its leaves changed, by their paths."""

    def leaf(path: Any, old: Array) -> Array:
        return changed.get(jax.tree_util.keystr(path, simple=True, separator="/"), old)

    return jax.tree_util.tree_map_with_path(leaf, tree)


def _last(mask: Array, like: Array) -> Array:
    return jnp.broadcast_to(mask.reshape((1,) * (like.ndim - 1) + mask.shape), like.shape)


def _last_but_one(mask: Array, like: Array) -> Array:
    return jnp.broadcast_to(mask.reshape((1,) * (like.ndim - 2) + (*mask.shape, 1)), like.shape)

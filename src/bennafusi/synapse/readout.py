"""Looking into the chains of an optax state, and calling a memory back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array, lax

from bennafusi.synapse import integrate
from bennafusi.synapse.depth import beaker, beaker_to_recall
from bennafusi.synapse.flow import FlowState, Tree, pack_like, scheme_of, weight_of
from bennafusi.synapse.layout import unpack


def beakers(state: Any) -> Tree:
    """All levels of all chains: the parameters' tree with leaves ``[n, *shape]``.

    Takes the state of :func:`consolidate` or any optax state that holds one somewhere inside
    (``MultiSteps``, ``inject_hyperparams``, ``multi_transform``, ...). Parameters without a chain
    stand as ``optax.MaskedNode()``. Row 0 is the weight as the chain's last step left it: between
    two steps of ``every > 1`` the parameters themselves have moved on. A state that was made under
    ``vmap`` keeps its batch axes in front.

    Example:
        >>> from bennafusi import Chain, consolidate
        >>> tx = consolidate(optax.sgd(0.1), Chain(n=3, g12=0.1))
        >>> beakers(tx.init({"w": jnp.ones(2)}))["w"].tolist()
        [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    return _each(state, _levels)


def readout(state: Any, depth: int | Sequence[float] | Array) -> Tree:
    r"""Parameters from the depth of the chains: a tree like the parameters'.

    Pure, and compiles to a copy where one depth is asked for. Beakers are kept in at least float32,
    and so is the result. States may be wrapped and batched as for :func:`beakers`.

    Args:
        state: of :func:`consolidate`, or an optax state that holds one.
        depth: a beaker's number, counted from 1, the weight as the last step of the chain left it;
            or one weight per beaker, for :math:`\sum_k w_k u_k`.

    Example:
        >>> from bennafusi import Chain, consolidate
        >>> tx = consolidate(optax.sgd(0.1), Chain(n=2, g12=0.1), hidden="zeros")
        >>> state = tx.init(jnp.array([2.0, 4.0]))
        >>> readout(state, 2).tolist(), readout(state, [0.5, 0.5]).tolist()
        ([0.0, 0.0], [1.0, 2.0])
    """
    _flows(state)  # refused by its name, if the two were mixed up
    if np.ndim(depth) == 0:

        def one(flow: FlowState) -> Tree:
            scheme = scheme_of(flow)
            return unpack(integrate.level(scheme, flow.chain, beaker(depth, scheme.chain.n)))

        return _each(state, one)
    weights = depth if isinstance(depth, Array) else np.asarray(depth)

    def mix(u: Array) -> Array:
        if weights.shape != u.shape[:1]:
            raise ValueError(
                f"depth has shape {weights.shape}: this chain has {u.shape[0]} beakers, so that "
                f"weights for them need ({u.shape[0]},)"
            )
        # Accelerators would otherwise multiply in half of the digits, or fewer.
        exact = lax.Precision.HIGHEST
        return jnp.tensordot(jnp.asarray(weights, u.dtype), u, axes=1, precision=exact)

    return _each(state, lambda flow: jax.tree.map(mix, _levels(flow)))


class Recalled(NamedTuple):
    """What :func:`recall` gives.

    Attributes:
        params: the parameters, at the level of the recalled depth.
        state: the optax state, with the beakers between filled to the same level.
        created: liquid that was created (or removed, where below 0), like the parameters.
    """

    params: Tree
    state: Any
    created: Tree


def recall(state: Any, params: Tree, depth: int, *, overwrite: bool = False) -> Recalled:
    r"""Pour a depth back up, so that training goes on from what it remembers.

    The weight and all beakers above ``depth`` take its level :math:`u_k`. Deeper beakers, liquid on
    its way to them, counters, gates and the optimiser's moments stay. The chain's liquid changes by

    .. math:: \sum_{j<k} C_j\, (u_k - u_j),

    which is reported. Pure, and can be compiled, with ``depth`` fixed.

    Args:
        state: of :func:`consolidate`, or an optax state that holds one.
        params: the parameters that belong to it. Those without a chain stay as they are.
        depth: a beaker's number, from 2 on; 1 is the weight.
        overwrite: must be ``True`` from depth 3 on, where beakers between lose what they hold.

    Example:
        >>> from bennafusi import Chain, consolidate
        >>> tx = consolidate(optax.sgd(0.1), Chain(n=3, g12=0.1), hidden="zeros")
        >>> params = jnp.array([2.0, 4.0])
        >>> params, state, created = recall(tx.init(params), params, 3, overwrite=True)
        >>> params.tolist(), created.tolist()
        ([0.0, 0.0], [-2.0, -4.0])
    """
    boxes: Any = jax.tree.structure(params)
    params = _boxed(params, jax.eval_shape(beakers, _flows(state)))
    leaves, structure = jax.tree.flatten(state, is_leaf=_is_flow)
    poured = [_over_batch(flow, partial(_pour, depth, overwrite), params) for flow in _flows(state)]
    new, levels, created = zip(*poured, strict=True)
    following = iter(new)
    state = jax.tree.unflatten(structure, [next(following) if _is_flow(x) else x for x in leaves])

    def put(u: Any, param: Any) -> Any:
        return param if _is_masked(u) else u.astype(jnp.asarray(param).dtype)

    params = jax.tree.map(put, _merged(levels), params, is_leaf=_is_masked)
    liquid = _merged(created)
    return Recalled(_unboxed(params, boxes), state, _unboxed(liquid, boxes))


def _pour(
    depth: int, overwrite: bool, flow: FlowState, params: Tree
) -> tuple[FlowState, Tree, Tree]:
    """One chain's part of :func:`recall`: its state, the level, the liquid created."""
    scheme = scheme_of(flow)
    number = beaker_to_recall(depth, scheme.chain.n, overwrite)

    def own(u: Any, param: Any) -> Any:
        return u if _is_masked(u) else weight_of(jnp.asarray(param))

    weights = jax.tree.map(own, _levels(flow), params, is_leaf=_is_masked)
    chain, target, created = integrate.pour_up(
        scheme, flow.chain, pack_like(flow.chain, weights), number
    )
    return flow._replace(chain=chain), unpack(target), unpack(created)


def _boxed(params: Tree, like: Tree) -> Tree:
    """``params`` in the boxes of ``like``: flax's nnx has others for a state than for a model."""
    ours, theirs = (jax.tree_util.tree_flatten_with_path(tree) for tree in (params, like))
    if [path for path, _ in ours[0]] != [path for path, _ in theirs[0]]:
        return params
    return jax.tree.unflatten(theirs[1], [leaf for _, leaf in ours[0]])


def _unboxed(tree: Tree, boxes: Any) -> Tree:
    """The same in the parameters' own boxes, unless it has holes where there is no chain."""
    leaves = jax.tree.leaves(tree)
    return jax.tree.unflatten(boxes, leaves) if len(leaves) == boxes.num_leaves else tree


def _levels(flow: FlowState) -> Tree:
    return unpack(integrate.read(flow.chain), lead=1)


def _is_flow(node: Any) -> bool:
    return isinstance(node, FlowState)


def _is_masked(node: Any) -> bool:
    return isinstance(node, optax.MaskedNode)


def _flows(state: Any) -> list[FlowState]:
    """The chains in an optax state."""
    flows = [x for x in jax.tree.leaves(state, is_leaf=_is_flow) if _is_flow(x)]
    if not flows:
        raise ValueError("state: holds no beakers; it must come from bennafusi.consolidate")
    return flows


def _each(state: Any, look: Callable[[FlowState], Tree]) -> Tree:
    """What ``look`` makes of every chain in the state, as one tree."""
    return _merged([_over_batch(flow, look) for flow in _flows(state)])


def _over_batch(flow: FlowState, look: Callable[..., Any], *others: Tree) -> Any:
    """``look(flow, *others)``, for each member of a batch where the state is one."""
    for _ in range(flow.chain.steps.ndim):  # a counter per member of a batch
        look = jax.vmap(look)
    return look(flow, *others)


def _merged(trees: Sequence[Tree]) -> Tree:
    """One tree of several that have their holes, ``MaskedNode``, in different places."""
    return reduce(_joined, trees)


def _joined(one: Tree, other: Tree) -> Tree:
    """Two trees as one, level by level: a hole may stand for a whole branch of the parameters."""
    if _is_masked(one) or _is_masked(other):
        return other if _is_masked(one) else one
    if jax.tree_util.all_leaves([one]):
        raise ValueError("state: a parameter has several chains; look at each state by itself")
    return jax.tree.map(_joined, one, other, is_leaf=lambda node: node is not one)

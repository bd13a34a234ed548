"""Looking into the chains of an optax state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from bennafusi.synapse import integrate
from bennafusi.synapse.flow import FlowState, Tree
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
    return _each(state, lambda u: u)


def readout(state: Any, weights: Sequence[float] | Array) -> Tree:
    r"""A weighted sum over depth, :math:`\sum_k w_k u_k`, as a tree like the parameters'.

    ``weights`` has one entry per beaker; ``[1, 0, 0, ...]`` is the weight itself.

    Example:
        >>> from bennafusi import Chain, consolidate
        >>> tx = consolidate(optax.sgd(0.1), Chain(n=2, g12=0.1), hidden="zeros")
        >>> readout(tx.init(jnp.array([2.0, 4.0])), [0.5, 0.5]).tolist()
        [1.0, 2.0]
    """
    depth = np.asarray(weights) if not isinstance(weights, Array) else weights

    def mix(u: Array) -> Array:
        if depth.shape != u.shape[:1]:
            raise ValueError(
                f"weights has shape {depth.shape}: this chain has {u.shape[0]} beakers, "
                f"so it needs ({u.shape[0]},)"
            )
        return jnp.tensordot(jnp.asarray(depth, u.dtype), u, axes=1)

    return _each(state, mix)


def _each(state: Any, look: Callable[[Array], Array]) -> Tree:
    """``look`` at the levels ``[n, *shape]`` of every parameter that has a chain."""

    def is_flow(node: Any) -> bool:
        return isinstance(node, FlowState)

    def is_masked(node: Any) -> bool:
        return isinstance(node, optax.MaskedNode)

    def present(*options: Any) -> Any:
        chosen = [x for x in options if not is_masked(x)]
        if len(chosen) > 1:
            raise ValueError("state: a parameter has several chains; look at each state by itself")
        return chosen[0] if chosen else options[0]

    flows = [x for x in jax.tree.leaves(state, is_leaf=is_flow) if is_flow(x)]
    if not flows:
        raise ValueError("state: holds no beakers; it must come from bennafusi.consolidate")
    trees = []
    for flow in flows:

        def levels(flow: FlowState) -> Tree:
            return jax.tree.map(look, unpack(integrate.read(flow.chain), lead=1))

        for _ in range(flow.chain.steps.ndim):  # a counter per member of a batch
            levels = jax.vmap(levels)
        trees.append(levels(flow))
    return jax.tree.map(present, *trees, is_leaf=is_masked)

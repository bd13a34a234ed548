"""The chain around any optax optimiser."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from jax import Array

from bennafusi.synapse.chain import Chain
from bennafusi.synapse.flow import FlowState, Tree, add_flow, require_own, require_params
from bennafusi.synapse.initial import Hidden
from bennafusi.synapse.scheme import Method, Scheme, every_and_dt
from bennafusi.synapse.wrapped import wrapped

Mask = Tree | Callable[[Tree], Tree]


class ConsolidateState(NamedTuple):
    """State of :func:`consolidate`.

    Attributes:
        optimizer: the wrapped optimiser's own state, which the chain leaves alone.
        flow: the beakers; a :class:`FlowState`, inside ``optax.MaskedState`` where a mask is used.
    """

    optimizer: optax.OptState
    flow: Any


def consolidate(
    optimizer: optax.GradientTransformation,
    chain: Chain,
    *,
    every: int = 1,
    dt: float | None = None,
    method: Method = "multirate",
    hidden: Hidden = "copy",
    mask: Mask | None = None,
    key: Array | None = None,
    packed: bool = False,
) -> optax.GradientTransformationExtraArgs:
    r"""Give every parameter a Benna-Fusi chain, around any optimiser.

    The optimiser's own step :math:`\Delta w` goes into the first beaker, which is the weight; after
    ``every`` updates the chain makes one step of length ``dt``,

    .. math::
        u_1 &\leftarrow u_1 + \Delta w && \text{at every update} \\
        u &\leftarrow M(dt)\, u && \text{after every so many}

    The flow is not scaled by the learning rate, and the optimiser's moments are left alone. Call
    ``update(grads, state, params)`` and ``optax.apply_updates`` as ever; the first beaker is read
    from ``params``, so weights that were changed by hand are respected.

    Args:
        optimizer: any optax optimiser.
        chain: the chain; ``Chain(1, g12, leak=False)`` is the optimiser itself, to the bit.
        every: updates between two steps of the chain. The paper uses 64 with ``dt=64``.
        dt: time that one step of the chain covers, in updates; ``every`` if not given.
        method: ``"multirate"`` (default; about four beakers' work per step however long the chain),
            ``"euler"`` (the paper's) or ``"exact"`` (any ``dt``).
        hidden: the deeper beakers at the start: ``"copy"``, ``"zeros"``, ``"linear-variance"`` or a
            function ``(weight, chain, key, path) -> [n - 1, *weight.shape]``.
        mask: which parameters get a chain: a tree of bools that is a prefix of the parameters'
            tree, or a function from parameters to one. All, if not given.
        key: random key for a random ``hidden``.
        packed: keep the beakers of small parameters in common arrays. A compiled loop over a small
            network is faster so; but the state's arrays no longer belong to one parameter each, so
            that ``tree_map_params``, sharding and Flax's serialisation cannot follow them.

    Returns:
        An optax transformation. Its ``update`` takes two extra arguments. ``flow``: a number, or a
        tree like the parameters', that multiplies the flow into deeper beakers (an eligibility
        trace, an importance, a prediction error), or an elementwise function that makes such a
        factor from the drop of level along a tube. ``due``: a promise by a caller who counts
        updates, ``True`` where the chain steps after this one and ``False`` where not, known before
        compiling. It replaces the state's own count of ``every`` and is not checked; with it,
        updates in between cost what the optimiser costs. Extra arguments of the optimiser pass
        through.

    Example:
        >>> import jax.numpy as jnp
        >>> chain = Chain.covering(300, 1e6)
        >>> optimizer = consolidate(optax.adam(1e-3), chain)
        >>> params = {"w": jnp.ones(3), "b": jnp.zeros(())}
        >>> state = optimizer.init(params)
        >>> grads = {"w": jnp.ones(3), "b": jnp.ones(())}
        >>> updates, state = optimizer.update(grads, state, params)
        >>> params = optax.apply_updates(params, updates)
        >>> from bennafusi import beakers
        >>> beakers(state)["w"].shape
        (7, 3)

    References:
        Kaplanis, Shanahan and Clopath, *Continual RL with Complex Synapses*, 2018, section 3.2.
    """
    base = wrapped(optimizer)
    every, dt = every_and_dt(every, dt)
    scheme = Scheme(chain, dt, method, updates_per_step=every)
    flow_into = add_flow(
        chain, every=every, dt=dt, method=method, hidden=hidden, key=key, packed=packed
    )
    if mask is not None:
        flow_into = optax.masked(
            flow_into, partial(_fitting_mask, mask), mask_compatible_extra_args=True
        )

    def init(params: Tree) -> ConsolidateState:
        return ConsolidateState(base.init(params), flow_into.init(params))

    def update(
        updates: Tree, state: ConsolidateState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, ConsolidateState]:
        require_params(params)
        if not isinstance(state, ConsolidateState):
            raise TypeError(
                f"state: expected a ConsolidateState, as init makes it, and got a "
                f"{type(state).__name__}; restore a saved state into the tree that init gives"
            )
        if isinstance(state.flow, FlowState):  # before the optimiser stumbles over its own part
            require_own(scheme, state.flow, params)
        own = {name: extra.pop(name) for name in ("flow", "due") if name in extra}
        updates, inner = base.update(updates, state.optimizer, params, **extra)
        updates, flowing = flow_into.update(updates, state.flow, params, **own)
        return updates, ConsolidateState(inner, flowing)

    return optax.GradientTransformationExtraArgs(init, update)


def _fitting_mask(mask: Mask, params: Tree) -> Tree:
    """The mask for these parameters, refused with a clear word if it does not fit them."""
    tree = mask(params) if callable(mask) else mask
    try:
        jax.tree.map(lambda m, part: None, tree, params)
    except ValueError as error:
        raise ValueError(
            f"mask: its tree {jax.tree.structure(tree)} is no prefix of the parameters' tree "
            f"{jax.tree.structure(params)}"
        ) from error
    for leaf in jax.tree.leaves(tree):
        if not isinstance(leaf, bool | np.bool_):
            raise TypeError(f"mask: holds {leaf!r}; every entry must be True or False")
    return tree

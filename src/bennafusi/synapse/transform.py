"""The chain around any optax optimiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from bennafusi.synapse import integrate
from bennafusi.synapse.branch import when
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.initial import Hidden, beakers_at_birth, require_known
from bennafusi.synapse.layout import Layout, layout_of, pack, unpack
from bennafusi.synapse.scheme import Method, Scheme, every_and_dt

Tree = Any
Mask = Tree | Callable[[Tree], Tree]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FlowState:
    """State of :func:`add_flow`.

    Attributes:
        chain: all beakers, small parameters packed together; :func:`beakers` unpacks them.
        updates: updates since the chain last moved.
        layout: how the parameters are packed.
    """

    chain: integrate.ChainState
    updates: Array
    layout: Layout = field(metadata={"static": True})


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

    Returns:
        An optax transformation. Its ``update`` takes two extra arguments. ``flow``: a number, or a
        tree like the parameters', that multiplies the flow into deeper beakers (an eligibility
        trace, an importance, a prediction error), or an elementwise function that makes such a
        factor from the drop of level along a tube. ``due``: ``True`` or ``False`` from a caller who
        counts updates itself and so knows whether the chain steps after this one; a compiled loop
        is spared the question. Extra arguments of the optimiser pass through.

    Example:
        >>> chain = Chain.covering(10, 1e6)
        >>> optimizer = consolidate(optax.adam(1e-3), chain)
        >>> params = {"w": jnp.ones(3), "b": jnp.zeros(())}
        >>> state = optimizer.init(params)
        >>> grads = {"w": jnp.ones(3), "b": jnp.ones(())}
        >>> updates, state = optimizer.update(grads, state, params)
        >>> params = optax.apply_updates(params, updates)
        >>> from bennafusi import beakers
        >>> beakers(state)["w"].shape
        (10, 3)

    References:
        Kaplanis, Shanahan and Clopath, *Continual RL with Complex Synapses*, 2018, section 3.2.
    """
    base = optax.with_extra_args_support(optimizer)
    flow_into = add_flow(chain, every=every, dt=dt, method=method, hidden=hidden, key=key)
    if mask is not None:
        flow_into = optax.masked(
            flow_into, partial(_fitting_mask, mask), mask_compatible_extra_args=True
        )

    def init(params: Tree) -> ConsolidateState:
        return ConsolidateState(base.init(params), flow_into.init(params))

    def update(
        updates: Tree, state: ConsolidateState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, ConsolidateState]:
        if params is None:
            raise ValueError(
                "params=None: call update(grads, state, params), the weight is a beaker"
            )
        own = {name: extra.pop(name) for name in ("flow", "due") if name in extra}
        updates, inner = base.update(updates, state.optimizer, params, **extra)
        updates, flowing = flow_into.update(updates, state.flow, params, **own)
        return updates, ConsolidateState(inner, flowing)

    return optax.GradientTransformationExtraArgs(init, update)


def add_flow(
    chain: Chain,
    *,
    every: int = 1,
    dt: float | None = None,
    method: Method = "multirate",
    hidden: Hidden = "copy",
    key: Array | None = None,
) -> optax.GradientTransformationExtraArgs:
    """The chain alone, as the last link of an ``optax.chain``; arguments as in :func:`consolidate`.

    Example:
        >>> tx = optax.chain(optax.clip(1.0), optax.sgd(0.1), add_flow(Chain(n=4, g12=0.1)))
        >>> state = tx.init(jnp.zeros(2))
    """
    every, dt = every_and_dt(every, dt)
    scheme = Scheme(chain, dt, method, updates_per_step=every)
    require_known(hidden, key)

    def init(params: Tree) -> FlowState:
        levels = _levels_at_birth(params, chain, hidden, key)
        layout = layout_of(jax.tree.map(lambda u: u[0], levels))
        packed = pack(layout, levels, lead=1)
        return FlowState(integrate.start(scheme, packed), jnp.zeros((), jnp.int32), layout)

    def update(
        updates: Tree,
        state: FlowState,
        params: Tree | None = None,
        *,
        flow: integrate.Flow = 1.0,
        due: bool | None = None,
        **extra: Any,
    ) -> tuple[Tree, FlowState]:
        del extra
        if params is None:
            raise ValueError(
                "params=None: call update(grads, state, params), the weight is a beaker"
            )
        scheme.check_flow(flow)
        _check_flow(flow, params)
        layout = state.layout
        factors = _pack_flow(layout, params, flow)
        weights = jax.tree.map(_weight, params, updates)

        def step(beakers: integrate.ChainState) -> integrate.ChainState:
            return integrate.step(scheme, beakers, pack(layout, weights), factors)

        count = state.updates + 1
        if due is False:
            return updates, FlowState(state.chain, count, layout)
        known = due is True or every == 1
        now = count == every
        moved = step(state.chain) if known else when(now, step, state.chain)
        count = jnp.where(known | now, jnp.zeros_like(count), count)
        # Without flow the optimiser's updates are passed on as they are, to the bit.
        if chain.flows:
            flowed = unpack(layout, tuple(u[0] for u in moved.levels[0]))
            # Chosen between new weights, not between updates: XLA would otherwise work the
            # optimiser's update out twice, once for the chain and once for the parameters.
            if not known:
                flowed = jax.tree.map(partial(jnp.where, now), flowed, weights)
            updates = jax.tree.map(_difference, flowed, params, updates)
        return updates, FlowState(moved, count, layout)

    return optax.GradientTransformationExtraArgs(init, update)


def _difference(weight: Array, param: Array, update: Array) -> Array:
    return (weight - param.astype(weight.dtype)).astype(update.dtype)


def _pack_flow(layout: Layout, params: Tree, flow: integrate.Flow) -> integrate.Flow:
    """A flow for the packed arrays; one number, or one function, for all stays what it is."""
    if callable(flow):
        return flow
    if jax.tree_util.treedef_is_leaf(jax.tree.structure(flow)) and jnp.ndim(flow) == 0:
        return flow

    def factor(f: Any, param: Array) -> Array:
        return jnp.broadcast_to(jnp.asarray(f, _level_dtype(param)), param.shape)

    full = jax.tree.map(lambda f, part: jax.tree.map(partial(factor, f), part), flow, params)
    return pack(layout, full)


def _weight(param: Array, update: Array | None = None) -> Array:
    """The first beaker: the parameter, after its update, in the precision of the chain."""
    dtype = _level_dtype(param)
    return param.astype(dtype) if update is None else param.astype(dtype) + update.astype(dtype)


def _level_dtype(param: Array) -> Any:
    """Beakers are never kept below float32: in bfloat16 the second one would hardly ever move."""
    return param.dtype if param.dtype.itemsize >= 4 else jnp.dtype(jnp.float32)


def _levels_at_birth(params: Tree, chain: Chain, hidden: Hidden, key: Array | None) -> Tree:
    paths_and_leaves, structure = jax.tree_util.tree_flatten_with_path(params)
    levels = []
    for index, (path, leaf) in enumerate(paths_and_leaves):
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        param = jnp.asarray(leaf)
        if not jnp.issubdtype(param.dtype, jnp.inexact):
            raise TypeError(
                f"params: {name!r} has dtype {param.dtype}, and only floating point can flow; "
                f"leave it out with mask="
            )
        own_key = None if key is None else jax.random.fold_in(key, index)
        weight = _weight(param)
        levels.append(beakers_at_birth(hidden, weight, chain, own_key, name))
    return jax.tree.unflatten(structure, levels)


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


def _check_flow(flow: integrate.Flow, params: Tree) -> None:
    try:
        jax.tree.map(lambda f, part: None, flow, params)
    except ValueError as error:
        raise ValueError(
            f"flow: its tree {jax.tree.structure(flow)} is no prefix of the parameters' tree "
            f"{jax.tree.structure(params)}"
        ) from error

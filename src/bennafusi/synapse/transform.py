"""The chain around any optax optimiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from bennafusi.synapse import integrate
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.initial import Hidden, beakers_at_birth, require_known
from bennafusi.synapse.scheme import Method, Scheme, every_and_dt

Tree = Any
Mask = Tree | Callable[[Tree], Tree]


class FlowState(NamedTuple):
    """State of :func:`add_flow`.

    Attributes:
        chain: all beakers.
        updates: updates since the chain last moved.
    """

    chain: integrate.ChainState
    updates: Array


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
        mask: which parameters get a chain: a tree of bools that is a prefix of the parameters' tree,
            or a function from parameters to one. All, if not given.
        key: random key for a random ``hidden``.

    Returns:
        An optax transformation. Its ``update`` takes one extra argument, ``flow``: a number, or a
        tree like the parameters', that multiplies the flow into deeper beakers (an eligibility
        trace, an importance, a prediction error). Extra arguments of the optimiser pass through.

    Example:
        >>> chain = Chain.covering(10, 1e6)
        >>> optimizer = consolidate(optax.adam(1e-3), chain)
        >>> params = {"w": jnp.ones(3), "b": jnp.zeros(())}
        >>> state = optimizer.init(params)
        >>> grads = {"w": jnp.ones(3), "b": jnp.ones(())}
        >>> updates, state = optimizer.update(grads, state, params)
        >>> params = optax.apply_updates(params, updates)
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
        flow = extra.pop("flow", 1.0)
        updates, inner = base.update(updates, state.optimizer, params, **extra)
        updates, flowing = flow_into.update(updates, state.flow, params, flow=flow)
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
        return FlowState(integrate.start(scheme, levels), jnp.zeros((), jnp.int32))

    def update(
        updates: Tree,
        state: FlowState,
        params: Tree | None = None,
        *,
        flow: integrate.Flow = 1.0,
        **extra: Any,
    ) -> tuple[Tree, FlowState]:
        del extra
        if params is None:
            raise ValueError(
                "params=None: call update(grads, state, params), the weight is a beaker"
            )
        _check_flow(flow, params, method)
        if every == 1:
            updates, moved = _chain_step(scheme, params, flow, (updates, state.chain))
            return updates, FlowState(moved, state.updates)
        count = state.updates + 1
        updates, moved = integrate._when(
            count == every,
            partial(_chain_step, scheme, params, flow),
            (updates, state.chain),
        )
        return updates, FlowState(moved, jnp.where(count == every, jnp.zeros_like(count), count))

    return optax.GradientTransformationExtraArgs(init, update)


def beakers(state: Any) -> Tree:
    """All levels of all chains: the parameters' tree with leaves ``[n, *shape]``.

    Takes the state of :func:`consolidate` or any optax state that holds one somewhere inside
    (``MultiSteps``, ``inject_hyperparams``, ``multi_transform``, ...). Parameters without a chain
    stand as ``optax.MaskedNode()``. Row 0 is the weight as the chain's last step left it: between
    two steps of ``every > 1`` the parameters themselves have moved on.

    Example:
        >>> tx = consolidate(optax.sgd(0.1), Chain(n=3, g12=0.1))
        >>> beakers(tx.init({"w": jnp.ones(2)}))["w"].tolist()
        [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """

    def is_chain(node: Any) -> bool:
        return isinstance(node, integrate.ChainState)

    chains = [x for x in jax.tree.leaves(state, is_leaf=is_chain) if is_chain(x)]
    if not chains:
        raise ValueError("state: holds no beakers; it must come from bennafusi.consolidate")
    if len({id(c) for c in chains}) == 1:
        return integrate.read(chains[0])

    def is_masked(node: Any) -> bool:
        return isinstance(node, optax.MaskedNode)

    def present(*options: Any) -> Any:
        chosen = [x for x in options if not is_masked(x)]
        return chosen[0] if chosen else options[0]

    return jax.tree.map(present, *map(integrate.read, chains), is_leaf=is_masked)


def readout(state: Any, weights: Sequence[float] | Array) -> Tree:
    r"""A weighted sum over depth, :math:`\sum_k w_k u_k`: the parameters' tree as a chain recalls it.

    ``weights`` has one entry per beaker; ``[1, 0, 0, ...]`` is the weight itself.

    Example:
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

    return jax.tree.map(mix, beakers(state))


def _chain_step(
    scheme: Scheme, params: Tree, flow: integrate.Flow, carry: tuple[Tree, integrate.ChainState]
) -> tuple[Tree, integrate.ChainState]:
    """Turn the optimiser's updates into updates that also carry what flows along the chain."""
    updates, state = carry
    weights = jax.tree.map(_new_weight, params, updates)
    moved = integrate.step(scheme, state, weights, flow)
    if scheme.chain.flows:
        # Without flow the optimiser's update is passed on as it is, to the bit.
        updates = jax.tree.map(
            lambda u, p, d: (u[0] - p.astype(u.dtype)).astype(d.dtype),
            moved.levels[0],
            params,
            updates,
        )
    return updates, moved


def _new_weight(param: Array, update: Array) -> Array:
    dtype = _level_dtype(param)
    return param.astype(dtype) + update.astype(dtype)


def _level_dtype(param: Array) -> Any:
    """Beakers are never kept below float32: in bfloat16 the second one would hardly ever move."""
    return jnp.promote_types(param.dtype, jnp.float32)


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
        weight = param.astype(_level_dtype(param))
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


def _check_flow(flow: integrate.Flow, params: Tree, method: Method) -> None:
    if method == "exact" and not (isinstance(flow, int | float) and flow == 1):
        raise ValueError(
            "flow: method='exact' cannot modulate the flow; use 'multirate' or 'euler'"
        )
    try:
        jax.tree.map(lambda f, part: None, flow, params)
    except ValueError as error:
        raise ValueError(
            f"flow: its tree {jax.tree.structure(flow)} is no prefix of the parameters' tree "
            f"{jax.tree.structure(params)}"
        ) from error

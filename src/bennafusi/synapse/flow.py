"""The chain as an optax transformation: what it keeps, and one update of it."""

from __future__ import annotations

import json
import sys
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.synapse import integrate
from bennafusi.synapse.branch import when
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.initial import Hidden, beakers_at_birth, require_known
from bennafusi.synapse.layout import Packed, layout_of, leaf_shapes, pack, unpack
from bennafusi.synapse.precision import wide
from bennafusi.synapse.scheme import Method, Scheme, every_and_dt

Tree = Any
_OWN_FRAMES = ("optax.", "bennafusi.synapse.")


class FlowState(NamedTuple):
    """State of :func:`add_flow`.

    Attributes:
        chain: all beakers, as trees like the parameters'.
        updates: updates since the chain last moved.
        settings: what chain this is and how it is stepped, as JSON, the only key of a dictionary
            without leaves. So it is part of the tree's structure, which every tool that saves trees
            keeps or compares, and is known when a program is compiled.
    """

    chain: integrate.ChainState
    updates: Array
    settings: dict[str, tuple[()]]


def add_flow(
    chain: Chain,
    *,
    every: int = 1,
    dt: float | None = None,
    method: Method = "multirate",
    hidden: Hidden = "copy",
    key: Array | None = None,
    packed: bool = False,
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
        if packed:
            levels = pack(layout_of(jax.tree.map(lambda u: u[0], levels)), levels, lead=1)
        counter = jnp.zeros((), jnp.int32)
        return FlowState(integrate.start(scheme, levels), counter, {_written(scheme): ()})

    def update(
        updates: Tree,
        state: FlowState,
        params: Tree | None = None,
        *,
        flow: integrate.Flow = 1.0,
        due: bool | None = None,
        **_: Any,
    ) -> tuple[Tree, FlowState]:
        require_params(params)
        _require_last_link()
        require_own(scheme, state, params)
        params, updates = jax.tree.map(jnp.asarray, (params, updates))  # or Python's numbers
        _require_known(due)
        _check_flow(scheme, flow, params)
        factors = _pack_flow(state.chain, params, flow)
        weights = jax.tree.map(weight_of, params, updates)

        def step(beakers: integrate.ChainState) -> integrate.ChainState:
            return integrate.step(scheme, beakers, pack_like(beakers, weights), factors)

        count = state.updates + 1
        if due is False:
            return updates, state._replace(updates=count)
        known = due is True or every == 1
        now = count >= every
        moved = step(state.chain) if known else when(now, step, state.chain)
        count = jnp.where(known | now, jnp.zeros_like(count), count)
        # Without flow the optimiser's updates are passed on as they are, to the bit.
        if chain.flows:
            flowed = unpack(jax.tree.map(lambda u: u[0], moved.levels[0]))
            # Chosen between new weights, not between updates: XLA would otherwise work the
            # optimiser's update out twice, once for the chain and once for the parameters.
            if not known:
                flowed = jax.tree.map(partial(jnp.where, now), flowed, weights)
            updates = jax.tree.map(_difference, flowed, params, updates)
        return updates, state._replace(chain=moved, updates=count)

    return optax.GradientTransformationExtraArgs(init, update)


def require_params(params: Tree | None) -> None:
    """Refuse an update that does not say what it is an update of."""
    if params is None:
        raise ValueError("params=None: call update(grads, state, params), the weight is a beaker")


def scheme_of(state: FlowState) -> Scheme:
    """How the chain of a state is stepped, from the settings in the state."""
    (written,) = state.settings
    return Scheme.of(json.loads(written))


def weight_of(param: Array, update: Array | None = None) -> Array:
    """The first beaker: the parameter, after its update, in the precision of the chain."""
    weight = wide(param)
    return weight if update is None else weight + update.astype(weight.dtype)


def pack_like(chain: integrate.ChainState, tree: Tree) -> Tree:
    """A tree like the parameters', packed if the chain's levels are."""
    levels = chain.levels[0]
    return pack(levels.layout, tree) if isinstance(levels, Packed) else tree


def _difference(weight: Array, param: Array, update: Array) -> Array:
    return (weight - param.astype(weight.dtype)).astype(update.dtype)


def _pack_flow(chain: integrate.ChainState, params: Tree, flow: integrate.Flow) -> integrate.Flow:
    """A flow for the chain's arrays; one number, or one function, for all stays what it is."""
    if callable(flow) or not isinstance(chain.levels[0], Packed):
        return flow
    if jax.tree_util.treedef_is_leaf(jax.tree.structure(flow)) and jnp.ndim(flow) == 0:
        return flow

    def factor(f: Any, param: Array) -> Array:
        return jnp.broadcast_to(jnp.asarray(f, wide(param).dtype), param.shape)

    full = jax.tree.map(lambda f, part: jax.tree.map(partial(factor, f), part), flow, params)
    return pack_like(chain, full)


def _levels_at_birth(params: Tree, chain: Chain, hidden: Hidden, key: Array | None) -> Tree:
    paths_and_leaves, structure = jax.tree_util.tree_flatten_with_path(params)
    levels = []
    for index, (path, leaf) in enumerate(paths_and_leaves):
        name = _name(path)
        param = jnp.asarray(leaf)
        if not jnp.issubdtype(param.dtype, jnp.inexact):
            raise TypeError(
                f"params: {name!r} has dtype {param.dtype}, and only floating point can flow; "
                f"leave it out with mask="
            )
        own_key = None if key is None else jax.random.fold_in(key, index)
        levels.append(beakers_at_birth(hidden, weight_of(param), chain, own_key, name))
    return jax.tree.unflatten(structure, levels)


def _require_known(due: object) -> None:
    """Refuse a promise that is not known when a program is compiled: it would not be heard."""
    # optax.masked puts a MaskedNode in its place where one mask leaves everything out.
    if due is not None and not isinstance(due, bool | optax.MaskedNode):
        raise TypeError(
            f"due={due!r}: must be True, False or None, known before compiling; for one that is "
            f"worked out inside a program make two branches, or leave it out and the chain counts"
        )


def _check_flow(scheme: Scheme, flow: integrate.Flow, params: Tree) -> None:
    scheme.check_flow(flow)
    try:
        jax.tree.map(lambda f, part: None, flow, params)
    except ValueError as error:
        raise ValueError(
            f"flow: its tree {jax.tree.structure(flow)} is no prefix of the parameters' tree "
            f"{jax.tree.structure(params)}"
        ) from error
    if not callable(flow):
        jax.tree.map(_require_factor, flow, params)


def _require_factor(factor: Any, part: Tree) -> None:
    """Refuse a factor that does not fit its parameters."""
    for param in jax.tree.leaves(part):
        try:
            fits = jnp.broadcast_shapes(jnp.shape(factor), param.shape) == param.shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"flow: a factor of shape {jnp.shape(factor)} for a parameter of shape "
                f"{param.shape}; give a number or an array of that shape"
            )


def _written(scheme: Scheme) -> str:
    return json.dumps(scheme.settings)


def require_own(scheme: Scheme, state: FlowState, params: Tree) -> None:
    """Refuse a state that was made with other settings or for other parameters."""
    if not isinstance(state, FlowState):
        raise TypeError(
            f"state: expected a FlowState, as init makes it, and got a {type(state).__name__}; "
            f"restore a saved state into the tree that init gives"
        )
    if list(state.settings) != [_written(scheme)]:
        saved = ", ".join(state.settings)
        raise ValueError(
            f"state: was made with {saved}, but this transformation has {_written(scheme)}"
        )
    named = jax.tree_util.tree_flatten_with_path(params)[0]
    for group, levels in zip(scheme.groups, state.chain.levels, strict=True):
        rows = group.stop - group.start + (group is not scheme.groups[-1])
        shapes = leaf_shapes(levels)
        if len(shapes) != len(named):
            raise ValueError(
                f"state: has beakers for {len(shapes)} parameters, and params has {len(named)}"
            )
        if not isinstance(levels, Packed):
            theirs = jax.tree_util.tree_flatten_with_path(levels)[0]
            for (path, _), (other, _) in zip(named, theirs, strict=True):
                if path != other:
                    raise ValueError(
                        f"state: has beakers of {_name(other)!r} where params has {_name(path)!r}"
                    )
        for (path, param), shape in zip(named, shapes, strict=True):
            if shape != (rows, *jnp.shape(param)):
                raise ValueError(
                    f"state: has an array of shape {shape} for parameter {_name(path)!r} of shape "
                    f"{jnp.shape(param)}; {rows} beakers of it need {(rows, *jnp.shape(param))}"
                )


def _require_last_link() -> None:
    """Refuse a place in an ``optax.chain`` with other links behind it.

    They would change the weight's step behind the chain's back. Nothing tells a transformation its
    place but the frames that call it; only optax's and our own are looked at, and only while a
    program is traced.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_OWN_FRAMES):
        here = frame.f_locals
        match frame.f_code.co_qualname:
            case "chain.<locals>.update_fn":
                last = here["fn"] is here["update_fns"][-1]
            case "named_chain.<locals>.update_fn":
                last = here["name"] == here["transforms"][-1][0]
            case _:
                last = True
        if not last:
            raise ValueError(
                "the chain must be the last link of an optax.chain: what comes after it would "
                "change the weight, and its beakers would not know. "
                "Put the other links before it, or inside consolidate(optax.chain(...), chain)"
            )
        frame = frame.f_back


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")

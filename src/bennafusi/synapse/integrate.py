"""One step of the chain for a whole tree of parameters, inside ``jit``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from bennafusi.synapse.scheme import COUNTER_END, LONGEST_PERIOD, Scheme

Tree = Any  # a pytree of arrays, one per parameter
Flow = Any  # a number, an array, or a tree that is a prefix of the parameters' tree


class ChainState(NamedTuple):
    """All beakers of a tree of parameters.

    Attributes:
        levels: one tree per group of beakers; a leaf is ``[beakers in the group, *shape]``. Row 0 of
            the first group is the weight as the last step left it.
        pending: one tree per group but the first; what has flowed towards the group since it last
            moved, as the rise it will make in the group's first beaker.
        steps: how many steps the chain has made.
    """

    levels: tuple[Tree, ...]
    pending: tuple[Tree, ...]
    steps: Array


def start(scheme: Scheme, beakers: Tree) -> ChainState:
    """The state of a chain whose levels are ``beakers``, a tree with leaves ``[n, *shape]``."""
    levels = tuple(
        jax.tree.map(lambda u, g=group: u[g.start : g.stop], beakers) for group in scheme.groups
    )
    pending = tuple(jax.tree.map(lambda u: jnp.zeros_like(u[0]), level) for level in levels[1:])
    return ChainState(levels, pending, jnp.zeros((), jnp.int32))


def read(state: ChainState) -> Tree:
    """All levels as a tree with leaves ``[n, *shape]``, liquid that waits in a tube included.

    It is counted with the beaker it flows to, so that the chain's liquid is complete at any time.
    """
    first, *deeper = state.levels
    poured = [
        jax.tree.map(_pour, u, waiting) for u, waiting in zip(deeper, state.pending, strict=True)
    ]
    return jax.tree.map(lambda *groups: jnp.concatenate(groups), first, *poured)


def step(scheme: Scheme, state: ChainState, weights: Tree, flow: Flow = 1.0) -> ChainState:
    """One step of length ``scheme.dt`` from the given weights; the new weights are row 0.

    Args:
        scheme: the chain and how to step it.
        state: the chain before; its own row 0 is ignored in favour of ``weights``.
        weights: the first beaker, after the optimiser's updates.
        flow: factor on the flow into deeper beakers, in the deeper beaker's equation alone. A
            beaker that moves rarely reads it when it moves.
    """
    levels = (jax.tree.map(_with_weight, state.levels[0], weights), *state.levels[1:])
    steps = jnp.where(
        state.steps + 1 < COUNTER_END + LONGEST_PERIOD, state.steps + 1, COUNTER_END
    ).astype(jnp.int32)
    if scheme.method == "exact":
        levels = (jax.tree.map(partial(_propagate, scheme, steps), levels[0]),)
        return ChainState(levels, (), steps)
    levels, pending = _move(scheme, 0, steps, flow, levels, state.pending)
    return ChainState(levels, pending, steps)


def _move(
    scheme: Scheme,
    index: int,
    steps: Array,
    flow: Flow,
    levels: tuple[Tree, ...],
    pending: tuple[Tree, ...],
) -> tuple[tuple[Tree, ...], tuple[Tree, ...]]:
    """Move group ``index`` and, when their time has come, the deeper ones.

    ``levels`` begins with this group, ``pending`` with what waits for the next one. The deeper
    groups go first: read after they are written, they can be updated in place by XLA. The other way
    round it would copy every one of them at every step.
    """
    group = scheme.groups[index]
    mine, deeper, waiting = levels[0], levels[1:], pending
    if not deeper:
        below = jax.tree.map(lambda u: jnp.zeros_like(u[0]), mine)
        return (
            jax.tree.map(partial(_relax, scheme, index, steps), mine, below, _like(flow, mine)),
        ), ()

    awake = partial(_wake, scheme, index + 1, steps, flow)
    due = steps % (scheme.groups[index + 1].period) == 0
    deeper, waiting = _when(due, awake, (deeper, waiting))
    # The beaker below is seen with the liquid that is on its way to it.
    below = jax.tree.map(lambda u, rise: u[0] + rise, deeper[0], waiting[0])
    flows = _like(flow, mine)
    share = float(scheme.from_above[group.stop] * group.period)
    sent = jax.tree.map(
        lambda rise, u, b, f: rise + share * f * (u[-1] - b), waiting[0], mine, below, flows
    )
    mine = jax.tree.map(partial(_relax, scheme, index, steps), mine, below, flows)
    return (mine, *deeper), (sent, *waiting[1:])


def _wake(
    scheme: Scheme,
    index: int,
    steps: Array,
    flow: Flow,
    carry: tuple[tuple[Tree, ...], tuple[Tree, ...]],
) -> tuple[tuple[Tree, ...], tuple[Tree, ...]]:
    """Pour what has waited for group ``index`` into it, then move it."""
    levels, pending = carry
    poured = jax.tree.map(_pour, levels[0], pending[0])
    empty = jax.tree.map(jnp.zeros_like, pending[0])
    levels, pending = _move(scheme, index, steps, flow, (poured, *levels[1:]), pending[1:])
    return levels, (empty, *pending)


def _relax(scheme: Scheme, index: int, steps: Array, u: Array, below: Array, flow: Array) -> Array:
    """The paper's equation for the beakers of one group, all from old levels.

    The first beaker's inflow is not here: it is the optimiser's step, or was poured in before.
    """
    start, stop, period = scheme.groups[index]
    column = (-1,) + (1,) * (u.ndim - 1)
    inward = np.r_[0.0, scheme.from_above[start + 1 : stop]] * period
    back = jnp.asarray(scheme.from_below[start:stop] * period, u.dtype)
    if scheme.chain.gated:
        back = jnp.where(
            steps >= jnp.asarray(scheme.gate_steps[start:stop]), back, jnp.zeros_like(back)
        )
    above = jnp.concatenate([u[:1], u[:-1]])
    beneath = jnp.concatenate([u[1:], below[None]])
    factor = flow if flow.ndim == 0 else flow[None]
    rise = jnp.asarray(inward, u.dtype).reshape(column) * factor * (above - u)
    return u + rise + back.reshape(column) * (beneath - u)


def _propagate(scheme: Scheme, steps: Array, u: Array) -> Array:
    """All beakers at once by the matrix exponential, with the gates as they are at this step."""
    opened = jnp.sum(steps >= jnp.asarray(scheme.gate_steps))
    rise = jnp.asarray(scheme.propagators, u.dtype)[opened]
    return u + jnp.tensordot(rise, u, axes=1, precision=lax.Precision.HIGHEST)


def _when(due: Array, change: Callable[[Any], Any], carry: Any) -> Any:
    """``change(carry)`` if due, else ``carry``.

    A loop that runs at most once, not ``lax.cond``: XLA updates the carry of a loop in place, where
    the branches of a conditional copy what they pass through.
    """
    return lax.while_loop(
        lambda loop: loop[0],
        lambda loop: (jnp.zeros_like(loop[0]), change(loop[1])),
        (due, carry),
    )[1]


def _like(flow: Flow, levels: Tree) -> Tree:
    """``flow`` as a tree of factors, one per leaf of ``levels``: a scalar or of the leaf's shape."""

    def factor(f: Any, u: Array) -> Array:
        f = jnp.asarray(f, u.dtype)
        return f if f.ndim == 0 else jnp.broadcast_to(f, u.shape[1:])

    return jax.tree.map(lambda f, part: jax.tree.map(partial(factor, f), part), flow, levels)


def _with_weight(u: Array, weight: Array) -> Array:
    return jnp.concatenate([weight.astype(u.dtype)[None], u[1:]])


def _pour(u: Array, rise: Array) -> Array:
    return jnp.concatenate([(u[0] + rise)[None], u[1:]])

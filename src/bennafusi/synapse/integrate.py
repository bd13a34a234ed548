"""One step of the chain for a whole tree of parameters, inside ``jit``."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from bennafusi.synapse.branch import when
from bennafusi.synapse.equation import add_scaled, relax
from bennafusi.synapse.scheme import Group, Scheme, next_step

Tree = Any  # a pytree of arrays, one per parameter
Flow = Any  # a number, an array, a function of the drop, or a tree of these: a prefix of the params


class ChainState(NamedTuple):
    """All beakers of a tree of parameters.

    Attributes:
        levels: one tree per group of beakers, fastest first. A leaf has one row per beaker of the
            group, ``[beakers, *shape]``, and, for all groups but the last, one more row: the liquid
            that waits in the tube below, as the rise it will make in the next group's first beaker.
            Row 0 of the first group is the weight as the last step left it.
        steps: how many steps the chain has made.
    """

    levels: tuple[Tree, ...]
    steps: Array


def start(scheme: Scheme, beakers: Tree) -> ChainState:
    """The state of a chain whose levels are ``beakers``, a tree with leaves ``[n, *shape]``."""
    last = scheme.groups[-1]

    def cut(group: Group, u: Array) -> Array:
        rows = u[group.start : group.stop]
        return rows if group is last else jnp.concatenate([rows, jnp.zeros_like(rows[:1])])

    levels = tuple(jax.tree.map(partial(cut, group), beakers) for group in scheme.groups)
    return ChainState(levels, jnp.zeros((), jnp.int32))


def read(state: ChainState) -> Tree:
    """All levels as a tree with leaves ``[n, *shape]``, liquid that waits in a tube included.

    It is counted with the beaker it flows to, so that the chain's liquid is complete at any time.
    """

    def join(*groups: Array) -> Array:
        rows = [groups[0]]
        for group in groups[1:]:
            waiting = rows[-1][-1]
            rows[-1] = rows[-1][:-1]
            rows.append(jnp.asarray(group).at[0].add(waiting))  # a restored state is NumPy
        return jnp.concatenate(rows)

    return jax.tree.map(join, *state.levels)


def level(scheme: Scheme, state: ChainState, depth: int) -> Tree:
    """Beaker ``depth``, counted from 1, as a tree like the parameters', waiting liquid included."""
    index = scheme.group_of(depth)
    row = depth - 1 - scheme.groups[index].start
    arriving = (state.levels[index - 1],) if index > 0 and row == 0 else ()

    def pick(u: Array, *above: Array) -> Array:
        return u[row] + above[0][-1] if above else u[row]

    return jax.tree.map(pick, state.levels[index], *arriving)


def pour_up(
    scheme: Scheme, state: ChainState, weights: Tree, depth: int
) -> tuple[ChainState, Tree, Tree]:
    r"""Give all beakers above ``depth`` its level; deeper ones and counters stay as they are.

    Args:
        scheme: the chain.
        state: the chain before.
        weights: the first beaker before.
        depth: a beaker, counted from 1.

    Returns:
        The chain after, the level, and the liquid that this has created (or removed, where below
        0), :math:`\sum_{j<k} C_j (u_k - u_j)`.
    """
    target = level(scheme, state, depth)
    created = jax.tree.map(jnp.subtract, target, weights)
    for above in range(2, depth):
        area = float(scheme.chain.areas[above - 1])
        missing = jax.tree.map(jnp.subtract, target, level(scheme, state, above))
        created = jax.tree.map(lambda total, u, c=area: total + c * u, created, missing)
    levels = []
    for index, (tree, group) in enumerate(zip(state.levels, scheme.groups, strict=True)):
        filled = min(max(depth - 1 - group.start, 0), group.stop - group.start)
        # What waits for a beaker that is filled is part of what it held.
        emptied = index + 1 < len(scheme.groups) and group.stop < depth - 1

        def fill(u: Array, t: Array, filled: int = filled, emptied: bool = emptied) -> Array:
            new = jnp.asarray(u).at[:filled].set(jnp.broadcast_to(t[None], (filled, *t.shape)))
            return new.at[-1].set(jnp.zeros_like(t)) if emptied else new

        levels.append(jax.tree.map(fill, tree, target) if filled else tree)
    return state._replace(levels=tuple(levels)), target, created


def step(scheme: Scheme, state: ChainState, weights: Tree, flow: Flow = 1.0) -> ChainState:
    """One step of length ``scheme.dt`` from the given weights; the new weights are row 0.

    Args:
        scheme: the chain and how to step it.
        state: the chain before; its own row 0 is ignored in favour of ``weights``.
        weights: the first beaker, after the optimiser's updates.
        flow: factor on the flow into deeper beakers, in the deeper beaker's equation alone. A
            beaker that moves rarely reads it when it moves. A function in its place gets the drop
            of level along each tube, shaped like the parameter, and returns that tube's factor.
    """
    steps = next_step(state.steps, jnp.where).astype(jnp.int32)
    top = jax.tree.map(lambda u, w: w.astype(u.dtype), state.levels[0], weights)
    if scheme.method == "exact":
        propagate = partial(_propagate, scheme, steps)
        return ChainState((jax.tree.map(propagate, state.levels[0], top),), steps)
    flows = _like(flow, state.levels[0])
    return ChainState(_move(scheme, 0, steps, flows, top, state.levels), steps)


def _move(
    scheme: Scheme, index: int, steps: Array, flows: Tree, top: Tree, levels: tuple[Tree, ...]
) -> tuple[Tree, ...]:
    """Move group ``index``, the first of ``levels``, and the deeper ones when their time has come.

    ``top`` is the level of the group's first beaker. The deeper groups go first: written before
    they are read, they can be updated in place by XLA. The other way round it would copy every one
    of them at every step.
    """
    mine, deeper = levels[0], levels[1:]
    shift = partial(_shift, scheme, index, steps)
    if not deeper:
        return (jax.tree.map(shift, mine, flows, top),)

    def wake(carry: tuple[tuple[Tree, ...], Array]) -> tuple[tuple[Tree, ...], Array]:
        deeper, kept = carry
        poured = jax.tree.map(lambda u, faster: u[0] + faster[-1], deeper[0], mine)
        return _move(scheme, index + 1, steps, flows, poured, deeper), jnp.zeros_like(kept)

    due = steps % scheme.groups[index + 1].period == 0
    # `kept`, 1 while liquid stays in the tube and 0 once it was poured, comes out of the loop
    # because XLA would otherwise work the remainder out again for every element of every array.
    deeper, kept = when(due, wake, (deeper, jnp.ones((), jnp.float32)))
    below = jax.tree.map(lambda u: u[0], deeper[0])
    return (jax.tree.map(partial(shift, kept=kept), mine, flows, top, below), *deeper)


def _shift(
    scheme: Scheme,
    index: int,
    steps: Array,
    u: Array,
    flow: Array,
    top: Array,
    below: Array | None = None,
    kept: Array | None = None,
) -> Array:
    """Move the beakers of one group, of which the first has level ``top``.

    Row by row rather than with shifted arrays, which XLA would build in memory first.
    """
    group = scheme.groups[index]
    size = group.stop - group.start
    inward = [float(a * group.period) for a in scheme.from_above[group.start : group.stop + 1]]
    shares = jnp.asarray(scheme.from_below[group.start : group.stop] * group.period, u.dtype)
    if scheme.chain.gated:
        opens = jnp.asarray(scheme.gate_steps[group.start : group.stop])
        shares = jnp.where(steps >= opens, shares, jnp.zeros_like(shares))
    back = [shares[k] for k in range(size)]
    beakers = [top, *(u[k] for k in range(1, size))]
    if below is None or kept is None:
        rows, _ = relax([*beakers, jnp.zeros_like(top)], inward, back, flow)
    else:
        # The beaker below is seen with the liquid that is on its way to it.
        waiting = u[size] * kept.astype(u.dtype)
        rows, drop = relax([*beakers, below + waiting], inward, back, flow)
        rows.append(add_scaled(waiting, inward[size], drop))
    return jnp.stack(rows)


def _propagate(scheme: Scheme, steps: Array, u: Array, weight: Array) -> Array:
    """All beakers at once by the matrix exponential, with the gates as they are at this step."""
    u = jnp.asarray(u).at[0].set(weight)  # a restored state is NumPy
    # How many gates are open: they open from the top.
    opened = jnp.sum(steps >= jnp.asarray(scheme.gate_steps))
    rise = jnp.asarray(scheme.propagators, u.dtype)[opened]
    return u + jnp.tensordot(rise, u, axes=1, precision=lax.Precision.HIGHEST)


def _like(flow: Flow, levels: Tree) -> Tree:
    """``flow`` as a tree of factors, one per leaf of ``levels``: scalar or of the leaf's shape."""

    def factor(f: Any, u: Array) -> Any:
        if callable(f):
            return f
        f = jnp.asarray(f, u.dtype)
        return f if f.ndim == 0 else jnp.broadcast_to(f, u.shape[1:])

    return jax.tree.map(lambda f, part: jax.tree.map(partial(factor, f), part), flow, levels)

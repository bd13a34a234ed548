"""A second, slower set of weights beside the first: four ways to have one."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.rivals.skeleton import (
    Number,
    Tree,
    copied,
    difference,
    need,
    need_floats,
    number,
    positive,
    stepped,
)


class EmaState(NamedTuple):
    """State of :func:`ema`.

    Attributes:
        average: the weights to evaluate with.
        optimizer: the wrapped optimiser's own state.
    """

    average: Tree
    optimizer: optax.OptState


def ema(
    optimizer: optax.GradientTransformation, *, step_size: Number
) -> optax.GradientTransformationExtraArgs:
    r"""A moving average of the weights, which learning does not see.

    .. math:: s \leftarrow s + \tau (w - s)

    after every update, by ``optax.incremental_update``; ``state.average`` is for evaluation. One
    array per parameter.

    Args:
        optimizer: any optax optimiser.
        step_size: :math:`\tau`.

    Returns:
        An optax transformation.

    Example:
        >>> optimizer = ema(optax.sgd(1.0), step_size=0.25)
        >>> w = jnp.array([4.0])
        >>> updates, state = optimizer.update(jnp.array([4.0]), optimizer.init(w), w)
        >>> state.average  # the weight itself is 0 now
        Array([3.], dtype=float32)

    References:
        Polyak and Juditsky, *Acceleration of stochastic approximation by averaging*, 1992.
    """
    base = optax.with_extra_args_support(optimizer)
    share = number("step_size", step_size)

    def init(params: Tree) -> EmaState:
        need_floats(params)
        return EmaState(copied(params), base.init(params))

    def update(
        updates: Tree, state: EmaState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, EmaState]:
        need(params)
        updates, inner = base.update(updates, state.optimizer, params, **extra)
        average = _nearer(stepped(params, updates), state.average, share)
        return updates, EmaState(average, inner)

    return optax.GradientTransformationExtraArgs(init, update)


class HareAndTortoiseState(NamedTuple):
    """State of :func:`hare_and_tortoise`.

    Attributes:
        updates: how many there were, int32.
        tortoise: the slow weights.
        optimizer: the wrapped optimiser's own state.
    """

    updates: Array
    tortoise: Tree
    optimizer: optax.OptState


def hare_and_tortoise(
    optimizer: optax.GradientTransformation, *, step_size: Number, period: int
) -> optax.GradientTransformationExtraArgs:
    r"""A slow average, to which the weights are set back every so many updates.

    .. math::
        s &\leftarrow s + \tau (w - s) && \text{after every update} \\
        w &\leftarrow s && \text{after every } K\text{-th}

    One array per parameter.

    Args:
        optimizer: any optax optimiser; its moments are kept when the weights are set back.
        step_size: :math:`\tau`.
        period: :math:`K`.

    Returns:
        An optax transformation.

    Example:
        >>> optimizer = hare_and_tortoise(optax.sgd(1.0), step_size=0.25, period=1)
        >>> w = jnp.array([4.0])
        >>> optimizer.update(jnp.array([4.0]), optimizer.init(w), w)[0]  # from 4 to 0, back to 3
        Array([-1.], dtype=float32)

    References:
        Lee et al., *Slow and steady wins the race: maintaining plasticity with hare and tortoise
        networks*, 2024.
    """
    inside = ema(optimizer, step_size=step_size)
    length = positive("period", period)

    def init(params: Tree) -> HareAndTortoiseState:
        return HareAndTortoiseState(jnp.zeros((), jnp.int32), *inside.init(params))

    def update(
        updates: Tree, state: HareAndTortoiseState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, HareAndTortoiseState]:
        own = EmaState(state.tortoise, state.optimizer)
        updates, (tortoise, inner) = inside.update(updates, own, params, **extra)
        count = optax.safe_increment(state.updates)
        back = difference(tortoise, params, updates)
        updates = optax.periodic_update(back, updates, count, length)
        return updates, HareAndTortoiseState(count, tortoise, inner)

    return optax.GradientTransformationExtraArgs(init, update)


class LookaheadState(NamedTuple):
    """State of :func:`lookahead`.

    Attributes:
        slow: the slow weights, which are for evaluation.
        inner: of ``optax.lookahead``, with the wrapped optimiser's own state.
    """

    slow: Tree
    inner: optax.OptState


def lookahead(
    optimizer: optax.GradientTransformation, *, period: int = 5, step_size: Number = 0.5
) -> optax.GradientTransformationExtraArgs:
    r"""Lookahead: after every few updates the slow weights follow, and the fast ones join them.

    .. math:: s \leftarrow s + \alpha (w - s), \qquad w \leftarrow s

    after every :math:`K`-th. ``optax.lookahead``, with the slow weights in the state: parameters
    stay as they are, and extra arguments pass through. One array per parameter.

    Args:
        optimizer: any optax optimiser.
        period: :math:`K`.
        step_size: :math:`\alpha`.

    Returns:
        An optax transformation.

    Example:
        >>> optimizer = lookahead(optax.sgd(1.0), period=1, step_size=0.25)
        >>> w = jnp.array([4.0])
        >>> updates, state = optimizer.update(jnp.array([4.0]), optimizer.init(w), w)
        >>> updates, state.slow  # from 4 to 0, back to 3
        (Array([-1.], dtype=float32), Array([3.], dtype=float32))

    References:
        Zhang et al., *Lookahead optimizer: k steps forward, 1 step back*, 2019.
    """
    base = optax.with_extra_args_support(optimizer)
    length, share = positive("period", period), number("step_size", step_size)

    def given(extra: dict[str, Any]) -> optax.GradientTransformation:
        bound = optax.GradientTransformation(base.init, partial(base.update, **extra))
        return optax.lookahead(bound, length, share)

    def init(params: Tree) -> LookaheadState:
        need_floats(params)
        slow = copied(params)
        return LookaheadState(slow, given({}).init(optax.LookaheadParams(params, slow)))

    def update(
        updates: Tree, state: LookaheadState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, LookaheadState]:
        need(params)
        pair = optax.LookaheadParams(params, state.slow)
        found, inner = given(extra).update(updates, state.inner, pair)
        slow = optax.apply_updates(state.slow, found.slow)
        fast = jax.tree.map(lambda f, u: f.astype(u.dtype), found.fast, updates)
        return fast, LookaheadState(slow, inner)

    return optax.GradientTransformationExtraArgs(init, update)


def schedule_free(
    optimizer: optax.GradientTransformation, *, b1: Number = 0.9
) -> optax.GradientTransformationExtraArgs:
    r"""Schedule-free learning at a constant rate: gradients are taken near the mean of all weights.

    .. math::
        y = (1 - \beta) z + \beta x, \qquad z \leftarrow z + \Delta(y), \qquad
        x \leftarrow x + (z - x) / t

    ``optax.contrib.schedule_free``; the parameters are :math:`y`, and
    ``optax.contrib.schedule_free_eval_params(state, params)`` gives :math:`x` for evaluation. One
    array per parameter.

    Args:
        optimizer: any optax optimiser, best without momentum: ``optax.adam(rate, b1=0.0)``.
        b1: :math:`\beta`, above 0.

    Returns:
        An optax transformation.

    Example:
        >>> optimizer = schedule_free(optax.sgd(1.0), b1=0.5)
        >>> w = jnp.array([4.0])
        >>> updates, state = optimizer.update(jnp.array([1.0]), optimizer.init(w), w)
        >>> updates, state.z
        (Array([-1.], dtype=float32), Array([3.], dtype=float32))

    References:
        Defazio et al., *The road less scheduled*, 2024.
    """
    # At a constant rate all weights of the mean are equal, whatever the rate is.
    share = number("b1", b1, below=1.0)
    inner = optax.contrib.schedule_free(optimizer, learning_rate=1.0, b1=share)
    return optax.with_extra_args_support(inner)


def _nearer(new: Tree, old: Tree, share: Any) -> Tree:
    """``optax.incremental_update`` in the types of ``old``."""
    found = optax.incremental_update(new, old, share)
    return jax.tree.map(lambda x, o: x.astype(o.dtype), found, old)

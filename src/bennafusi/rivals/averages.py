"""A second, slower set of weights beside the first: four ways to have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.rivals.skeleton import (
    Number,
    Tree,
    above_zero,
    average_decay,
    copied,
    difference,
    need,
    need_floats,
    number,
    positive,
    stepped,
    tidy,
)
from bennafusi.synapse.precision import wide
from bennafusi.synapse.wrapped import wrapped


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
        step_size: :math:`\tau`, at most 1; its inverse is how many updates are averaged over,
            some visits of a task: our tunings begin at 1e-2.

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
    base = wrapped(optimizer)
    share = number("step_size", step_size, most=1.0)

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


class SetBackState(NamedTuple):
    """State of :func:`hare_and_tortoise` and :func:`lookahead`.

    Attributes:
        updates: how many since the weights were last set back, int32.
        slow: the slow weights, which are for evaluation.
        optimizer: the wrapped optimiser's own state.
    """

    updates: Array
    slow: Tree
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
        step_size: :math:`\tau`, at most 1; our tunings begin at 1e-2.
        period: :math:`K`; our tunings take the inverse of ``step_size``.

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
    share = number("step_size", step_size, most=1.0)
    return _set_back(optimizer, period, lambda due, dtype: jnp.asarray(share, dtype))


def lookahead(
    optimizer: optax.GradientTransformation, *, period: int = 5, step_size: Number = 0.5
) -> optax.GradientTransformationExtraArgs:
    r"""Lookahead: after every few updates the slow weights follow, and the fast ones join them.

    .. math:: s \leftarrow s + \alpha (w - s), \qquad w \leftarrow s

    after every :math:`K`-th. The same as ``optax.lookahead``, with the slow weights in the state:
    parameters stay as they are, and extra arguments pass through. One array per parameter.

    Args:
        optimizer: any optax optimiser.
        period: :math:`K`.
        step_size: :math:`\alpha`, at most 1.

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
    share = number("step_size", step_size, most=1.0)
    return _set_back(optimizer, period, lambda due, dtype: jnp.where(due, share, 0.0).astype(dtype))


def _set_back(
    optimizer: optax.GradientTransformation, period: int, share: Callable[[Array, Any], Array]
) -> optax.GradientTransformationExtraArgs:
    """Slow weights that follow by a share, and weights that are set back to them when it is due."""
    base = wrapped(optimizer)
    length = positive("period", period)

    def init(params: Tree) -> SetBackState:
        need_floats(params)
        return SetBackState(jnp.zeros((), jnp.int32), copied(params), base.init(params))

    def update(
        updates: Tree, state: SetBackState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, SetBackState]:
        need(params)
        steps, inner = base.update(updates, state.optimizer, params, **extra)
        count = optax.safe_increment(state.updates)
        due = count >= length  # not ==: a restored count may be beyond a shorter period
        # Chosen between new weights, not between updates: see what XLA wants to hear.
        fast = stepped(params, steps)
        slow = jax.tree.map(lambda s, f: s + share(due, s.dtype) * (f - s), state.slow, fast)
        weights = jax.tree.map(lambda s, f: jnp.where(due, s, f), slow, fast)
        count = jnp.where(due, 0, count)
        return difference(weights, params, steps), SetBackState(count, slow, inner)

    return optax.GradientTransformationExtraArgs(init, update)


def schedule_free(
    optimizer: optax.GradientTransformation, *, b1: Number = 0.9
) -> optax.GradientTransformationExtraArgs:
    r"""Schedule-free learning at a constant rate: gradients are taken near the mean of all weights.

    .. math::
        y = (1 - \beta) z + \beta x, \qquad z \leftarrow z + \Delta(y), \qquad
        x \leftarrow x + (z - x) / t

    ``optax.contrib.schedule_free``; the parameters are :math:`y`, and
    ``optax.contrib.schedule_free_eval_params(state, params)`` gives :math:`x` for evaluation; from
    weights in half precision, only about as exact as they are. One array per parameter.

    Args:
        optimizer: any optax optimiser, best without momentum: ``optax.adam(rate, b1=0.0)``.
        b1: :math:`\beta`, above 0. Where ``optax.inject_hyperparams`` or a restored state changes
            it, :math:`x` and :math:`z` go on as they are, and the next :math:`y` is made with the
            new one.

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
    share = above_zero("b1", average_decay("b1", b1), "the mean is not to be found in the weights")
    base = wrapped(optimizer)

    def init(params: Tree) -> optax.OptState:
        state = _schedule_free(base, share).init(params)
        # optax has all of these in the narrowest type of the weights: bfloat16 counts to 256.
        return state._replace(
            b1=jnp.array(share, wide(state.b1).dtype),
            weight_sum=wide(state.weight_sum),
            max_lr=wide(state.max_lr),
            z=copied(params),
        )

    def update(
        updates: Tree, state: Any, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, optax.OptState]:
        need(params)
        # The y that comes in was made with the b1 of before, whether a schedule or a restored state
        # has changed it; only by that one is x to be had of it.
        before = state.b1
        steps, state = _schedule_free(base, before).update(updates, state, params, **extra)
        now = jnp.array(share, before.dtype)  # in a buffer of its own, to be donated
        change = (now - before) / before
        return _turned(steps, stepped(params, steps), state.z, change), state._replace(b1=now)

    return optax.GradientTransformationExtraArgs(init, update)


def _schedule_free(
    optimizer: optax.GradientTransformation, b1: Number
) -> optax.GradientTransformationExtraArgs:
    return tidy(optax.contrib.schedule_free(optimizer, learning_rate=1.0, b1=b1))


def _turned(steps: Tree, y: Tree, z: Tree, change: Array) -> Tree:
    r"""Steps that lead to :math:`y` for another :math:`\beta`, :math:`y + (\beta' - \beta)(x - z)`.

    ``change`` is :math:`(\beta' - \beta) / \beta`, since :math:`\beta (x - z) = y - z`. Where it is
    0 they stay as they are.
    """

    def turned(step: Array, y: Array, z: Array) -> Array:
        return step + (change.astype(y.dtype) * (y - z)).astype(step.dtype)

    return jax.tree.map(turned, steps, y, z)


def _nearer(new: Tree, old: Tree, share: Any) -> Tree:
    """``optax.incremental_update`` in the types of ``old``."""
    found = optax.incremental_update(new, old, share)
    return jax.tree.map(lambda x, o: x.astype(o.dtype), found, old)

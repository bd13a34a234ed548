"""Utility-based perturbed gradient descent."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from bennafusi.rivals.noise import drawn, turn
from bennafusi.rivals.skeleton import (
    Number,
    Tree,
    average_decay,
    moved,
    need,
    need_floats,
    need_key,
    number,
    positive,
    widest,
    zeros,
)
from bennafusi.synapse.precision import wide
from bennafusi.synapse.wrapped import wrapped


class UpgdState(NamedTuple):
    """State of :func:`upgd`.

    Attributes:
        since: updates since weights were last shaken, int32.
        utility: moving average of -gradient times weight.
        key: random key of the next noise.
        optimizer: the wrapped optimiser's own state.
    """

    since: Array
    utility: Tree
    key: Array
    optimizer: optax.OptState


def upgd(
    optimizer: optax.GradientTransformation,
    *,
    noise: Number,
    key: Array,
    decay: Number = 0.0,
    utility_decay: Number = 0.999,
    scale: Number = 1.0,
    every: int = 1,
) -> optax.GradientTransformationExtraArgs:
    r"""Utility-based perturbed gradient descent: useful weights move less, useless ones are shaken.

    A weight's utility is about what the loss would rise by without it, :math:`-g w`.

    .. math::
        U &\leftarrow \beta U - (1 - \beta)\, g w, \qquad
        s = \mathrm{sigmoid}(U / \max U) \\
        w &\leftarrow w + a (1 - s)(\Delta + \sigma n) - \gamma w

    with :math:`\Delta` the optimiser's step, noise :math:`n` of variance 1 (32 coin flips,
    :func:`bennafusi.rivals.noise.drawn`) and the maximum over all parameters; if none is above 0,
    no weight is protected. Around ``optax.sgd(rate)``, with :math:`\sigma` and :math:`\gamma`
    the paper's times the rate, it is UPGD. Its Adam form is ``upgd(optax.adam(rate), scale=2.0,
    ...)``: a weight of no utility has :math:`s = 1/2` and moves as Adam says. One array per
    parameter.

    Args:
        optimizer: any optax optimiser.
        noise: :math:`\sigma`, in units of the weights per update: the paper's, 1e-3 for the Adam
            form, times the rate.
        key: random key.
        decay: :math:`\gamma`, the share of a weight that is lost per update.
        utility_decay: :math:`\beta`.
        scale: :math:`a`; 1 for UPGD, 2 for its Adam form.
        every: updates between two noises, each :math:`\sqrt{\mathrm{every}}` times as large, so
            that weights diffuse as fast; 1 in the paper.

    Returns:
        An optax transformation.

    Example:
        >>> optimizer = upgd(optax.sgd(1.0), noise=0.0, key=jax.random.key(0))
        >>> w = jnp.array([1.0, -2.0, 0.0])
        >>> updates, state = optimizer.update(jnp.array([-1.0, -1.0, -1.0]), optimizer.init(w), w)
        >>> [round(float(u), 3) for u in updates]  # 1 - sigmoid of 1, -2 and 0
        [0.269, 0.881, 0.5]

    References:
        Elsayed and Mahmood, *Addressing loss of plasticity and catastrophic forgetting in continual
        learning*, 2024.
    """
    base = wrapped(optimizer)
    noise, decay = number("noise", noise), number("decay", decay, below=1.0)
    utility_decay = average_decay("utility_decay", utility_decay)
    scale, every = number("scale", scale), positive("every", every)
    deviation = noise * every**0.5

    def init(params: Tree) -> UpgdState:
        need_floats(params)
        return UpgdState(jnp.zeros((), jnp.int32), zeros(params), need_key(key), base.init(params))

    def update(
        updates: Tree, state: UpgdState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, UpgdState]:
        need(params)
        weights = jax.tree.map(wide, params)
        gains = jax.tree.map(lambda g, w: -wide(g).astype(w.dtype) * w, updates, weights)
        utility = moved(state.utility, gains, utility_decay)
        best = _largest(utility)
        steps, inner = base.update(updates, state.optimizer, params, **extra)

        def freed(u: Array) -> Array:
            # 1 - sigmoid(u / best), with a tanh and a product where that has an exp and divisions.
            half = (0.5 / best).astype(u.dtype)
            return jnp.asarray(scale, u.dtype) * (0.5 - 0.5 * jnp.tanh(half * u))

        due, count = turn(state.since, every)
        next_key, now = jax.random.split(state.key)

        def stepped(w: Array, u: Array, s: Array, n: Array) -> Array:
            shaken = s.astype(w.dtype) + due.astype(w.dtype) * jnp.asarray(deviation, w.dtype) * n
            return (freed(u) * shaken - jnp.asarray(decay, w.dtype) * w).astype(s.dtype)

        steps = jax.tree.map(stepped, weights, utility, steps, drawn(now, utility))
        return steps, UpgdState(count, utility, next_key, inner)

    return optax.GradientTransformationExtraArgs(init, update)


def _largest(utility: Tree) -> Array:
    """The largest utility of all; hardly above 0 if it is not above, so that 0 over it is 0."""
    dtype = widest(utility)
    tops = [jnp.max(u).astype(dtype) for u in jax.tree.leaves(utility) if u.size]
    tiny = jnp.asarray(np.finfo(np.float32).tiny, dtype)
    return reduce(jnp.maximum, tops, tiny)

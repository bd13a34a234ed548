"""Weights that shrink, and weights that shrink and are shaken: the first from optax."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.rivals.noise import drawn, turn
from bennafusi.rivals.skeleton import (
    Number,
    Tree,
    need,
    need_floats,
    need_key,
    number,
    positive,
    tidy,
)
from bennafusi.synapse.precision import wide
from bennafusi.synapse.wrapped import wrapped


def weight_decay(
    optimizer: optax.GradientTransformation, *, decay: Number
) -> optax.GradientTransformationExtraArgs:
    r"""Decoupled weight decay, after the optimiser's own step :math:`\Delta`.

    .. math:: w \leftarrow w + \Delta - \gamma w

    With AdamW's numbers :math:`\gamma` is the rate times the decay. No array per parameter.

    Args:
        optimizer: any optax optimiser.
        decay: :math:`\gamma`, the share of a weight that is lost per update; AdamW's usual 0.01
            with a rate of 1e-3 is 1e-5.

    Returns:
        An optax transformation.

    Example:
        >>> import jax.numpy as jnp
        >>> optimizer = weight_decay(optax.sgd(1.0), decay=0.25)
        >>> w = jnp.array([4.0])
        >>> optimizer.update(jnp.array([1.0]), optimizer.init(w), w)[0]
        Array([-2.], dtype=float32)

    References:
        Loshchilov and Hutter, *Decoupled weight decay regularization*, 2019.
    """
    loss = number("decay", decay, below=1.0)
    return tidy(optax.chain(wrapped(optimizer), optax.add_decayed_weights(-1.0 * loss)))


class ShakenState(NamedTuple):
    """State of :func:`shrink_and_perturb`.

    Attributes:
        since: updates since weights were last shaken, int32.
        key: random key of the next noise.
        optimizer: the wrapped optimiser's own state.
    """

    since: Array
    key: Array
    optimizer: optax.OptState


def shrink_and_perturb(
    optimizer: optax.GradientTransformation,
    *,
    decay: Number,
    noise: Number,
    key: Array,
    every: int = 1,
) -> optax.GradientTransformationExtraArgs:
    r"""Shrink and perturb: after every so many updates, weights shrink and are shaken.

    .. math:: w \leftarrow w + \Delta - \gamma w + \sigma n

    with noise :math:`n` of mean 0 and variance 1, 32 coin flips
    (:func:`bennafusi.rivals.noise.drawn`), which are as good as normal numbers here and nearly
    free. The gradient's form
    :math:`w \leftarrow (1 - \eta\lambda) w - \eta (g + \sigma' n)` is this one
    with :math:`\gamma = \eta\lambda` and :math:`\sigma = \eta\sigma'`. Noise is the same in all
    layers; Ash and Adams draw it as the first weights were drawn, layer by layer, and only when new
    data come. No array per parameter.

    Args:
        optimizer: any optax optimiser.
        decay: :math:`\gamma`, the share of a weight that is lost each time; 1e-4 times the rate
            in Dohare et al.
        noise: :math:`\sigma`, the standard deviation of what is added each time; 1e-6 to 1e-4
            there.
        key: random key.
        every: updates between two times.

    Returns:
        An optax transformation.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> optimizer = shrink_and_perturb(
        ...     optax.sgd(1.0), decay=0.5, noise=0.0, key=jax.random.key(0), every=2
        ... )
        >>> w = jnp.array([4.0])
        >>> state = optimizer.init(w)
        >>> updates, state = optimizer.update(jnp.array([1.0]), state, w)
        >>> updates, optimizer.update(jnp.array([1.0]), state, w)[0]
        (Array([-1.], dtype=float32), Array([-3.], dtype=float32))

    References:
        Ash and Adams, *On warm-starting neural network training*, 2020; at every update in Dohare
        et al., *Loss of plasticity in deep continual learning*, 2024.
    """
    base = wrapped(optimizer)
    loss, deviation = number("decay", decay, below=1.0), number("noise", noise)
    every = positive("every", every)

    def init(params: Tree) -> ShakenState:
        need_floats(params)
        return ShakenState(jnp.zeros((), jnp.int32), need_key(key), base.init(params))

    def update(
        updates: Tree, state: ShakenState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, ShakenState]:
        need(params)
        weights = jax.tree.map(wide, params)
        steps, inner = base.update(updates, state.optimizer, params, **extra)
        due, count = turn(state.since, every)
        next_key, now = jax.random.split(state.key)

        def shaken(s: Array, w: Array, n: Array) -> Array:
            change = jnp.asarray(deviation, w.dtype) * n - jnp.asarray(loss, w.dtype) * w
            return (s.astype(w.dtype) + due.astype(w.dtype) * change).astype(s.dtype)

        steps = jax.tree.map(shaken, steps, weights, drawn(now, weights))
        return steps, ShakenState(count, next_key, inner)

    return optax.GradientTransformationExtraArgs(init, update)

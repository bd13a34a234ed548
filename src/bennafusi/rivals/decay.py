"""Weights that shrink, and weights that shrink and are shaken: both from optax's parts."""

from __future__ import annotations

import optax
from jax import Array

from bennafusi.rivals.skeleton import Number, number, positive, tidy, typed_key
from bennafusi.synapse.wrapped import wrapped


def weight_decay(
    optimizer: optax.GradientTransformation, *, decay: Number
) -> optax.GradientTransformationExtraArgs:
    r"""Decoupled weight decay, after the optimiser's own step :math:`\Delta`.

    .. math:: w \leftarrow w + \Delta - \gamma w

    With AdamW's numbers :math:`\gamma` is the rate times the decay. No array per parameter.

    Args:
        optimizer: any optax optimiser.
        decay: :math:`\gamma`, the share of a weight that is lost per update.

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


def shrink_and_perturb(
    optimizer: optax.GradientTransformation,
    *,
    decay: Number,
    noise: Number,
    key: Array,
    every: int = 1,
) -> optax.GradientTransformationExtraArgs:
    r"""Shrink and perturb: after every so many updates, weights shrink and are shaken.

    .. math:: w \leftarrow w + \Delta - \gamma w + \sigma n, \qquad n \sim N(0, 1)

    The gradient's form :math:`w \leftarrow (1 - \eta\lambda) w - \eta (g + \sigma' n)` is this one
    with :math:`\gamma = \eta\lambda` and :math:`\sigma = \eta\sigma'`. Noise is the same in all
    layers; Ash and Adams draw it as the first weights were drawn, layer by layer, and only when new
    data come. Random numbers are most of
    the cost: with ``every=k``, :math:`\gamma` times :math:`k` and :math:`\sigma` times
    :math:`\sqrt k` the weights diffuse as before, for a k-th of it. No array per parameter.

    Args:
        optimizer: any optax optimiser.
        decay: :math:`\gamma`, the share of a weight that is lost each time.
        noise: :math:`\sigma`, the standard deviation of what is added each time.
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
    loss, deviation = number("decay", decay, below=1.0), number("noise", noise)
    period = positive("every", every)
    both = optax.chain(
        optax.add_noise(deviation**2, 0.0, typed_key(key)), optax.add_decayed_weights(-1.0 * loss)
    )
    if period > 1:
        # Tidy, or gradients of another type than the weights would change theirs now and then.
        both = optax.conditionally_transform(tidy(both), lambda step: step % period == period - 1)
    return tidy(optax.chain(wrapped(optimizer), both))

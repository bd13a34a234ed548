"""Elastic weight consolidation without boundaries."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.rivals.skeleton import (
    Number,
    Tree,
    average_decay,
    by_type,
    more_in,
    moved,
    nothing_in,
    number,
    pulled,
    zeros,
)


class ImportanceMemory(NamedTuple):
    """Memory of :func:`online_ewc` and of :func:`mas`.

    Attributes:
        mean_share: how much of ``mean`` is weights, by which it is to be divided.
        importance_share: the same of ``importance``.
        mean: moving average of the weights.
        importance: moving average of what makes a weight important.
    """

    mean_share: Array
    importance_share: Array
    mean: Tree
    importance: Tree


def online_ewc(
    optimizer: optax.GradientTransformation,
    *,
    strength: Number = 0.01,
    mean_decay: Number = 0.999,
    importance_decay: Number = 0.999,
) -> optax.GradientTransformationExtraArgs:
    r"""Online EWC without boundaries: a pull to the recent mean, where gradients have been large.

    .. math::
        \bar w &\leftarrow \beta_w \bar w + (1 - \beta_w) w, \qquad
        F \leftarrow \beta_F F + (1 - \beta_F) g^2 \\
        g &\leftarrow g + \lambda \hat F (w - \hat{\bar w})

    where a hat divides by :math:`1 - \beta^t`, as in Adam, or by what that becomes where
    :math:`\beta` is changed on the way. EWC proper keeps one mean and one Fisher
    diagonal :math:`F` per task; here both are moving averages, so no boundary is needed. Gradients
    of a batch are averaged before they are squared, which makes :math:`F` smaller than Fisher's.
    Two arrays per parameter.

    Args:
        optimizer: any optax optimiser.
        strength: :math:`\lambda`; of the penalty :math:`\frac{\lambda}{2} F (w - \bar w)^2`.
        mean_decay: :math:`\beta_w`, of the mean of the weights.
        importance_decay: :math:`\beta_F`, of the squared gradients.

    Returns:
        An optax transformation.

    Example:
        >>> optimizer = online_ewc(optax.sgd(1.0), strength=1.0, mean_decay=0.5)
        >>> state = optimizer.init(jnp.array([0.0]))
        >>> _, state = optimizer.update(jnp.array([2.0]), state, jnp.array([0.0]))
        >>> updates, state = optimizer.update(jnp.array([2.0]), state, jnp.array([3.0]))
        >>> round(float(updates[0]), 4)  # 2 + 4 * (3 - 2), downhill
        -6.0

    References:
        Kirkpatrick et al., *Overcoming catastrophic forgetting in neural networks*, 2017. Schwarz
        et al., *Progress and compress*, 2018. In this form a baseline of Elsayed and Mahmood,
        *Addressing loss of plasticity and catastrophic forgetting in continual learning*, 2024.
    """
    strength = number("strength", strength)
    mean_decay = average_decay("mean_decay", mean_decay)
    importance_decay = average_decay("importance_decay", importance_decay)

    def pull(memory: ImportanceMemory, grads: Tree, params: Tree) -> tuple[Tree, ImportanceMemory]:
        squares = jax.tree.map(lambda g: g * g, grads)
        memory = remembered(memory, params, squares, mean_decay, importance_decay)
        return pull_to_mean(memory, params, strength), memory

    return pulled(optimizer, forgotten, pull)


def forgotten(params: Tree) -> ImportanceMemory:
    """The memory before the first update."""
    mean, importance = zeros(params), zeros(params)
    return ImportanceMemory(nothing_in(mean), nothing_in(importance), mean, importance)


def remembered(
    memory: ImportanceMemory,
    params: Tree,
    importance: Tree,
    mean_decay: Number,
    importance_decay: Number,
) -> ImportanceMemory:
    """The memory after one more update."""
    return ImportanceMemory(
        more_in(memory.mean_share, mean_decay),
        more_in(memory.importance_share, importance_decay),
        moved(memory.mean, params, mean_decay),
        moved(memory.importance, importance, importance_decay),
    )


def pull_to_mean(memory: ImportanceMemory, params: Tree, strength: Number) -> Tree:
    """Strength times importance times distance from the mean."""

    # Both corrections are numbers, not arrays: no division per parameter.
    def numbers(dtype: Any) -> tuple[Array, Array]:
        factor = jnp.asarray(strength, dtype) / memory.importance_share.astype(dtype)
        return factor, 1 / memory.mean_share.astype(dtype)

    known = by_type(numbers, params)

    def towards(w: Array, mean: Array, importance: Array) -> Array:
        factor, share = known[w.dtype]
        return factor * importance * (w - share * mean)

    return jax.tree.map(towards, params, memory.mean, memory.importance)

"""A pull to where the weights began."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from bennafusi.rivals.skeleton import Number, Tree, copied, number, pulled


class L2InitMemory(NamedTuple):
    """Memory of :func:`l2_init`.

    Attributes:
        start: the weights as they were when ``init`` was called.
    """

    start: Tree


def l2_init(
    optimizer: optax.GradientTransformation, *, strength: Number = 1e-3
) -> optax.GradientTransformationExtraArgs:
    r"""Regenerative regularisation: L2 towards the first weights instead of towards zero.

    The penalty :math:`\lambda \lVert w - w_0 \rVert^2` adds its gradient,

    .. math:: g \leftarrow g + 2 \lambda (w - w_0).

    It needs no boundary. One array per parameter.

    Args:
        optimizer: any optax optimiser.
        strength: :math:`\lambda`; the paper finds 1e-2 to 1e-5 best, depending on the problem, and
            with Adam 1e-2 on four of five.

    Returns:
        An optax transformation.

    Example:
        >>> optimizer = l2_init(optax.sgd(0.1), strength=0.5)
        >>> state = optimizer.init(jnp.array([1.0, 2.0]))
        >>> moved_by_hand = jnp.array([1.0, 3.0])
        >>> optimizer.update(jnp.ones(2), state, moved_by_hand)[0]
        Array([-0.1, -0.2], dtype=float32)

    References:
        Kumar, Marklund and Van Roy, *Maintaining plasticity in continual learning via regenerative
        regularization*, 2024.
    """
    twice = 2 * number("strength", strength)

    def pull(memory: L2InitMemory, grads: Tree, params: Tree) -> tuple[Tree, L2InitMemory]:
        del grads
        away = jax.tree.map(
            lambda w, start: jnp.asarray(twice, w.dtype) * (w - start), params, memory.start
        )
        return away, memory

    return pulled(optimizer, lambda params: L2InitMemory(copied(params)), pull)

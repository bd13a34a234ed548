"""Fast weights on slow ones: a chain of two beakers."""

from __future__ import annotations

import optax

from bennafusi.synapse.chain import Chain
from bennafusi.synapse.transform import consolidate


def slow_weights(
    optimizer: optax.GradientTransformation, *, g12: float, growth: float = 2.0, every: int = 1
) -> optax.GradientTransformationExtraArgs:
    r"""A fast weight that decays to a slow one, which follows it: a chain of two, without a leak.

    .. math::
        w \leftarrow w + \Delta - g_{1,2} (w - s), \qquad
        s \leftarrow s + \frac{g_{1,2}}{q} (w - s)

    The deviation :math:`w - s` is Hinton and Plaut's fast weight: it learns at the full rate and
    decays, and the slow weight keeps a part of what it learnt. Two arrays per parameter,
    since a chain keeps its first beaker too.
    :func:`bennafusi.beakers` gives both.

    Args:
        optimizer: any optax optimiser.
        g12: the share of the difference that flows per update; our tunings begin at 1e-3.
        growth: :math:`q`, how many times slower the slow weight is.
        every: updates between two flows, each of which covers as many; 1 flow per update is exact,
            fewer are cheaper, and as good while ``every * g12`` is small.

    Returns:
        An optax transformation.

    Example:
        >>> import jax.numpy as jnp
        >>> optimizer = slow_weights(optax.sgd(1.0), g12=0.25)
        >>> w = jnp.array([4.0])
        >>> optimizer.update(jnp.array([4.0]), optimizer.init(w), w)[0]  # 4 to 0, then 1 flows back
        Array([-3.], dtype=float32)

    References:
        Hinton and Plaut, *Using fast weights to deblur old memories*, 1987.
    """
    pair = Chain(2, g12, growth=growth, leak=False, gated=False)
    return consolidate(optimizer, pair, every=every)

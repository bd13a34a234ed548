"""A learning rate that falls as a chain's memory does: what of a chain is only annealing?"""

from __future__ import annotations

import math

import jax.numpy as jnp
import optax
from jax import Array
from jax.typing import ArrayLike

from bennafusi.rivals.skeleton import tidy
from bennafusi.synapse.chain import Chain
from bennafusi.synapse.wrapped import wrapped


def annealed(
    optimizer: optax.GradientTransformation, chain: Chain
) -> optax.GradientTransformationExtraArgs:
    r"""The optimiser's steps, scaled down over time as a chain's kernel falls.

    A step of a weight with a chain is worth :math:`r(t) \approx c / \sqrt{g_{1,2}\, t}` after
    :math:`t` updates, see :func:`kernel_schedule`. Here the step at time :math:`t` is itself
    scaled by that,

    .. math:: \Delta \leftarrow \Delta \min(1, c / \sqrt{g_{1,2}\, t}),

    and nothing flows back: what is left of a chain if it were only a rate that falls. No array per
    parameter.

    Args:
        optimizer: any optax optimiser.
        chain: the chain to imitate.

    Returns:
        An optax transformation.

    Example:
        >>> optimizer = annealed(optax.sgd(1.0), Chain(n=8, g12=0.125))
        >>> w, state = jnp.array([0.0]), optimizer.init(jnp.array([0.0]))
        >>> for _ in range(4):
        ...     updates, state = optimizer.update(jnp.array([-1.0]), state, w)
        >>> round(float(updates[0]), 3)  # 0.4744 / sqrt(0.125 * 4)
        0.671

    References:
        None; ours, to ask whether a chain is more than a falling rate.
    """
    return tidy(optax.chain(wrapped(optimizer), optax.scale_by_schedule(kernel_schedule(chain))))


def kernel_schedule(chain: Chain) -> optax.Schedule:
    r"""The factor of :func:`annealed` as a schedule, for optimisers that take one.

    In an endless chain of growth :math:`q` the kernel is

    .. math:: r(t) = \frac{c}{\sqrt{g_{1,2}\, t}}, \qquad c = \frac{1}{\sqrt{\pi \sqrt q}},

    0.4744 for :math:`q = 2`, once :math:`g_{1,2}\, t` is far above 1, and up to a ripple that comes
    back with every beaker: of 0.23% for :math:`q = 2`, 8% for 4 and 28% for 8 (none for
    :math:`q = 1`: diffusion from a wall). Where :math:`g_{1,2}\, t` is just above 1 it is off by up
    to 2%, 11% and 30%.

    Args:
        chain: the chain to imitate; only its ``g12`` and ``growth`` count, as if it were endless.

    Returns:
        From the number of updates made to the factor.

    Example:
        >>> rate = kernel_schedule(Chain(n=8, g12=1e-3))
        >>> [round(float(rate(t)), 3) for t in (0, 100, 1_000, 100_000)]
        [1.0, 1.0, 0.474, 0.047]
    """
    level = 1 / math.sqrt(math.pi * math.sqrt(chain.growth) * chain.g12)

    def schedule(count: ArrayLike) -> Array:
        time = jnp.asarray(count).astype(float) + 1  # float32, or float64 where JAX has it on
        return jnp.minimum(jnp.ones_like(time), level / jnp.sqrt(time))

    return schedule

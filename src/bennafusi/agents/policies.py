"""Soft values and soft policies, for one state at a time."""

from __future__ import annotations

from functools import reduce
from itertools import accumulate

import jax
import jax.numpy as jnp
from jax import Array


def soft_value(q: Array, alpha: float) -> Array:
    r"""What a state is worth to an agent that also values entropy.

    .. math:: V = \alpha \log \sum_a e^{Q(a) / \alpha}, \qquad \max_a Q(a) \text{ for } \alpha = 0

    The largest value is taken out first: :math:`Q / \alpha` reaches 2,000, whose exponential no
    float can hold.

    Example:
        >>> float(soft_value(jnp.array([20.0, 20.0]), alpha=0.01)).__round__(4)
        20.0069
    """
    return jnp.max(q, axis=-1) if alpha == 0 else alpha * jax.nn.logsumexp(q / alpha, axis=-1)


def double_value(q: Array, judge: Array, alpha: float) -> Array:
    r"""What a state is worth where one network chooses and another judges (double Q-learning).

    .. math:: V = \sum_a \pi(a) \big(Q'(a) - \alpha \log \pi(a)\big)

    with the policy :math:`\pi` of ``q`` and the values :math:`Q'` of ``judge``; for one network as
    both it is :func:`soft_value`, and for :math:`\alpha = 0` the judge's value of the best action.

    Example:
        >>> float(double_value(jnp.array([0.0, 1.0]), jnp.array([5.0, 3.0]), alpha=0))
        3.0

    References:
        van Hasselt, Guez and Silver, *Deep reinforcement learning with double Q-learning*, 2016.
    """
    if alpha == 0:
        best = jnp.argmax(q, axis=-1, keepdims=True)
        return jnp.take_along_axis(judge, best, axis=-1)[..., 0]
    log_policy = jax.nn.log_softmax(q / alpha, axis=-1)
    return jnp.sum(jnp.exp(log_policy) * (judge - alpha * log_policy), axis=-1)


def soft_policy(q: Array, alpha: float) -> Array:
    r"""Probabilities of the actions, :math:`\pi(a) \propto e^{Q(a) / \alpha}`.

    Example:
        >>> soft_policy(jnp.array([20.0, 20.0]), alpha=0.01).tolist()
        [0.5, 0.5]
    """
    return jax.nn.softmax(q / alpha, axis=-1)


def choose(q: Array, alpha: float, epsilon: Array, explore: Array, rank: Array) -> Array:
    """An action: uniform with probability ``epsilon``, else drawn from the soft policy.

    Args:
        q: values of the actions, ``[actions]``.
        alpha: temperature of the soft policy; at 0 it is the best action, of equals any.
        epsilon: how often to ignore the values.
        explore: a uniform number in [0, 1) that decides whether they are ignored.
        rank: another one, which picks the action from the distribution.

    Returns:
        The action, int32.

    Example:
        >>> q = jnp.array([0.0, 1.0])
        >>> int(choose(q, 0.01, jnp.float32(0), jnp.float32(0.5), jnp.float32(0.5)))
        1
    """
    # Number by number: for a few actions that is one small kernel, where arrays make seven.
    scaled = [q[a] / alpha if alpha else q[a] for a in range(q.shape[-1])]
    highest = reduce(jnp.maximum, scaled)

    def share(x: Array) -> Array:
        return jnp.exp(x - highest) if alpha else (x == highest).astype(x.dtype)

    weights = [jnp.where(explore < epsilon, 1, share(x)) for x in scaled]
    sums = list(accumulate(weights))
    # The last action takes the rest, however the sums are rounded.
    steps = [(part <= rank * sums[-1]).astype(jnp.int32) for part in sums[:-1]]
    return sum(steps, jnp.int32(0))

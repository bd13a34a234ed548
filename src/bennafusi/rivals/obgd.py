"""Learning from a stream with steps that cannot overshoot."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.typing import ArrayLike

from bennafusi.rivals.skeleton import Number, Tree, need_floats, number, single, widest, zeros
from bennafusi.synapse.precision import wide


class ObgdState(NamedTuple):
    """State of :func:`obgd`.

    Attributes:
        trace: eligibility of every weight.
    """

    trace: Tree


def obgd(
    *,
    learning_rate: Number = 1.0,
    kappa: Number = 2.0,
    discount: Number = 0.99,
    trace_decay: Number = 0.8,
) -> optax.GradientTransformationExtraArgs:
    r"""Overshooting-bounded gradient descent, with eligibility traces: what stream-Q learns with.

    For a value :math:`q` with the error :math:`\delta` of temporal differences,

    .. math::
        z &\leftarrow \gamma \lambda z + \nabla q, \qquad
        M = \eta \kappa \max(|\delta|, 1) \lVert z \rVert_1 \\
        w &\leftarrow w + \frac{\eta}{\max(M, 1)}\, \delta z

    so that no step moves the value by more than about :math:`\delta / \kappa`. An optimiser of its
    own, not one around another, and not for gradients of a loss. One array per parameter.

    Args:
        learning_rate: :math:`\eta`.
        kappa: :math:`\kappa`, how far a step stays from overshooting.
        discount: :math:`\gamma`.
        trace_decay: :math:`\lambda`.

    Returns:
        An optax transformation. ``update`` takes the gradient of the *value* and demands two extra
        arguments: ``delta``, the error, and ``reset``, true where the traces must end with this
        update: the episode is over, or the action was not greedy. That is this step's action, as in
        the authors' program; by Watkins's Q(lambda) it would be the next one's.

    Example:
        >>> optimizer = obgd(kappa=2.0, discount=1.0, trace_decay=0.5)
        >>> state = optimizer.init(jnp.zeros(2))
        >>> gradient = jnp.array([3.0, -1.0])
        >>> updates, state = optimizer.update(gradient, state, delta=2.0, reset=False)
        >>> updates, state.trace  # 2 * z / (2 * 2 * 4)
        (Array([ 0.375, -0.125], dtype=float32), Array([ 3., -1.], dtype=float32))

    References:
        Elsayed, Vasan and Mahmood, *Streaming deep reinforcement learning finally works*, 2024.
    """
    rate = number("learning_rate", learning_rate)
    bound = rate * number("kappa", kappa)
    fading = number("discount", discount, most=1.0) * number("trace_decay", trace_decay, most=1.0)

    def init(params: Tree) -> ObgdState:
        need_floats(params)
        return ObgdState(zeros(params))

    def update(
        updates: Tree,
        state: ObgdState,
        params: Tree | None = None,
        *,
        delta: ArrayLike,
        reset: ArrayLike,
        **extra: Any,
    ) -> tuple[Tree, ObgdState]:
        del params, extra
        trace = jax.tree.map(
            lambda z, g: jnp.asarray(fading, z.dtype) * z + wide(g).astype(z.dtype),
            state.trace,
            updates,
        )
        dtype = widest(trace)
        sizes = [jnp.sum(jnp.abs(z)).astype(dtype) for z in jax.tree.leaves(trace)]
        error = single("delta", delta).astype(dtype)
        size = reduce(add, sizes, jnp.zeros((), dtype))
        most = jnp.asarray(bound, dtype) * jnp.maximum(jnp.abs(error), 1) * size
        step = jnp.asarray(rate, dtype) * error / jnp.maximum(most, 1)
        steps = jax.tree.map(
            lambda z, u: (step.astype(z.dtype) * z).astype(u.dtype), trace, updates
        )
        over = single("reset", reset).astype(bool)
        # Not 0 times the trace, which would keep a NaN for good.
        trace = jax.tree.map(lambda z: jnp.where(over, jnp.zeros_like(z), z), trace)
        return steps, ObgdState(trace)

    return optax.GradientTransformationExtraArgs(init, update)

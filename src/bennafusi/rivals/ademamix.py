"""Adam with a second, much slower momentum."""

from __future__ import annotations

from typing import Any

import jax
import optax

from bennafusi.rivals.skeleton import Number, Tree, average_decay, need_floats, number
from bennafusi.synapse.precision import wide


def ademamix(
    learning_rate: optax.ScalarOrSchedule, *, alpha: Number = 5.0, b3: Number = 0.9999
) -> optax.GradientTransformationExtraArgs:
    r"""AdEMAMix: Adam whose step also follows gradients of long ago.

    .. math:: w \leftarrow w - \eta \frac{\hat m_1 + \alpha m_2}{\sqrt{\hat v} + \epsilon}

    where :math:`m_2` averages gradients with :math:`\beta_3`. ``optax.contrib.ademamix``: an
    optimiser of its own, not one around another, with all its averages in float32 or more. The
    paper lets :math:`\alpha` and :math:`\beta_3` grow from 0 and :math:`\beta_1` to these values,
    which is left to ``optax.inject_hyperparams``; here they are constant. One array per parameter
    more than Adam.

    Args:
        learning_rate: :math:`\eta`, or a schedule of it.
        alpha: :math:`\alpha`, the weight of the slow momentum.
        b3: :math:`\beta_3`; slower than most switches of a task.

    Returns:
        An optax transformation.

    Example:
        >>> import jax.numpy as jnp
        >>> optimizer = ademamix(0.1, b3=0.5)
        >>> w = jnp.array([4.0])
        >>> updates, state = optimizer.update(jnp.array([2.0]), optimizer.init(w), w)
        >>> round(float(updates[0]), 4)  # -0.1 * (2 + 5 * 1) / 2
        -0.35

    References:
        Pagliardini, Ablin and Grangier, *The AdEMAMix optimizer: better, faster, older*, 2024.
    """
    inner = optax.with_extra_args_support(
        optax.contrib.ademamix(
            learning_rate, alpha=number("alpha", alpha), b3=average_decay("b3", b3)
        )
    )

    def init(params: Tree) -> optax.OptState:
        need_floats(params)
        return inner.init(jax.tree.map(wide, params))

    def update(
        updates: Tree, state: optax.OptState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, optax.OptState]:
        steps, state = inner.update(jax.tree.map(wide, updates), state, params, **extra)
        return jax.tree.map(lambda s, u: s.astype(u.dtype), steps, updates), state

    return optax.GradientTransformationExtraArgs(init, update)

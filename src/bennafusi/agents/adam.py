"""Adam, written so that a step costs one division per parameter, with the rate as an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.synapse.numbers import check_positive, check_shares

Tree = Any


@dataclass(frozen=True)
class Adam:
    """Settings of :func:`adam`, under optax's names.

    Args:
        learning_rate: size of a step.
        b1: decay of the average of gradients.
        b2: decay of the average of their squares.
        eps: added to the root of the latter.
    """

    learning_rate: float = 1e-3
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8

    def __post_init__(self) -> None:
        check_positive(self, "learning_rate", "eps")
        check_shares(self, "b1", "b2", below_1=True)

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        """The optimiser; it is given the learning rate at each update."""
        return adam(self.b1, self.b2, self.eps)


def adam(
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> optax.GradientTransformationExtraArgs:
    r"""Adam, whose learning rate is given at every update and so can differ between agents.

    .. math::
        m &\leftarrow b_1 m + (1 - b_1) g, \qquad
        v \leftarrow b_2 v + (1 - b_2) g^2 \\
        \Delta w &= -\eta \frac{m / (1 - b_1^t)}{\sqrt{v / (1 - b_2^t)} + \epsilon}
        = -\eta \frac{\sqrt{1 - b_2^t}}{1 - b_1^t}\,
        \frac{m}{\sqrt{v} + \epsilon \sqrt{1 - b_2^t}}

    The right-hand side is what is computed: its corrections are numbers, not arrays, and leave one
    division per parameter where the left-hand side has three. On a CPU divisions are most of what
    Adam costs; ``benchmarks/deep.py`` has a row for the difference. The state is optax's own.

    Example:
        >>> optimizer = adam()
        >>> params = jnp.ones(2)
        >>> state = optimizer.init(params)
        >>> grads = jnp.array([3.0, -0.1])
        >>> updates, state = optimizer.update(grads, state, params, learning_rate=jnp.float32(0.5))
        >>> [round(float(x), 4) for x in updates]
        [-0.5, 0.5]

    References:
        Kingma and Ba, *Adam: a method for stochastic optimization*, 2015, end of section 2.
    """

    def init(params: Tree) -> optax.ScaleByAdamState:
        mu, nu = (jax.tree.map(jnp.zeros_like, params) for _ in range(2))
        return optax.ScaleByAdamState(jnp.zeros((), jnp.int32), mu, nu)

    def update(
        updates: Tree,
        state: optax.ScaleByAdamState,
        params: Tree | None = None,
        *,
        learning_rate: Array,
        **extra: Any,
    ) -> tuple[Tree, optax.ScaleByAdamState]:
        del params, extra
        count = optax.safe_increment(state.count)
        mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mu, updates)
        nu = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * (g * g), state.nu, updates)
        time = count.astype(learning_rate.dtype)
        correction = jnp.sqrt(1 - b2**time)
        rate = -learning_rate * correction / (1 - b1**time)

        def change(m: Array, v: Array) -> Array:
            step: Array = rate * m / (jnp.sqrt(v) + eps * correction)
            return step

        return jax.tree.map(change, mu, nu), optax.ScaleByAdamState(count, mu, nu)

    return optax.GradientTransformationExtraArgs(init, update)

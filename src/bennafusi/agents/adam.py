"""Adam, written so that a step costs one division per parameter, with the rate as an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bennafusi.synapse.numbers import real

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
        for name in ("learning_rate", "eps"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name):g}: must be above 0")
        for name in ("b1", "b2"):
            value = real(name, getattr(self, name))
            object.__setattr__(self, name, value)
            if not 0 <= value < 1:
                raise ValueError(f"{name}={value:g}: choose a number from 0 to below 1")

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        """The optimiser; it is given the learning rate at each update."""
        return adam(self.b1, self.b2, self.eps)


class AdamState(NamedTuple):
    """State of :func:`adam`.

    Attributes:
        updates: how many there were, int32.
        mean: moving average of the gradients.
        square: moving average of their squares.
    """

    updates: Array
    mean: Tree
    square: Tree


def adam(
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> optax.GradientTransformationExtraArgs:
    r"""Adam, whose learning rate is given at every update and so can differ between agents.

    .. math::
        m &\leftarrow \beta_1 m + (1 - \beta_1) g, \qquad
        v \leftarrow \beta_2 v + (1 - \beta_2) g^2 \\
        \Delta w &= -\eta \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}
        = -\eta \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t}\,
        \frac{m}{\sqrt{v} + \epsilon \sqrt{1 - \beta_2^t}}

    The right-hand side is what is computed: its corrections are numbers, not arrays, and leave one
    division per parameter where the left-hand side has three. On a CPU divisions are most of what
    Adam costs.

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

    def init(params: Tree) -> AdamState:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return AdamState(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.copy, zeros))

    def update(
        updates: Tree,
        state: AdamState,
        params: Tree | None = None,
        *,
        learning_rate: Array,
        **extra: Any,
    ) -> tuple[Tree, AdamState]:
        del params, extra
        count = optax.safe_increment(state.updates)
        mean = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mean, updates)
        square = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * (g * g), state.square, updates)
        time = count.astype(learning_rate.dtype)
        correction = jnp.sqrt(1 - b2**time)
        rate = -learning_rate * correction / (1 - b1**time)

        def change(m: Array, v: Array) -> Array:
            step: Array = rate * m / (jnp.sqrt(v) + eps * correction)
            return step

        return jax.tree.map(change, mean, square), AdamState(count, mean, square)

    return optax.GradientTransformationExtraArgs(init, update)

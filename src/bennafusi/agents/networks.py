"""The paper's network: weights shared by all tasks, gains and biases of each task's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
from jax import Array

from bennafusi.synapse.numbers import whole

GainPlace = Literal["after", "before"]


class Sizes(NamedTuple):
    """What a network is built for; it follows from the tasks.

    Attributes:
        inputs: numbers in an observation.
        actions: how many there are.
        tasks: how many share the weights.
    """

    inputs: int
    actions: int
    tasks: int = 1


class Params(NamedTuple):
    """What is learnt; one entry per layer.

    Attributes:
        weights: ``[inputs, outputs]``, shared by all tasks.
        gains: ``[tasks, outputs]``.
        biases: ``[tasks, outputs]``.
    """

    weights: tuple[Array, ...]
    gains: tuple[Array, ...]
    biases: tuple[Array, ...]


class Slopes(NamedTuple):
    r"""The gradient of a loss at one observation, in factors; one entry per layer.

    A bias adds to the sum in its unit, as :math:`\sum_j W_{ij} x_j` does, so the gradient of a
    weight is what came in times the gradient of the bias, :math:`x_j\, \partial L / \partial b_i`.
    Two vectors instead of a matrix: the matrix need not be kept in memory, which takes a quarter
    off an update of the 400-200 network.

    Attributes:
        inputs: what came into each layer, ``[inputs]``.
        gains: gradient of the task's own gains, ``[outputs]``.
        biases: gradient of the task's own biases, ``[outputs]``.
    """

    inputs: tuple[Array, ...]
    gains: tuple[Array, ...]
    biases: tuple[Array, ...]


@dataclass(frozen=True)
class Network:
    r"""Fully connected layers whose units have a gain and a bias per task.

    For task :math:`c` and hidden layers,

    .. math:: y_i = g_i^c \max\Big(0,\; b_i^c + \sum_j W_{ij} x_j\Big),

    and the same without the rectification for the last layer, whose outputs are the values of the
    actions. Weights start as :math:`N(0, 1/\text{inputs})`, gains at 1, biases at 0.

    Args:
        hidden: units of the hidden layers.
        gain: whether gains act ``"after"`` the rectification or ``"before"`` it.

    Example:
        >>> network, sizes = Network(hidden=(400, 200)), Sizes(inputs=4, actions=2, tasks=2)
        >>> network.size(sizes)
        84408
        >>> params = network.start(jax.random.key(0), sizes)
        >>> network.values(params, jnp.int32(1), jnp.ones(4)).shape
        (2,)

    References:
        Kaplanis, Shanahan and Clopath, *Continual RL with Complex Synapses*, 2018, section 4.2.
    """

    hidden: tuple[int, ...] = (400, 200)
    gain: GainPlace = "after"

    def __post_init__(self) -> None:
        widths: object = self.hidden
        if not isinstance(widths, tuple | list) or not widths:
            raise ValueError(f"hidden={widths!r}: list the units of each hidden layer")
        object.__setattr__(self, "hidden", tuple(_positive("hidden", width) for width in widths))
        if self.gain not in get_args(GainPlace):
            known = " or ".join(map(repr, get_args(GainPlace)))
            raise ValueError(f"gain={self.gain!r}: unknown; choose {known}")

    def layers(self, sizes: Sizes) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of each layer."""
        for name, value in sizes._asdict().items():
            _positive(name, value)
        return tuple(pairwise((sizes.inputs, *self.hidden, sizes.actions)))

    def size(self, sizes: Sizes) -> int:
        """How many parameters there are."""
        return sum((rows + 2 * sizes.tasks) * columns for rows, columns in self.layers(sizes))

    def start(self, key: Array, sizes: Sizes, dtype: Any = jnp.float32) -> Params:
        """Parameters at birth."""
        layers = self.layers(sizes)
        keys = jax.random.split(key, len(layers))
        shapes = [(sizes.tasks, columns) for _, columns in layers]
        return Params(
            tuple(
                jax.random.normal(key, layer, dtype) * jnp.asarray(layer[0] ** -0.5, dtype)
                for key, layer in zip(keys, layers, strict=True)
            ),
            tuple(jnp.ones(shape, dtype) for shape in shapes),
            tuple(jnp.zeros(shape, dtype) for shape in shapes),
        )

    def values(self, params: Params, task: Array, observation: Array) -> Array:
        """Values of all actions, ``[actions]``, or one row of them per row of observations."""
        return self._forward(_own(params, task), observation)[0]

    def slopes(
        self, loss: Callable[[Array], Array], params: Params, task: Array, observation: Array
    ) -> tuple[Array, Slopes]:
        """A loss of the values at one observation, and its gradient in factored form."""
        own = _own(params, task)

        def of_own(gains: tuple[Array, ...], biases: tuple[Array, ...]) -> Any:
            q, inputs = self._forward(Params(own.weights, gains, biases), observation)
            return loss(q), inputs

        differentiate = jax.value_and_grad(of_own, argnums=(0, 1), has_aux=True)
        (value, inputs), (gains, biases) = differentiate(own.gains, own.biases)
        return value, Slopes(inputs, gains, biases)

    def gradient(self, params: Params, slopes: Slopes, task: Array) -> Params:
        """The whole gradient from its factors; tasks that are not ``task`` have none."""
        tasks = params.gains[0].shape[0]

        def at_task(row: Array) -> Array:
            if tasks == 1:
                return row[None]
            mine = jnp.arange(tasks, dtype=jnp.int32)[:, None] == task
            return jnp.where(mine, row[None], jnp.zeros_like(row)[None])

        weights = (x[:, None] * b[None] for x, b in zip(slopes.inputs, slopes.biases, strict=True))
        gains, biases = (tuple(map(at_task, rows)) for rows in (slopes.gains, slopes.biases))
        return Params(tuple(weights), gains, biases)

    def _forward(self, own: Params, observation: Array) -> tuple[Array, tuple[Array, ...]]:
        """Values, and what went into each layer."""
        x, inputs = observation, []
        for weights, gain, bias in zip(*own, strict=True):
            inputs.append(x)
            y = x @ weights
            y = y + jnp.broadcast_to(bias, y.shape)
            scale = jnp.broadcast_to(gain, y.shape)
            if len(inputs) == len(own.weights):
                x = scale * y
            elif self.gain == "after":
                x = scale * jax.nn.relu(y)
            else:
                x = jax.nn.relu(scale * y)
        return x, tuple(inputs)


def _own(params: Params, task: Array) -> Params:
    """The parameters that one task sees."""

    def row(table: Array) -> Array:
        # With one task there is nothing to look up, and a static row costs nothing.
        return table[0] if table.shape[0] == 1 else table[task]

    return Params(params.weights, tuple(map(row, params.gains)), tuple(map(row, params.biases)))


def _positive(name: str, value: object) -> int:
    number = whole(name, value)
    if not 1 <= number <= 2**20:
        raise ValueError(f"{name}={number}: choose a whole number from 1 to 2^20")
    return number

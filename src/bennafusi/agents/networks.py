"""The paper's network: weights shared by all tasks, gains and biases of each task's own.

Beside it, as options, what larger tasks need: filters that slide over a grid, LayerNorm, CReLU.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bennafusi.agents.activation import Activation, GainPlace, Units, spread
from bennafusi.agents.filters import FIELD, product, slide
from bennafusi.synapse.numbers import (
    check_choices,
    check_flags,
    check_shares,
    check_whole,
    real,
    whole,
)


class Sizes(NamedTuple):
    """What a network is built for; it follows from the tasks.

    Attributes:
        inputs: numbers in an observation, or its shape, which filters need.
        actions: how many there are.
        tasks: how many share the weights.
    """

    inputs: int | tuple[int, ...]
    actions: int
    tasks: int = 1


class Params(NamedTuple):
    """What is learnt; one entry per layer.

    Attributes:
        weights: ``[inputs, outputs]``, shared by all tasks.
        gains: ``[tasks, outputs]``.
        biases: ``[tasks, outputs]``.

    Where observations are normalised, there is a gain and a bias before those of the first layer:
    what they are multiplied with after the bias, minus their mean, was added. They are not learnt.
    A network of two parts has the layers of the transient one, then those of the permanent one.
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
        gain: whether gains act ``"after"`` the rectification or ``"before"`` it, or there are
            ``"none"``: then units have biases alone, and the numbers in their place are not used.
        first_bias: where the biases of the first layer start; those of the others start at 0.
        filters: of 3 x 3 cells, in a layer before the hidden ones that slides over a grid
            ``[rows, columns, channels]``; 0 is no such layer.
        layer_norm: whether the sums that come into a hidden layer are made to have mean 0 and
            variance 1 over its units, before the bias is added.
        units: ``"relu"``; ``"leaky-relu"``, of which a hundredth remains below 0; or ``"crelu"``:
            the rectified sum and the rectified opposite of it, so that no unit falls silent and the
            next layer has twice as many inputs.
        per_task: whether each task has gains and biases of its own, and so is told which task it
            is; else all tasks share them.
        sparse: share of the weights into each unit that start at 0, rounded down so that no unit
            starts blind; the others are then uniform, of the same size as otherwise over root 3.
        normalise: whether observations are shifted and scaled first, by a learner who keeps count
            of what is seen (:mod:`bennafusi.agents.stream_q`).
        permanent: whether values are the sum of two such networks, of which the second one is no
            part of any gradient (:mod:`bennafusi.agents.permanent`).

    Example:
        >>> network, sizes = Network(hidden=(400, 200)), Sizes(inputs=4, actions=2, tasks=2)
        >>> network.size(sizes)
        84408
        >>> params = network.start(jax.random.key(0), sizes)
        >>> network.values(params, jnp.int32(1), jnp.ones(4)).shape
        (2,)
        >>> Network(hidden=(128,), filters=16).layers(Sizes(inputs=(10, 10, 4), actions=6))
        ((36, 16), (1024, 128), (128, 6))

    References:
        Kaplanis, Shanahan and Clopath, *Continual RL with Complex Synapses*, 2018, section 4.2.
        Ba, Kiros and Hinton, *Layer normalization*, 2016.
        Shang et al., *Concatenated rectified linear units*, 2016.
    """

    hidden: tuple[int, ...] = (400, 200)
    gain: GainPlace = "after"
    first_bias: float = 0.0
    filters: int = 0
    layer_norm: bool = False
    units: Units = "relu"
    per_task: bool = True
    sparse: float = 0.0
    normalise: bool = False
    permanent: bool = False

    def __post_init__(self) -> None:
        widths: object = self.hidden
        if not isinstance(widths, tuple | list) or not widths:
            raise ValueError(f"hidden={widths!r}: list the units of each hidden layer")
        object.__setattr__(self, "hidden", tuple(_positive("hidden", width) for width in widths))
        check_choices(self, {"gain": GainPlace, "units": Units})
        object.__setattr__(self, "first_bias", real("first_bias", self.first_bias))
        check_whole(self, {"filters": (0, 2**10)})
        check_shares(self, "sparse", below_1=True)
        check_flags(self, "layer_norm", "per_task", "normalise", "permanent")

    @property
    def factored(self) -> bool:
        """Whether the gradient at one observation is an outer product in every layer."""
        return not (self.filters or self.layer_norm or self.normalise or self.permanent)

    @property
    def alone(self) -> Network:
        """One of the two parts of which it is the sum."""
        return dataclasses.replace(self, permanent=False)

    def layers(self, sizes: Sizes) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of each layer."""
        shape = _shape(sizes)
        for size in shape:
            _positive("inputs", size)
        for name in ("actions", "tasks"):
            _positive(name, getattr(sizes, name))
        inputs, found, times = math.prod(shape), [], self.activation.sides
        if self.filters:
            if len(shape) != 3 or min(shape[:2]) < FIELD:
                raise ValueError(
                    f"filters={self.filters} with observations of shape {shape}: filters of "
                    f"{FIELD} x {FIELD} need a grid, (rows, columns, channels), at least as large; "
                    "choose filters=0"
                )
            found = [(FIELD * FIELD * shape[2], self.filters)]
            inputs = (shape[0] - FIELD + 1) * (shape[1] - FIELD + 1) * self.filters * times
        for width in self.hidden:
            found.append((inputs, width))
            inputs = width * times
        return (*found, (inputs, sizes.actions))

    def size(self, sizes: Sizes) -> int:
        """How many parameters there are."""
        one = sum((rows + 2 * sizes.tasks) * columns for rows, columns in self.layers(sizes))
        return 2 * one if self.permanent else one

    def start(self, key: Array, sizes: Sizes, dtype: Any = jnp.float32) -> Params:
        """Parameters at birth."""
        if self.permanent:
            born = [self.alone.start(part, sizes, dtype) for part in jax.random.split(key)]
            return Params(*(one + other for one, other in zip(*born, strict=True)))
        layers = self.layers(sizes)
        keys = jax.random.split(key, len(layers))
        shapes = [(sizes.tasks, columns) for _, columns in layers]
        if self.normalise:
            shapes.insert(0, (sizes.tasks, math.prod(_shape(sizes))))
        biases = [jnp.zeros(shape, dtype) for shape in shapes]
        first = 1 if self.normalise else 0
        biases[first] += jnp.asarray(self.first_bias, dtype)
        draw = partial(_sparse, self.sparse) if self.sparse else jax.random.normal
        return Params(
            tuple(
                draw(key, layer, dtype) * jnp.asarray(layer[0] ** -0.5, dtype)
                for key, layer in zip(keys, layers, strict=True)
            ),
            tuple(jnp.ones(shape, dtype) for shape in shapes),
            tuple(biases),
        )

    def values(self, params: Params, task: Array | int, observation: Array) -> Array:
        """Values of all actions, ``[actions]``, or one row of them per row of observations."""
        if self.permanent:
            new, kept = (self.alone.values(half(params, i), task, observation) for i in range(2))
            return new + jax.lax.stop_gradient(kept)
        return self._forward(_own(params, task), observation)[0]

    def hidden_units(
        self, params: Params, task: Array | int, observations: Array
    ) -> tuple[Array, ...]:
        """What the units of every hidden layer give to a batch of observations, ``[..., units]``.

        Of filters, which are units in many places, ``[observations, places, filters]``. Of a
        network of two parts, the transient one's.
        """
        if self.permanent:
            return self.alone.hidden_units(half(params, 0), task, observations)
        _, (_, *found) = self._forward(_own(params, task), observations)
        if self.filters:
            found[0] = found[0].reshape(len(observations), -1, self.activation.sides * self.filters)
        return tuple(found)

    def slopes(
        self, loss: Callable[[Array], Array], params: Params, task: Array | int, observation: Array
    ) -> tuple[Array, Slopes | Params]:
        """A loss of the values at one observation, and its gradient in factored form.

        The gradient as it is, like the parameters, where it is no outer product: for a batch of
        observations, or a network with filters or LayerNorm.
        """
        if not self.factored or observation.ndim > 1:
            of_all = jax.value_and_grad(lambda p: loss(self.values(p, task, observation)))
            found: tuple[Array, Params] = of_all(params)
            return found
        own = _own(params, task)

        def of_own(gains: tuple[Array, ...], biases: tuple[Array, ...]) -> Any:
            q, inputs = self._forward(Params(own.weights, gains, biases), observation)
            return loss(q), inputs

        differentiate = jax.value_and_grad(of_own, argnums=(0, 1), has_aux=True)
        (value, inputs), (gains, biases) = differentiate(own.gains, own.biases)
        return value, Slopes(inputs, gains, biases)

    def gradient(self, params: Params, slopes: Slopes | Params, task: Array | int) -> Params:
        """The whole gradient from its factors; tasks that are not ``task`` have none."""
        if isinstance(slopes, Params):
            return slopes
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
        x, units = self._first(own, observation), self.activation
        inputs: list[Array] = []
        if self.normalise:
            own = own._replace(gains=own.gains[1:], biases=own.biases[1:])
        for weights, gain, bias in zip(*own, strict=True):
            sliding, last = bool(self.filters) and not inputs, len(inputs) + 1 == len(own.weights)
            inputs.append(x)
            if sliding:
                x = slide(units, (weights, gain, bias), x)
                continue
            y = (product if x.ndim > 1 else jnp.matmul)(x, weights)
            x = units.last(y, gain, bias) if last else units(units.normed(y, -1), gain, bias)
        return x, tuple(inputs)

    @property
    def activation(self) -> Activation:
        """What the hidden units make of their sums."""
        return Activation(self.units, self.gain, self.layer_norm)

    def _first(self, own: Params, observation: Array) -> Array:
        """What comes into the first layer: numbers in a row, or a grid for filters."""
        x = observation.astype(own.weights[0].dtype) if observation.dtype == bool else observation
        if self.normalise:
            offset, scale = (jax.lax.stop_gradient(part[0]) for part in (own.biases, own.gains))
            x = _flat(x, offset.shape[-1])
            x = (x + spread(offset, x, -1)) * spread(scale, x, -1)
            x = x.reshape(*x.shape[:-1], *observation.shape[-3:]) if self.filters else x
        return x if self.filters else _flat(x, own.weights[0].shape[0])


def half(params: Params, number: int) -> Params:
    """One of two networks whose layers stand one after the other."""
    middle = len(params.weights) // 2
    here = slice(number * middle, (number + 1) * middle)
    return Params(*(layers[here] for layers in params))


def scaled_by(params: Params, mean: Array, scale: Array) -> Params:
    """A network that takes this mean from its observations, and then multiplies them."""

    def first(rows: tuple[Array, ...], row: Array) -> tuple[Array, ...]:
        return (jnp.broadcast_to(row, rows[0].shape), *rows[1:])

    return params._replace(gains=first(params.gains, scale), biases=first(params.biases, -mean))


def _shape(sizes: Sizes) -> tuple[int, ...]:
    return sizes.inputs if isinstance(sizes.inputs, tuple) else (sizes.inputs,)


def _sparse(share: float, key: Array, layer: tuple[int, int], dtype: Any) -> Array:
    """Uniform numbers from -1 to 1, of which a share of each column is 0, at random places."""
    values, places = jax.random.split(key)
    drawn = jax.random.uniform(values, layer, dtype, -1.0, 1.0)
    rank = jax.random.uniform(places, layer)
    first = jnp.sort(rank, axis=0)[int(share * layer[0] + 1e-9)]  # that is not 0
    return jnp.where(rank < first[None], jnp.zeros_like(drawn), drawn)


def _flat(x: Array, inputs: int) -> Array:
    """Observations of any shape as numbers in a row."""
    axes = 1
    while math.prod(x.shape[-axes:]) < inputs:
        axes += 1
    return x if axes == 1 else x.reshape(*x.shape[:-axes], inputs)


def _own(params: Params, task: Array | int) -> Params:
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

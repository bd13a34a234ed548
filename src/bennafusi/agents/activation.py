"""What the units of a layer make of their sums: norm, bias, gain and rectification."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

GainPlace = Literal["after", "before", "none"]
Units = Literal["relu", "crelu", "leaky-relu"]
LEAK = 0.01  # slope of a leaky unit below 0
SMALLEST = 1e-5  # added to a variance, which may be 0


@dataclass(frozen=True)
class Activation:
    """The units of a network; :class:`bennafusi.agents.networks.Network` says what each is.

    Example:
        >>> units = Activation("crelu", "after", layer_norm=False)
        >>> units(jnp.array([3.0, -1.0]), gain=jnp.array([2.0, 2.0]), bias=jnp.zeros(2)).tolist()
        [6.0, 0.0, 0.0, 2.0]
    """

    units: Units
    gain: GainPlace
    layer_norm: bool

    @property
    def sides(self) -> int:
        """Numbers that a unit gives to the next layer."""
        return 2 if self.units == "crelu" else 1

    def normed(self, y: Array, axes: int | tuple[int, ...]) -> Array:
        """Sums of mean 0 and variance 1 over these axes, if the network has LayerNorm."""
        return jax.nn.standardize(y, axes, epsilon=SMALLEST) if self.layer_norm else y

    def __call__(self, y: Array, gain: Array, bias: Array, axis: int = -1) -> Array:
        """What the units of a hidden layer, which lie along that axis, make of their sums."""
        y = y + spread(bias, y, axis)
        scale = spread(gain, y, axis)
        if self.units == "crelu":
            y, scale = jnp.concatenate([y, -y], axis), jnp.concatenate([scale] * 2, axis)
        rectify = jax.nn.relu
        if self.units == "leaky-relu":
            rectify = partial(jax.nn.leaky_relu, negative_slope=LEAK)
        if self.gain == "none":
            return rectify(y)
        return scale * rectify(y) if self.gain == "after" else rectify(scale * y)

    def last(self, y: Array, gain: Array, bias: Array) -> Array:
        """What the last layer makes of its sums: the values of the actions."""
        y = y + spread(bias, y, -1)
        return y if self.gain == "none" else spread(gain, y, -1) * y


def spread(row: Array, y: Array, units: int) -> Array:
    """A row for all places of a layer, along the axis of its units; or a row for each of a batch.

    Where the units are not the last axis, the batch is.
    """
    if units != -1:
        row = jnp.moveaxis(row, -1, 0)
        shape = (1,) * units + row.shape[:1] + (1,) * (y.ndim - units - row.ndim) + row.shape[1:]
    else:
        shape = row.shape[:-1] + (1,) * (y.ndim - row.ndim) + row.shape[-1:]
    return jnp.broadcast_to(row.reshape(shape), y.shape)

"""Layers of a batch as products that XLA works out fast on a CPU: filters, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bennafusi.agents.activation import Activation

FIELD = 3  # rows and columns that a filter sees
MOST_CHANNELS = 16  # of a grid that is summed up in one loop, which is written out for each
FEW = 8  # observations of a batch at a time, which fit into the nearest cache
Layer = tuple[Array, Array, Array]  # its weights, gain and bias

# A wall at which XLA stops making a turning over part of a product, which would take twice as long.
_keep: Callable[..., Any] = jax.lax.optimization_barrier


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def slide(units: Activation, layer: Layer, grid: Array) -> Array:
    """The layer of filters: a single loop for the values of a batch, else products."""
    own_of_each, many = layer[1].ndim > 1, grid.shape[-1] > MOST_CHANNELS
    at_once = grid.ndim == 4 and not own_of_each and not many
    return (_at_once if at_once else _by_products)(units, layer, grid)


def _slide_forward(units: Activation, layer: Layer, grid: Array) -> tuple[Array, Any]:
    found: tuple[Array, Any] = jax.vjp(partial(_by_products, units), layer, grid)
    return found


def _slide_backward(units: Activation, back: Any, slope: Array) -> Any:
    del units
    return back(slope)


slide.defvjp(_slide_forward, _slide_backward)


def _by_products(units: Activation, layer: Layer, grid: Array) -> Array:
    """Place by place, at each of them filter by filter."""
    weights, gain, bias = layer
    seen = unfolded(grid)
    y = units.normed(slid(seen, weights), (0, 1, 2))
    if gain.ndim == 1:
        # One long axis in place of columns and a batch: XLA's loops over it are five times as fast.
        y = y.reshape(*y.shape[:2], -1)
    x = units(y, gain, bias, 1)
    x = x.reshape(*x.shape[:2], *seen.shape[2:])
    x = jnp.swapaxes(x, 1, 2).reshape(-1, *x.shape[3:])
    return jnp.moveaxis(x, 0, -1)


def _at_once(units: Activation, layer: Layer, batch: Array) -> Array:
    """The same of a batch, in one loop: faster if no gradient is wanted."""
    weights, gain, bias = layer

    def few(grid: Array) -> Array:
        return units(units.normed(summed(grid, weights), (-3, -2, -1)), gain, bias)

    # In a loop of JAX's the places keep axes of their own; along a common one XLA's is slow.
    x: Array = jax.lax.map(few, batch, batch_size=FEW)
    return x.reshape(len(batch), -1)


def summed(grid: Array, weights: Array) -> Array:
    """Sums of filters at each place, ``[..., rows, columns, filters]``, in one loop of XLA's.

    For the values alone nothing is copied or turned over, and what follows becomes part of the
    loop. The sums of the nine cells do not wait for each other, as those of one long sum would.
    """
    rows, columns = (size - FIELD + 1 for size in grid.shape[-3:-1])
    seen = _keep(grid)  # not made anew for each filter, from what it was made of

    def cell(down: int, along: int) -> Array:
        part = seen[..., down : down + rows, along : along + columns, :]
        first = (FIELD * down + along) * grid.shape[-1]
        shape = (*part.shape[:-1], weights.shape[-1])
        of = (
            jnp.broadcast_to(part[..., channel, None], shape)
            * jnp.broadcast_to(weights[first + channel], shape)
            for channel in range(grid.shape[-1])
        )
        return reduce(add, of)

    return reduce(add, (cell(*place) for place in np.ndindex(FIELD, FIELD)))


def unfolded(grid: Array) -> Array:
    """What a filter sees at each place, ``[rows, 9 channels, columns, ...]``, a batch at the end.

    A convolution is the product of a matrix with that, which XLA works out several times as fast as
    a convolution on a CPU. With the batch at the end numbers are copied many at a time, and nothing
    of it has to be turned over for a gradient. First cells side by side are put together, then rows
    of them: two times three pieces, which XLA does in one loop each, where nine would be ten.
    """
    grid = jnp.moveaxis(grid, (-3, -1, -2), (0, 1, 2))
    rows, columns = grid.shape[0] - FIELD + 1, grid.shape[2] - FIELD + 1
    beside = [grid[:, :, along : along + columns] for along in range(FIELD)]
    grid = jnp.concatenate(beside, 1)
    return jnp.concatenate([grid[down : down + rows] for down in range(FIELD)], 1)


def slid(seen: Array, weights: Array) -> Array:
    """Sums of filters at each place, ``[rows, filters, columns, ...]``: a product for each row.

    Of a single observation it is one product for all rows: too small to be worth several.
    """
    rows, inputs, columns, *batch = seen.shape
    if not batch:
        sums = product(weights.T, jnp.swapaxes(seen, 0, 1).reshape(inputs, -1))
        return jnp.swapaxes(sums.reshape(-1, rows, columns), 0, 1)
    turned = jnp.broadcast_to(weights.T[None], (rows, *weights.T.shape))
    sums = jax.vmap(product)(turned, seen.reshape(rows, inputs, -1))
    return sums.reshape(rows, -1, columns, *batch)


@jax.custom_vjp
def product(x: Array, weights: Array) -> Array:
    """``x @ weights`` for a batch, of which the gradient is worked out as XLA does it fastest."""
    found: Array = _keep(x) @ weights
    return found


def _forward(x: Array, weights: Array) -> tuple[Array, tuple[Array, Array]]:
    return product(x, weights), (x, weights)


def _backward(kept: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    x, weights = kept
    rows, slopes = x.reshape(-1, x.shape[-1]), slope.reshape(-1, slope.shape[-1])
    # Of both products the small factor is turned over in memory first, and none of the weights is.
    turned, across = _keep((rows.T, slopes.T))
    back = _keep(weights @ across)
    return back.T.reshape(x.shape), turned @ slopes


product.defvjp(_forward, _backward)

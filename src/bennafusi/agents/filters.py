"""Layers of a batch as products that XLA works out fast on a CPU: filters, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

FIELD = 3  # rows and columns that a filter sees

# A wall at which XLA stops making a turning over part of a product, which would take twice as long.
_keep: Callable[..., Any] = jax.lax.optimization_barrier


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

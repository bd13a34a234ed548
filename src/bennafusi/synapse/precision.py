"""The least precision in which anything is kept that moves a little at a time."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array


def wide(x: Array) -> Array:
    """In float32 or more: what moves by a thousandth of itself would stand still in bfloat16.

    By size, since strict promotion has no common type of bfloat16 and float32.

    Example:
        >>> wide(jnp.ones(2, jnp.bfloat16)).dtype, wide(jnp.ones(2, jnp.complex64)).dtype
        (dtype('float32'), dtype('complex64'))
    """
    return x if x.dtype.itemsize >= 4 else x.astype(jnp.float32)

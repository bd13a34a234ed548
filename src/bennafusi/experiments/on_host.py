"""The state of a run between its chunks: in NumPy's arrays, as jobs hand it on."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

State = TypeVar("State")


def on_host(state: State) -> State:
    """With NumPy leaves: they keep float64 whatever JAX's settings are when a run is resumed."""
    # Asked first, because NumPy waits for ever for an array that there was no memory for.
    ready = jax.block_until_ready(state)  # type: ignore[no-untyped-call]
    host: State = jax.tree.map(_unless_key, ready)
    return host


def _unless_key(leaf: Any) -> Any:
    """An array of NumPy; the key of a rival that draws noise is one of JAX alone."""
    return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)

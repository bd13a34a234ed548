"""The hidden beakers at birth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from bennafusi.synapse.chain import Chain, Float64

HiddenName = Literal["copy", "zeros", "linear-variance"]
# weight, chain, key, path of the parameter -> levels u_2 .. u_n, [n - 1, *weight.shape]
HiddenFunction = Callable[[Array, Chain, Array | None, str], Array]
Hidden = HiddenName | HiddenFunction


def beakers_at_birth(
    hidden: Hidden, weight: Array, chain: Chain, key: Array | None, path: str
) -> Array:
    r"""All levels of one parameter, ``[n, *weight.shape]``, the first being the weight itself.

    Args:
        hidden: ``"copy"`` (every beaker as full as the weight, so that nothing flows at first),
            ``"zeros"``, ``"linear-variance"`` (the paper's start) or a function
            ``(weight, chain, key, path) -> [n - 1, *weight.shape]``.
        weight: the parameter.
        chain: its chain.
        key: random key; only ``"linear-variance"`` and functions may need it.
        path: where the parameter stands in its tree, such as ``"layers/0/bias"``.

    Example:
        >>> chain = Chain(n=3, g12=0.1)
        >>> beakers_at_birth("copy", jnp.array([0.5, 2.0]), chain, None, "w").tolist()
        [[0.5, 2.0], [0.5, 2.0], [0.5, 2.0]]
    """
    shape = (chain.n - 1, *weight.shape)
    if hidden == "copy":
        deeper = jnp.broadcast_to(weight[None], shape)
    elif hidden == "zeros":
        deeper = jnp.zeros(shape, weight.dtype)
    elif hidden == "linear-variance":
        assert key is not None  # checked by require_known before any parameter is touched
        deeper = linear_variance(weight, chain, key)
    else:
        assert callable(hidden)
        deeper = jnp.asarray(hidden(weight, chain, key, path), weight.dtype)
        if deeper.shape != shape:
            raise ValueError(
                f"hidden={hidden!r}: returned shape {deeper.shape} for parameter {path!r}; "
                f"the {chain.n - 1} hidden beakers need {shape}"
            )
    return jnp.concatenate([weight[None], _placed_like(weight, deeper)])


def _placed_like(weight: Array, deeper: Array) -> Array:
    """The hidden beakers on the devices of their weight, where a mesh wants that in words."""
    sharding = jax.typeof(weight).sharding
    if all(axis is None for axis in sharding.spec):
        return deeper
    below = P(None, *sharding.spec)  # type: ignore[no-untyped-call]
    placed: Array
    if isinstance(weight, jax.core.Tracer):
        placed = jax.sharding.reshard(  # type: ignore[no-untyped-call]
            deeper, NamedSharding(sharding.mesh, below)
        )
    else:
        assert isinstance(weight.sharding, NamedSharding)
        placed = jax.device_put(deeper, NamedSharding(weight.sharding.mesh, below))
    return placed


def linear_variance(
    weight: Array, chain: Chain, key: Array, variance: float | Array | None = None
) -> Array:
    r"""Random levels whose variance falls linearly with depth, as the paper starts its agents.

    .. math:: u_k \sim N\left(0,\; s^2 (1 - k/n)\right), \qquad k = 2 \dots n,

    close to where random, uncorrelated memories would bring the chain. :math:`s^2` is ``variance``,
    or the mean square of the weight's own values where none is given: for a freshly drawn weight
    matrix that is the variance of its initial distribution.

    Example:
        >>> w = jax.random.normal(jax.random.key(0), (1000,))
        >>> u = linear_variance(w, Chain(n=4, g12=0.1), jax.random.key(1))
        >>> [round(float(v), 1) for v in u.var(1)]
        [0.5, 0.2, 0.0]
    """
    column = (-1,) + (1,) * weight.ndim
    scale = jnp.mean(jnp.abs(weight) ** 2) if variance is None else jnp.asarray(variance)
    noise = jax.random.normal(key, (chain.n - 1, *weight.shape), weight.dtype)
    shares_column = jnp.asarray(np.sqrt(depth_shares(chain)), weight.dtype).reshape(column)
    return noise * shares_column * jnp.sqrt(scale).astype(weight.dtype)


def depth_shares(chain: Chain) -> Float64:
    """Variance of beakers 2 to n at birth, relative to the weight's: it falls linearly to 0."""
    return 1 - np.arange(2, chain.n + 1) / chain.n


def require_known(
    hidden: object, key: object, *, name: str = "key", example: str = "jax.random.key(0)"
) -> None:
    """Refuse a ``hidden`` that is neither known nor a function, or that lacks its randomness."""
    names = get_args(HiddenName)
    if not callable(hidden) and hidden not in names:
        known = ", ".join(map(repr, names))
        raise ValueError(f"hidden={hidden!r}: unknown; choose one of {known}, or a function")
    if isinstance(key, int | float):
        raise TypeError(f"{name}={key!r}: must be a random {name}, such as {example}")
    if hidden == "linear-variance" and key is None:
        raise ValueError(
            f"{name}=None: hidden='linear-variance' is random; give it a {name}, such as {example}"
        )

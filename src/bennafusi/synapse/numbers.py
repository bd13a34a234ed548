"""Numbers as users give them, checked where they come in, and arrays that stay as they are."""

from __future__ import annotations

import math
import operator

import numpy as np
from numpy.typing import NDArray

# jax.jit and optax.inject_hyperparams trace every argument that is not said to be static.
_KNOWN = (
    "known before compiling; name it in static_argnames of jax.jit, with "
    "optax.inject_hyperparams in static_args:"
)


def whole(name: str, value: object) -> int:
    """A whole number, of Python's or NumPy's kind.

    Args:
        name: what the user calls it.
        value: what was given.

    Raises:
        TypeError: if it is none; True and 3.0 are none.

    Example:
        >>> whole("n", np.int32(3))
        3
        >>> whole("n", 3.0)
        Traceback (most recent call last):
        ...
        TypeError: n=3.0: must be a whole number, not float
    """
    several = getattr(value, "ndim", 0) > 0
    if isinstance(value, bool) or not hasattr(value, "__index__") or several:
        raise TypeError(f"{name}={value!r}: must be a whole number, not {type(value).__name__}")
    try:
        return operator.index(value)
    except TypeError as error:  # JAX's, inside a program that is being compiled; or a float of its
        raise TypeError(f"{name}={value!r}: must be a whole number, {_KNOWN} {name!r}") from error


def real(name: str, value: object) -> float:
    """A finite number, of Python's, NumPy's or JAX's kind.

    Args:
        name: what the user calls it.
        value: what was given.

    Raises:
        TypeError: if it is no single number.
        ValueError: if it is not finite.

    Example:
        >>> real("g12", 1)
        1.0
        >>> real("g12", float("nan"))
        Traceback (most recent call last):
        ...
        ValueError: g12=nan: must be finite
    """
    try:
        scalar = np.asarray(value)
    except TypeError as error:  # JAX's, inside a program that is being compiled
        raise TypeError(f"{name}={value!r}: must be a number, {_KNOWN} {name!r}") from error
    if scalar.ndim != 0 or scalar.dtype.kind not in "iuf":
        raise TypeError(f"{name}={value!r}: must be a number, not {type(value).__name__}")
    number = float(scalar)
    if not math.isfinite(number):
        raise ValueError(f"{name}={number}: must be finite")
    return number


def readonly(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same array, which can no longer be written to: whoever shares it may keep it."""
    array.setflags(write=False)
    return array

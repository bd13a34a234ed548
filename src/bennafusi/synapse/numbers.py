"""What users give, checked where it comes in, and arrays that stay as they are.

The checks of fields are for frozen settings: what they pass becomes plain, and so hashes alike.
"""

from __future__ import annotations

import math
import operator
from typing import Any, get_args

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


def whole_between(name: str, value: object, least: int, most: int) -> int:
    """A whole number from one to another, both included.

    Example:
        >>> whole_between("seed", -1, 0, 2**16)
        Traceback (most recent call last):
        ...
        ValueError: seed=-1: choose a whole number from 0 to 65,536
    """
    number = whole(name, value)
    if not least <= number <= most:
        raise ValueError(f"{name}={number}: choose a whole number from {least} to {most:,}")
    return number


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


def check_whole(settings: Any, limits: dict[str, tuple[int, int]]) -> None:
    """Refuse fields that are no whole number from the first to the second of their limits.

    Example:
        >>> from types import SimpleNamespace
        >>> settings = SimpleNamespace(batch=np.int32(64))
        >>> check_whole(settings, {"batch": (1, 2**16)})
        >>> settings
        namespace(batch=64)
    """
    for name, (least, most) in limits.items():
        number = whole_between(name, getattr(settings, name), least, most)
        object.__setattr__(settings, name, number)


def check_shares(settings: Any, *names: str, below_1: bool = False) -> None:
    """Refuse fields that are no number from 0 to 1, or to below 1.

    Example:
        >>> from types import SimpleNamespace
        >>> check_shares(SimpleNamespace(decay=1.0), "decay", below_1=True)
        Traceback (most recent call last):
        ...
        ValueError: decay=1: choose a number from 0 to below 1
    """
    for name in names:
        share = real(name, getattr(settings, name))
        object.__setattr__(settings, name, share)
        if not 0 <= share <= 1 or (below_1 and share == 1):
            most = "below 1" if below_1 else "1"
            raise ValueError(f"{name}={share:g}: choose a number from 0 to {most}")


def check_positive(settings: Any, *names: str) -> None:
    """Refuse fields that are no number above 0."""
    for name in names:
        number = real(name, getattr(settings, name))
        object.__setattr__(settings, name, number)
        if not number > 0:
            raise ValueError(f"{name}={number:g}: must be above 0")


def check_choices(settings: Any, kinds: dict[str, Any]) -> None:
    """Refuse fields that are none of the words of their kind, a ``Literal``.

    Example:
        >>> from types import SimpleNamespace
        >>> from typing import Literal
        >>> check_choices(SimpleNamespace(loss="huber"), {"loss": Literal["all", "taken"]})
        Traceback (most recent call last):
        ...
        ValueError: loss='huber': unknown; choose 'all' or 'taken'
    """
    for name, kind in kinds.items():
        if getattr(settings, name) not in get_args(kind):
            known = " or ".join(map(repr, get_args(kind)))
            raise ValueError(f"{name}={getattr(settings, name)!r}: unknown; choose {known}")


def check_flags(settings: Any, *names: str) -> None:
    """Refuse fields that are neither True nor False."""
    for name in names:
        if not isinstance(getattr(settings, name), bool):
            raise TypeError(f"{name}={getattr(settings, name)!r}: must be true or false")


def readonly(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same array, which can no longer be written to: whoever shares it may keep it."""
    array.setflags(write=False)
    return array

"""Doing something only when its time has come, without copying what it might have changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax.numpy as jnp
from jax import Array, lax

Carry = TypeVar("Carry")


def when(due: Array, change: Callable[[Carry], Carry], carry: Carry) -> Carry:
    """``change(carry)`` if due, else ``carry``.

    A loop that runs at most once, not ``lax.cond``: XLA updates the carry of a loop in place, where
    the branches of a conditional copy what they pass through. What ``change`` reads from outside is
    worked out before the loop and kept, where a fusion would work it out again for every element.

    Example:
        >>> int(when(jnp.bool_(True), lambda x: x + 1, jnp.int32(1)))
        2
    """
    _, result = lax.while_loop(
        lambda loop: loop[0],
        lambda loop: (jnp.zeros_like(loop[0]), change(loop[1])),
        (due, carry),
    )
    return result

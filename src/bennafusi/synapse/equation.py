"""The paper's equation for neighbouring beakers: written once, for every array library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

A = TypeVar("A")  # an array of whatever library


def add_scaled(y: Any, a: Any, x: Any) -> Any:
    """``y + a * x``, for libraries that have no single call for it."""
    return y + a * x


def relax(
    levels: Sequence[A],
    inward: Sequence[Any],
    back: Sequence[Any],
    flow: Any,
    add_scaled: Callable[[A, Any, A], A] = add_scaled,
) -> tuple[list[A], A]:
    r"""One explicit step of neighbouring beakers, all from old levels.

    .. math:: u_k \leftarrow u_k - b_k\,(u_k - u_{k+1}) + f\, a_k\,(u_{k-1} - u_k)

    The inflow of the first beaker is not part of it: that is the optimiser's step, or what a faster
    group has sent down.

    Args:
        levels: the beakers from top to bottom and, last, the one below them.
        inward: :math:`a_k` for each of ``levels``; the first is not used.
        back: :math:`b_k` for each beaker that moves, 0 where its gate is shut.
        flow: modulation :math:`f` of the flow into deeper beakers; ``None`` for none. A function
            gets the drop :math:`u_{k-1} - u_k` of each tube and returns that tube's :math:`f`.
        add_scaled: ``(y, a, x) -> y + a * x``, where a library has a faster call for it.

    Returns:
        The new levels of the beakers, and the drop of level (times ``flow``) towards the one below.

    Example:
        >>> relax([1.0, 0.0, 0.0], [0.0, 0.05, 0.01], [0.1, 0.02], None)
        ([0.9, 0.05], 0.0)
    """
    drops = [upper - lower for upper, lower in pairwise(levels)]  # type: ignore[operator]
    factor = flow if callable(flow) else lambda drop: flow
    sent = drops if flow is None else [factor(drop) * drop for drop in drops]
    moved = [add_scaled(u, -b, drop) for u, b, drop in zip(levels[:-1], back, drops, strict=True)]
    for k in range(1, len(moved)):
        moved[k] = add_scaled(moved[k], inward[k], sent[k - 1])
    return moved, sent[-1]

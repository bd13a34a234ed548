"""Beakers by their number, as users name them."""

from __future__ import annotations

from bennafusi.synapse.numbers import whole


def beaker(depth: object, n: int, least: int = 1) -> int:
    """The number of a beaker, counted as the paper counts: 1 is the weight, ``n`` the deepest.

    Example:
        >>> beaker(9, n=8)
        Traceback (most recent call last):
        ...
        ValueError: depth=9: this chain has beakers 1 (the weight) to 8; choose one from 1 to 8
    """
    number = whole("depth", depth)
    if not least <= number <= n:
        raise ValueError(
            f"depth={number}: this chain has beakers 1 (the weight) to {n}; "
            f"choose one from {least} to {n}"
        )
    return number


def beaker_to_recall(depth: object, n: int, overwrite: bool) -> int:
    """The number of a beaker to pour up, refused if that loses memories and nobody said so."""
    number = beaker(depth, n, least=2)
    if number > 2 and not overwrite:
        between = "beaker 2" if number == 3 else f"beakers 2 to {number - 1}"
        raise ValueError(
            f"depth={number}: recalling it overwrites {between}, and what is remembered there is "
            f"nowhere else. Say overwrite=True if that is meant; readout changes nothing"
        )
    return number

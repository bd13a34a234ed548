"""Rows that a compiled loop leaves behind: columns with room for more than there are."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from jax import Array
from numpy.typing import NDArray

Columns = TypeVar("Columns", bound=tuple[Any, ...])


class Rows(NamedTuple, Generic[Columns]):
    """What ended in a chunk: the first ``ended`` entries of each column, the rest is void.

    Attributes:
        ended: how many rows there are, int32.
        columns: a record of which each field is an array; or None, if it is not kept.
    """

    ended: Array
    columns: Columns


def trimmed(rows: Rows[Any]) -> dict[str, NDArray[np.generic]]:
    """The columns as NumPy arrays without the void."""
    ended, columns = int(rows.ended), rows.columns._asdict()
    return {name: np.asarray(x)[:ended] for name, x in columns.items() if x is not None}

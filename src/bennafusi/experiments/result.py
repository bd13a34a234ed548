"""What every experiment hands on: runs in, findings and drawings out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple


class Finding(NamedTuple):
    """One statement, the rule it is judged by, what came out, and whether it holds.

    Attributes:
        statement: what is claimed; in the paper's words where it is the paper's claim.
        expected: the rule, chosen before looking.
        measured: the numbers.
        holds: yes, no, or None where there are not enough data to say.
    """

    statement: str
    expected: str
    measured: str
    holds: bool | None


class Drawing(NamedTuple):
    """One figure on disk, and what to see in it; ``image`` is the file a report shows."""

    title: str
    caption: str
    image: Path


class Table(NamedTuple):
    """Numbers behind the figures, for a CSV file and a report.

    Attributes:
        name: of its file.
        title: what is in it, with units.
        columns: their names.
        rows: cells in their order; a number may be infinite ("never") or NaN ("not known").
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str | int | float, ...]]


class Exhibit(NamedTuple):
    """Something to move or to take apart in a report.

    Attributes:
        kind: ``"seeds"``, ``"values"``, ``"beakers"`` or ``"play"``.
        title: what it is.
        caption: what to see in it.
        data: plain JSON, of the shape that :mod:`bennafusi.report.content` says for its kind.
    """

    kind: str
    title: str
    caption: str
    data: dict[str, Any]


class RunData(NamedTuple):
    """The numbers of one run, however far it is.

    Attributes:
        variant: which agent.
        seed: its seed.
        records: its metrics, in order.
        seconds: how long it took, None as long as it is not done.
    """

    variant: str
    seed: int
    records: Sequence[dict[str, Any]]
    seconds: float | None = None


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {name: version(name) for name in ("bennafusi", "jax", "numpy")}

"""What a report is made of: findings, figures, numbers, and how they came about."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MEDIA = {".svg": "image/svg+xml", ".png": "image/png", ".gif": "image/gif"}


@dataclass(frozen=True)
class Finding:
    """A row of the findings table.

    Attributes:
        statement: what is claimed.
        expected: what should come out.
        measured: what came out.
        holds: whether the two agree; None where there are not enough data to say.
    """

    statement: str
    expected: str
    measured: str
    holds: bool | None


@dataclass(frozen=True)
class Picture:
    """A figure, to be inlined.

    Attributes:
        title: heading of the figure.
        caption: one or two sentences on what to see.
        path: an SVG, PNG or GIF file.
    """

    title: str
    caption: str
    path: Path

    @property
    def uri(self) -> str:
        """The whole file as a ``data:`` address."""
        if self.path.suffix not in MEDIA:
            raise ValueError(f"path={self.path.name}: a figure must be one of {', '.join(MEDIA)}")
        content = base64.b64encode(self.path.read_bytes()).decode("ascii")
        return f"data:{MEDIA[self.path.suffix]};base64,{content}"


@dataclass(frozen=True)
class Table:
    """Numbers.

    Attributes:
        name: of its file.
        title: what is in it.
        columns: their names.
        rows: cells in their order; an infinite number reads as never, NaN as not known.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]


@dataclass(frozen=True)
class Section:
    """One experiment.

    Attributes:
        title: its heading.
        lead: what it asks, in a sentence or two.
        findings: rows of its table.
        pictures: its figures, in order.
        tables: its numbers; the first is the summary.
    """

    title: str
    lead: str
    findings: Sequence[Finding] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Provenance:
    """How the numbers came about.

    Attributes:
        command: what to type to get them again.
        seconds: how long it took.
        versions: version of each package that matters.
        settings: each setting of the run.
    """

    command: str
    seconds: float
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)

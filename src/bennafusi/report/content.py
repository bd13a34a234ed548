"""What a report is made of: findings, figures, numbers, and how they came about."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXHIBITS = ("seeds", "values", "beakers", "play")
MOST_VECTORS = 400_000  # bytes of an SVG; of a larger one the PNG beside it is taken
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
        pixels = self.path.with_suffix(".png")
        large = self.path.suffix == ".svg" and self.path.stat().st_size > MOST_VECTORS
        path = pixels if large and pixels.exists() else self.path
        content = base64.b64encode(path.read_bytes()).decode("ascii")
        return f"data:{MEDIA[path.suffix]};base64,{content}"


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
class Exhibit:
    """Something to move or to take apart; drawn by the page itself from plain JSON.

    Attributes:
        kind: one of :data:`EXHIBITS`.
        title: what it is.
        caption: what to see in it.
        data: by kind.

            - ``seeds``: ``charts``, each with ``title``, ``x``, ``y``, ``log`` and ``lines`` of
              ``variant``, ``seed``, ``x`` and ``y``; None stands for infinity.
            - ``values``: ``films``, each with ``agent``, ``seed``, ``shape`` (frames, beakers,
              rows, columns), ``values`` (numbers of 16 bits), and for every frame ``epochs`` and
              ``steps``. The goal is in the upper right corner in odd epochs,
              else in the lower left one.
            - ``beakers``: ``films``, each with ``agent``, ``seed``, ``timescales``, ``choices`` of
              ``part``, ``name``, ``n`` and numbers of 16 bits, and for every frame ``episodes``,
              ``epochs``, ``tasks``, ``updates``, ``awake``.
            - ``play``: ``episodes``, each with ``agent``, ``seed``, ``when``, ``task``, ``totals``,
              ``actions`` and by ``kind`` the places of what moves.

            Numbers of 16 bits are ``low``, ``high`` and ``words``: base64, little-endian.
    """

    kind: str
    title: str
    caption: str
    data: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.kind not in EXHIBITS:
            raise ValueError(f"kind={self.kind!r}: choose one of {', '.join(EXHIBITS)}")
        json.dumps(self.data, allow_nan=False)  # raises now and not when the page is written


@dataclass(frozen=True)
class Provenance:
    """How the numbers came about.

    Attributes:
        command: what to type to get them again.
        seconds: of work, over all runs; None if that is not known.
        done: how many runs are finished.
        runs: how far each run is.
        versions: of each package that matters, and on what it ran.
        settings: each setting of the runs.
    """

    command: str
    seconds: float | None
    done: int
    runs: Table
    versions: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """One experiment.

    Attributes:
        title: its heading, a question.
        lead: what it asks, in a sentence or two.
        findings: rows of its table.
        pictures: its figures, in order.
        tables: its numbers; the first is the summary.
        name: of the experiment.
        see: what to look at in its figures.
        exhibits: what can be moved.
        provenance: how it was run.
        problems: what could not be read, judged or drawn.
    """

    title: str
    lead: str
    findings: Sequence[Finding] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    name: str = ""
    see: str = ""
    exhibits: Sequence[Exhibit] = ()
    provenance: Provenance | None = None
    problems: Sequence[str] = ()

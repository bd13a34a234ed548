"""What runs say, and what a report shows: the words that experiments, report and command share.

A run's numbers go in (:class:`RunData`); findings, pictures, tables and exhibits come out, and a
:class:`Section` holds those of one experiment. All of it is plain data: this module imports nothing
of the package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

EXHIBITS = ("seeds", "depths", "play", "values", "beakers", "profiles")


class RunData(NamedTuple):
    """The numbers of one run, however far it is.

    Attributes:
        variant: which agent.
        seed: its seed.
        records: its metrics, in order.
        seconds: how long it took, None as long as it is not done.
        failed: why it ended before it was done; empty if it did not.
    """

    variant: str
    seed: int
    records: Sequence[dict[str, Any]]
    seconds: float | None = None
    failed: str = ""


class Finding(NamedTuple):
    """One statement, the rule it is judged by, what came out, and whether it holds.

    Attributes:
        statement: what is claimed; in the paper's words where it is the paper's claim.
        expected: the rule, chosen before looking.
        measured: the numbers.
        holds: yes, no, or None where there are not enough data to say.
        scale: how much of the full experiment the verdict rests on, in words; empty if not known.
        why: of one that does not hold, what is known of the reason; else empty.
        see: where that is explained, a heading of the documentation such as
            ``docs/results.md#the-supplement``; else empty.
    """

    statement: str
    expected: str
    measured: str
    holds: bool | None
    scale: str = ""
    why: str = ""
    see: str = ""


def all_of(statement: str, parts: Sequence[Finding]) -> Finding:
    """One sentence about several agents or tasks, which holds if every part of it does.

    Example:
        >>> parts = [Finding("a", "above 0", "1", True), Finding("b", "above 0", "-", None)]
        >>> all_of("Both grow", parts)[1:4]
        ('above 0', '1; -', None)
    """
    verdicts = [part.holds for part in parts]
    holds = False if False in verdicts else None if None in verdicts else True
    rule, measured = (
        "; ".join(dict.fromkeys(texts))
        for texts in ((part.expected for part in parts), (part.measured for part in parts))
    )
    return Finding(statement, rule, measured, holds)


TOO_SMALL = "too small to judge"  # how a finding begins that nothing was measured for
MOST_VECTORS = 400_000  # bytes of an SVG that a page shows; of a larger one it shows the PNG


class Picture(NamedTuple):
    """One figure on disk.

    Attributes:
        title: heading of the figure.
        caption: one or two sentences on what to see.
        path: an SVG, PNG or GIF file, the one that a report shows.
    """

    title: str
    caption: str
    path: Path


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
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]


@dataclass(frozen=True)
class Exhibit:
    """Something to move or to take apart in a report; drawn by the page itself from plain JSON.

    Attributes:
        kind: one of :data:`EXHIBITS`.
        title: what it is.
        caption: what to see in it.
        data: by kind.

            - ``seeds``: ``charts``, each with ``title``, ``x``, ``y``, ``log`` and ``lines`` of
              ``variant``, ``seed``, ``x`` and ``y``; None stands for infinity.
            - ``profiles``: ``measures``, each with ``title``, ``levels`` and ``agents`` of
              ``variant``, ``seeds``, ``mean``, ``middle``, its ``interval`` and the ``share`` of
              runs above each level; None stands for infinity.
            - ``depths``: ``films``, each with ``agent``, ``seed``, ``unit``, ``along``,
              ``timescales``, for every look ``times``, ``epochs`` and ``trained``; ``panels`` of
              ``task`` and ``values`` by depth and look, None where there is none; and ``played``:
              None, or ``time`` and ``episodes`` as below, each with its ``depth``.
            - ``values``: ``films``, each with ``agent``, ``seed``, ``shape`` (frames, beakers,
              rows, columns), ``values`` (numbers of 16 bits), and for every frame ``epochs`` and
              ``steps``. The goal is in the upper right corner in odd epochs,
              else in the lower left one.
            - ``beakers``: ``films``, each with ``agent``, ``seed``, ``timescales``, ``choices`` of
              ``part``, ``name``, ``n`` and numbers of 16 bits, and for every frame ``episodes``,
              ``epochs``, ``tasks``, ``updates``, ``awake``.
            - ``play``: ``strongest``, the name of an agent or empty, and ``episodes``, each with
              ``agent``, ``seed``, ``when``, ``task``, ``totals``, ``actions`` and by ``kind`` the
              places of what moves.

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
    """What came out of one experiment.

    Attributes:
        title: its heading, a question.
        lead: what it asks, in a sentence or two.
        findings: rows of its table.
        pictures: its figures, in order.
        tables: its numbers; the first is the summary.
        name: of the experiment.
        see: what came out, in sentences.
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
    see: Sequence[str] = ()
    exhibits: Sequence[Exhibit] = ()
    provenance: Provenance | None = None
    problems: Sequence[str] = ()

    @property
    def scale(self) -> str:
        """At which part of the full experiment it was judged, in words; empty if not known."""
        return next((finding.scale for finding in self.findings if finding.scale), "")

    @property
    def seeds(self) -> int:
        """How many there are of any agent."""
        runs = self.provenance.runs if self.provenance else None
        known = runs is not None and "seed" in runs.columns
        return len({row[runs.columns.index("seed")] for row in runs.rows}) if runs and known else 0

"""One self-contained HTML file: findings first, then figures, then how it was run."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

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
class Section:
    """One experiment.

    Attributes:
        title: its heading.
        lead: what it asks, in a sentence or two.
        findings: rows of its table.
        pictures: its figures, in order.
    """

    title: str
    lead: str
    findings: Sequence[Finding] = ()
    pictures: Sequence[Picture] = ()


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


def render(title: str, sections: Sequence[Section], provenance: Provenance) -> str:
    """The report as one HTML document that loads nothing from anywhere.

    Everything given is text and is escaped.

    Example:
        >>> page = render("Report", [Section("1 < 2", "Is it?")], Provenance("run", 1.0))
        >>> "1 &lt; 2" in page
        True
    """
    environment = Environment(
        loader=PackageLoader("bennafusi.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    findings = [finding for section in sections for finding in section.findings]
    return environment.get_template("template.html.j2").render(
        title=title,
        sections=sections,
        provenance=provenance,
        holding=sum(finding.holds is True for finding in findings),
        total=len(findings),
    )


def write(path: Path, title: str, sections: Sequence[Section], provenance: Provenance) -> None:
    """Write the report to ``path``, whole or not at all."""
    partial = path.with_name(path.name + ".part")
    partial.write_text(render(title, sections, provenance), encoding="utf-8")
    os.replace(partial, path)

"""One self-contained HTML file: findings first, then figures, then how it was run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from bennafusi.report.content import Provenance, Section


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

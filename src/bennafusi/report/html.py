"""One self-contained HTML file: claims first, then each experiment, with things that move.

The page loads nothing, and its policy lets nothing run but the scripts that lie beside this file:
they are named by their hash. Whatever comes from a run is text to it, or JSON in a block of data.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bennafusi.files import replace
from bennafusi.report.results_folder import as_csv, cell, compact
from bennafusi.results import MOST_VECTORS, TOO_SMALL, Finding, Picture, Section, Table
from bennafusi.text import duration

SCRIPTS = (
    *("base", "player", "tables", "chart", "seeds", "profiles"),
    *("tanks", "values", "beakers", "play", "depths", "start"),
)
MEDIA = {".svg": "image/svg+xml", ".png": "image/png", ".gif": "image/gif"}
WHOLE, WHOLE_CLAIMS = 4, 45  # of so many experiments and claims paper has all, of more a digest
MOST_TABLE, MOST_TABLES = 400_000, 6_000_000  # bytes of CSV, of one table and of all

# Figures are drawn in black on white; on a dark page paper becomes page, and ink becomes light.
DARK = """@media (prefers-color-scheme: dark) {
g[id^="patch"] path[style*="fill: #ffffff"], g[id^="legend"] path[style*="fill: #ffffff"] {
fill: none !important }
g[id^="text"], use[style*="stroke: #000000"] { fill: #e6e9ed }
path[style*="stroke: #000000"], use[style*="stroke: #000000"] { stroke: #aeb6c0 !important }
path[style*="fill: #000000"], use[style*="fill: #000000"] { fill: #e6e9ed !important }
path[style*="stroke: #e6e6e6"], use[style*="stroke: #e6e6e6"] { stroke: #2b323a !important }
path[style*="fill: #ededed"], path[style*="fill: #d9d9d9"] { fill: #242a31 !important }
path[style*="stroke: #333333"], path[style*="stroke: #595959"] { stroke: #c3cad2 !important }
g[style*="fill: #595959"] { fill: #a3adb8 !important }
}"""


class Numbers(NamedTuple):
    """A table for the page; ``data`` is None if it is too large for it."""

    table: Table
    size: str
    data: Markup | None


def render(
    title: str, sections: Sequence[Section], problems: Sequence[str] = (), made: str = ""
) -> str:
    """The report as one HTML document that loads nothing from anywhere.

    Everything given is text and is escaped.

    Example:
        >>> page = render("Report", [Section("1 < 2", "Is it?")])
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
    environment.filters |= {"embedded": embedded, "uri": uri, "duration": duration, "cell": cell}
    environment.filters |= {"address": id, "unbroken": unbroken, "alike": alike}
    style, script = _read("page.css"), "".join(_script())
    numbers = _Budget(MOST_TABLES)
    return environment.get_template("template.html.j2").render(
        title=title,
        sections=sections,
        numbers={id(s): [numbers.take(table) for table in s.tables] for s in sections},
        places={id(s): place for place, s in enumerate(sections, start=1)},
        measures={id(s): _measures(s) for s in sections},
        many=len(sections) > WHOLE or sum(len(s.findings) for s in sections) > WHOLE_CLAIMS,
        problems=problems,
        made=made,
        counts=_verdicts(sections),
        verdicts={id(s): _verdicts([s]) for s in sections},
        style=Markup(style),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        policy=f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; "
        f"script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'",
    )


def write(
    path: Path, title: str, sections: Sequence[Section], problems: Sequence[str] = ()
) -> None:
    """Write the report to ``path``, whole or not at all."""
    page = render(title, sections, problems, time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()))
    replace(path, page.encode("utf-8", "replace"))  # a lone surrogate must not end it


def uri(picture: Picture) -> str:
    """The whole file of a picture as a ``data:`` address."""
    path = picture.path
    if path.suffix not in MEDIA:
        raise ValueError(f"path={path.name}: a figure must be one of {', '.join(MEDIA)}")
    pixels = path.with_suffix(".png")
    if path.suffix == ".svg" and path.stat().st_size > MOST_VECTORS and pixels.exists():
        path = pixels
    content = path.read_bytes()
    if path.suffix == ".svg":  # into it and not into the page: a picture has a style of its own
        content = content.replace(b"</defs>", b"</defs>" + f"<style>{DARK}</style>".encode(), 1)
    encoded = base64.b64encode(content).decode("ascii")
    return f"data:{MEDIA[path.suffix]};base64,{encoded}"


def embedded(data: Any) -> Markup:
    r"""JSON for a script element of data, which nothing in it can end.

    Example:
        >>> print(embedded({"a": "</script><!--&"}))
        {"a":"\u003c/script\u003e\u003c!--\u0026"}
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - no sign of HTML is left in it


def alike(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Those that fail, by the reason they fail for, which need not be read twice.

    Example:
        >>> found = [Finding(s, "", "", False, why=w) for s, w in ("ax", "by", "cx")]
        >>> [[one.statement for one in group] for group in alike(found)]
        [['a', 'c'], ['b']]
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.holds is False:
            groups.setdefault((finding.why, finding.see), []).append(finding)
    return list(groups.values())


def unbroken(text: str) -> Markup:
    """Text whose words with a hyphen, which names have, go to the next line as a whole.

    Example:
        >>> print(unbroken("<b> Cart-Pole"))
        &lt;b&gt; <span class="name">Cart-Pole</span>
    """
    name = Markup('<span class="name">{}</span>')
    return Markup(" ").join(name.format(w) if "-" in w else w for w in str(text).split(" "))


class _Budget:
    """Tables as long as there is room on the page."""

    def __init__(self, room: int) -> None:
        self.room = room

    def take(self, table: Table) -> Numbers:
        text = as_csv(table)
        if len(text) > min(MOST_TABLE, self.room):
            return Numbers(table, f"{len(text) / 1e6:.1f} MB", None)
        self.room -= len(text)
        data = embedded({"name": f"{table.name}.csv", "csv": text})
        return Numbers(table, f"{len(text) / 1e3:.0f} KB", data)


def _verdicts(sections: Sequence[Section]) -> dict[bool | str | None, int]:
    """How many claims hold, fail or are open, and how many of these were too small to judge."""
    findings = [finding for section in sections for finding in section.findings]
    small = sum(f.holds is None and f.measured.startswith(TOO_SMALL) for f in findings)
    counts: dict[bool | str | None, int] = {
        known: sum(f.holds is known for f in findings) for known in (True, False, None)
    }
    return counts | {"small": small}


def _measures(section: Section) -> Table | None:
    """The summary with a column for each agent, if there is one, and agents fit beside another."""
    if not section.tables or not {"variant", "measure"} <= set(section.tables[0].columns):
        return None
    return compact(section.tables[0])


def _script() -> Iterator[str]:
    yield '(() => {\n"use strict";\n'
    yield from (_read(f"{name}.js") for name in SCRIPTS)
    yield "})();\n"


def _read(name: str) -> str:
    return (files("bennafusi.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a Content-Security-Policy names it.

    Example:
        >>> _hash("")
        'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

"""The results of one experiment as a folder of small open files.

``README.md`` for people, ``claims.json`` for programs, ``numbers/*.csv`` for both.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path

from bennafusi.report.content import Finding, Section, Table

VERDICTS = {True: "holds", False: "**does not hold**", None: "not enough data"}
NUMBERS = "numbers"
_SUMMARY = (
    "Mean over seeds ± standard deviation. Where one of them never came to it there is no mean, "
    "and the median stands instead."
)
_DIGITS = 3  # of the numbers on the page; the files have all of them


def write(folder: Path, section: Section, name: str, about: Sequence[str], runs: Table) -> None:
    """Write the results of an experiment.

    Args:
        folder: made if it is not there.
        section: what was found; its pictures lie in this folder.
        name: of the experiment.
        about: paragraphs on how it was run.
        runs: how far each run is.
    """
    (folder / NUMBERS).mkdir(parents=True, exist_ok=True)
    for table in (*section.tables, runs):
        _replace(folder / NUMBERS / f"{table.name}.csv", as_csv(table))
    claims = [vars(finding) for finding in section.findings]
    _replace(folder / "claims.json", json.dumps(claims, indent=1, ensure_ascii=False) + "\n")
    _replace(folder / "README.md", _page(folder, section, name, about, runs))


def as_csv(table: Table) -> str:
    r"""A table as CSV; numbers are as short as they can be without loss.

    Example:
        >>> as_csv(Table("a", "A", ("n", "time"), [(1, 0.25), (2, float("inf"))]))
        'n,time\n1,0.25\n2,inf\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()


def cell(value: str | int | float) -> str:
    """A cell as people read it.

    Example:
        >>> [cell(x) for x in ("control", 12345, 1234.567, 0.01234567, float("inf"), float("nan"))]
        ['control', '12,345', '1,235', '0.0123', 'never', '-']
    """
    if not isinstance(value, int | float):  # text, or whatever a strange record has instead of it
        return str(value)
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    if isinstance(value, int) or abs(value) >= 10 ** (_DIGITS - 1):
        return f"{value:,.0f}"
    return f"{value:.{_DIGITS}g}"


def _page(folder: Path, section: Section, name: str, about: Sequence[str], runs: Table) -> str:
    parts = [f"# {name}: {section.title}", section.lead, *about]
    if section.findings:
        parts += ["## Claims", _claims(section.findings)]
    for picture in section.pictures:
        path = picture.path.relative_to(folder).with_suffix(".png")
        shown = path if (folder / path).exists() else picture.path.relative_to(folder)
        parts += [f"## {picture.title}", f"![{_plain(picture.title)}]({shown.as_posix()})"]
        parts.append(picture.caption)
    if section.tables and section.tables[0].name == "summary":
        parts += ["## Measures", _SUMMARY, _table(compact(section.tables[0]))]
    parts += ["## Runs", _table(runs), "## Files"]
    parts.append(
        "\n".join(
            f"- [{NUMBERS}/{t.name}.csv]({NUMBERS}/{t.name}.csv): {t.title}"
            for t in (*section.tables, runs)
        )
    )
    return "\n\n".join(parts) + "\n"


def _claims(findings: Sequence[Finding]) -> str:
    rows = [(f.statement, f.expected, f.measured, VERDICTS[f.holds]) for f in findings]
    return _table(Table("", "", ("the paper", "rule", "measured", ""), rows))


def compact(summary: Table) -> Table:
    """The summary with a column for each agent."""
    cells: dict[str, dict[str, str]] = {}
    for row in summary.rows:
        one = dict(zip(summary.columns, row, strict=True))
        cells.setdefault(str(one["measure"]), {})[str(one["variant"])] = _estimate(
            float(one["mean"]), float(one["sd"]), float(one["median"])
        )
    variants = list(dict.fromkeys(str(row[0]) for row in summary.rows))
    rows = [(name, *(known.get(v, "-") for v in variants)) for name, known in cells.items()]
    return Table("", "", ("measure", *variants), rows)


def _estimate(mean: float, deviation: float, median: float) -> str:
    """In a few words.

    Example:
        >>> _estimate(1.5, 0.25, 1.4), _estimate(float("inf"), float("nan"), 3852.0)
        ('1.5 ± 0.25', 'median 3,852')
    """
    if math.isinf(mean):
        return cell(median) if math.isinf(median) else f"median {cell(median)}"
    return cell(mean) if math.isnan(deviation) else f"{cell(mean)} ± {cell(deviation)}"


def _table(table: Table) -> str:
    lines = [table.columns, ["---"] * len(table.columns)]
    lines += [[cell(value) for value in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(map(_plain, line))} |" for line in lines)


def _plain(text: str) -> str:
    """Text that Markdown takes as it is, in one line; the bold of a verdict is ours."""
    for sign in "\\|<>[]`":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)

"""The results of one experiment as a folder of small open files.

``README.md`` for people, ``claims.json`` for programs, ``numbers/*.csv`` for both.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from bennafusi import files
from bennafusi.results import Finding, Provenance, Section, Table

VERDICTS = {True: "holds", False: "**does not hold**", None: "not enough data"}
NUMBERS = "numbers"
_SUMMARY = (
    "Mean over seeds ± standard deviation; of four seeds or more also the interquartile mean "
    "(IQM). Where one of them never came to it there is no mean, and the median stands instead."
)
_DIGITS = 3  # of the numbers on the page; the files have all of them


def write(folder: Path, section: Section) -> None:
    """Write the results of an experiment; its pictures lie in the folder already."""
    files.own_folder(files.own_folder(folder) / NUMBERS)
    for name, text in contents(folder, section).items():
        files.replace(folder / name, text.encode("utf-8", "replace"))


def contents(folder: Path, section: Section) -> dict[str, str]:
    """The results of an experiment: what to write, by its place in the folder."""
    tables = [*section.tables, *([section.provenance.runs] if section.provenance else [])]
    claims = [finding._asdict() for finding in section.findings]
    return {
        **{f"{NUMBERS}/{table.name}.csv": as_csv(table) for table in tables},
        "claims.json": json.dumps(claims, indent=1, ensure_ascii=False) + "\n",
        "README.md": _page(folder, section, tables),
    }


def as_csv(table: Table) -> str:
    r"""A table as CSV; numbers are as short as they can be without loss.

    Example:
        >>> as_csv(Table("a", "A", ("n", "time"), [(1, 0.25), (2, float("inf"))]))
        'n,time\n1,0.25\n2,inf\n'
    """
    return "".join(f"{files.csv_line(cells)}\n" for cells in (table.columns, *table.rows))


def cell(value: str | int | float) -> str:
    """A cell as people read it.

    Example:
        >>> [cell(x) for x in ("control", 12345, 1234.567, 0.01234567, float("inf"), float("nan"))]
        ['control', '12,345', '1,235', '0.0123', 'never', '-']
        >>> cell(float("-inf"))  # what was saved by one who never relearnt; a score behind all
        '-∞'
    """
    if not isinstance(value, int | float):  # text, or whatever a strange record has instead of it
        return str(value)
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never" if value > 0 else "-∞"
    if isinstance(value, int) or abs(value) >= 10 ** (_DIGITS - 1):
        return f"{value:,.0f}"
    return f"{value:.{_DIGITS}g}"


def _page(folder: Path, section: Section, tables: Sequence[Table]) -> str:
    parts = [f"# {section.name}: {section.title}", section.lead, *_about(section.provenance)]
    if section.findings:
        scales = dict.fromkeys(f.scale for f in section.findings if f.scale)
        parts += ["## Claims", *(f"Judged at {scale}." for scale in scales)]
        parts.append(_claims(folder, section.findings))
    for picture in section.pictures:
        path = picture.path.relative_to(folder).with_suffix(".png")
        shown = path if (folder / path).exists() else picture.path.relative_to(folder)
        parts += [f"## {picture.title}", f"![{_plain(picture.title)}]({shown.as_posix()})"]
        parts.append(picture.caption)
    for table in section.tables[:1]:
        if "variant" in table.columns:
            parts += ["## Measures", _SUMMARY, _table(compact(table))]
    if section.provenance:
        parts += ["## Runs", _table(section.provenance.runs)]
    names = [(f"{NUMBERS}/{table.name}.csv", table.title) for table in tables]
    parts += ["## Files", "\n".join(f"- [{name}]({name}): {title}" for name, title in names)]
    return "\n\n".join(parts) + "\n"


def _about(origin: Provenance | None) -> Iterator[str]:
    """How to get these results again, what made them, and how much of it there is."""
    if origin is None:
        return
    yield f"```\n{origin.command}\n```"
    known = [f"{name} {value}" for name, value in origin.versions.items() if value is not None]
    if known:
        yield f"Made with {', '.join(known)}."
    if origin.done < len(origin.runs.rows):
        share = f"{origin.done} of {len(origin.runs.rows)} runs are finished"
        yield f"**{share}**; the table of runs says more."


def _claims(folder: Path, findings: Sequence[Finding]) -> str:
    rows = [
        (f.statement, f.expected, f.measured, " ".join(filter(None, (VERDICTS[f.holds], _why(f)))))
        for f in findings
    ]
    text = _table(Table("", "", ("the paper", "rule", "measured", ""), rows))
    for see in dict.fromkeys(f.see for f in findings if f.why and f.see):
        page = see.partition("#")[0]
        ups = [
            up for up, parent in enumerate(folder.resolve().parents, 1) if (parent / page).exists()
        ]
        if ups:  # the folder lies beside that documentation
            text = text.replace(f"({see})", f"([{see}]({'../' * ups[0]}{see}))")
    return text


def _why(finding: Finding) -> str:
    where = f" ({finding.see})" if finding.see else ""
    return f"Why: {finding.why}{where}" if finding.why else ""


def compact(summary: Table) -> Table:
    """Means and deviations alone: a column for each agent, or, of a sweep, for each measure.

    Example:
        >>> columns = ("variant", "measure", "seeds", "mean", "sd", "median")
        >>> compact(Table("", "", columns, [("a", "reward", 2, 1.5, 0.5, 1.5)])).rows
        [('reward', '1.5 ± 0.5')]
    """
    fields = tuple(summary.columns[: summary.columns.index("variant")])
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in summary.rows:
        one = dict(zip(summary.columns, row, strict=True))
        numbers = [float(one[name]) for name in ("mean", "sd", "median")]
        if int(one["seeds"]) >= 4 and "interquartile mean" in one:  # else nothing is cut
            numbers.append(float(one["interquartile mean"]))
        name, other = ("variant", "measure") if fields else ("measure", "variant")
        key = (*(str(one[field]) for field in fields), str(one[name]))
        cells.setdefault(key, {})[str(one[other])] = _estimate(*numbers)
    others = list(dict.fromkeys(name for known in cells.values() for name in known))
    rows = [(*key, *(known.get(name, "-") for name in others)) for key, known in cells.items()]
    return Table("", "", (*fields, "variant" if fields else "measure", *others), rows)


def _estimate(mean: float, deviation: float, median: float, middle: float | None = None) -> str:
    """In a few words.

    Example:
        >>> _estimate(1.5, 0.25, 1.4), _estimate(float("inf"), float("nan"), 3852.0)
        ('1.5 ± 0.25', 'median 3,852')
        >>> _estimate(1.5, 0.25, 1.4, 1.45)
        '1.5 ± 0.25, IQM 1.45'
    """
    if mean == -math.inf:  # one run is as bad as can be, however the others did
        return cell(mean)
    if math.isinf(mean):
        return cell(median) if math.isinf(median) else f"median {cell(median)}"
    spread = "" if math.isnan(deviation) else f" ± {cell(deviation)}"
    return f"{cell(mean)}{spread}{'' if middle is None else f', IQM {cell(middle)}'}"


def _table(table: Table) -> str:
    lines = [table.columns, ["---"] * len(table.columns)]
    lines += [[cell(value) for value in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(map(_plain, line))} |" for line in lines)


def _plain(text: str) -> str:
    """Text that Markdown takes as it is, in one line; the bold of a verdict is ours."""
    for sign in "\\|<>[]`":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())

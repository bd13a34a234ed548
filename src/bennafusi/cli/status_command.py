"""``bennafusi status``: how far runs are, from any machine that sees their folder."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from bennafusi.cli import options
from bennafusi.cli.printing import refuse, refusing
from bennafusi.files import RunError
from bennafusi.runs.overview import Overview, Row
from bennafusi.text import duration

_ROWS = 20  # those that fit on a screen
# Most urgent first; among equals the one that changed last.
_ORDER = ("failed", "unreadable", "running", "interrupted", "planned", "done")
_OVER = {"done", "failed", "unreadable"}
_WORDS = {"planned": "queued"}
EPILOG = (
    "Examples:\n\n[bold]bennafusi status runs/grid-switch[/bold]\n\n"
    "[bold]bennafusi status runs/grid-switch --watch[/bold]"
)


def status(
    folder: options.Where,
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again until all have ended.")
    ] = False,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between looks.")] = 2.0,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Every run, not the {_ROWS} that matter most.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Every run, for programs.")] = False,
) -> None:
    """How far each run is, and who works on it."""
    if as_json and watch:
        refuse("--json: not together with --watch; call it again instead")
    overview = Overview(folder)
    with refusing(RunError):
        rows = overview.rows()
    if as_json:
        plain = {"counts": counts(rows), "runs": [_plain(row) for row in rows]}
        typer.echo(json.dumps(plain, indent=1, ensure_ascii=False))
        return
    console = Console()
    if not watch:
        console.print(_page(rows, everything))
        return
    live = Live(_page(rows, everything), console=console, auto_refresh=False)
    with contextlib.suppress(KeyboardInterrupt), live:  # to leave is no failure
        while any(row.state not in _OVER for row in rows):
            time.sleep(every)
            rows = overview.rows()
            live.update(_page(rows, everything), refresh=True)


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """How many runs are in each state, the most urgent state first."""
    found = Counter(row.state for row in rows)
    return {state: found[state] for state in _ORDER if found[state]}


def _page(rows: Sequence[Row], everything: bool) -> Group:
    parts = [f"{count:,} {_WORDS.get(state, state)}" for state, count in counts(rows).items()]
    shown = rows
    if len(rows) > _ROWS and not everything:
        shown = sorted(rows, key=lambda row: (_ORDER.index(row.state), -row.updated))[:_ROWS]
        parts.append(f"{_ROWS} of {len(rows):,} shown, --all for the others")
    return Group(_table(shown, _names(shown, rows)), Text(", ".join(parts)))


def _names(shown: Sequence[Row], rows: Sequence[Row]) -> dict[Path, str]:
    """By its folder, what tells a run from all others: ``[out ][experiment ]variant seed``."""
    outs = {_out(row) for row in rows}
    several = len(outs) > 1, len({row.experiment for row in rows}) > 1
    common = os.path.commonpath(outs)
    names = {}
    for row in shown:
        before = (os.path.relpath(_out(row), common), row.experiment)
        words = [word for word, asked in zip(before, several, strict=True) if asked]
        names[row.folder] = " ".join([*words, row.variant, str(row.seed)])
    return names


def _out(row: Row) -> Path:
    """The folder given to ``--out``: a run lies in ``out/experiment/variant/seed``."""
    return row.folder.absolute().parents[:3][-1]


def _table(rows: Sequence[Row], names: Mapping[Path, str]) -> Table:
    lines = []
    for row in rows:
        known = row.state == "running" and row.left is not None
        why = "; ".join([*([row.reason] if row.reason else []), *row.warnings])
        lines.append(
            {
                "run": escape(names[row.folder]),
                "state": _WORDS.get(row.state, row.state),
                "done": f"{row.done / row.total:.0%}" if row.total else "0%",
                "rate": f"{row.rate:,.0f}/s" if row.rate else "",
                "left": duration(row.left) if known else "",
                "tries": str(row.attempts),
                "where": escape(row.where),
                "why": escape(why),
            }
        )
    # A narrow terminal has no room for what is empty.
    columns = [name for name in lines[0] if any(line[name] for line in lines)]
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=column not in ("run", "why"))
    for line in lines:
        table.add_row(*(line[column] for column in columns))
    return table


def _plain(row: Row) -> dict[str, Any]:
    return {**row._asdict(), "folder": str(row.folder)}

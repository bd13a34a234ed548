"""What the command line prints, and how it refuses."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bennafusi.files import printable

if TYPE_CHECKING:
    from bennafusi.runs.load import Problem

VERDICTS = {
    True: "[green]yes[/green]",
    False: "[bold red]NO[/bold red]",
    None: "[dim]too few data[/dim]",
}


def findings_table(title: str, findings: Sequence[Any]) -> Table:
    """Statements, rules, numbers and verdicts."""
    table = Table(title=title, title_justify="left", show_lines=True)
    for column in ("claim", "rule", "measured", "holds"):
        table.add_column(column, overflow="fold")  # names of agents can be longer than a column
    for finding in findings:
        texts = (finding.statement, finding.expected, finding.measured)
        shown = (escape(printable(text)) for text in texts)
        table.add_row(*shown, VERDICTS[finding.holds])
    return table


def working(text: str) -> AbstractContextManager[object]:
    """A sign of life on a terminal, away from what a program may read."""
    return Console(stderr=True).status(text)


def numbers_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Numbers, as they are read and not as they are kept."""
    table = Table(title=title, title_justify="left", box=None, header_style="dim")
    for column in columns:
        table.add_column(escape(column))
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    return table


def duration(seconds: float) -> str:
    """A cost as people say it.

    Example:
        >>> duration(7), duration(600), duration(36_000)
        ('7 s', '10 min', '10 h')
    """
    if seconds < 120:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"


def refuse(message: object, code: int = 2) -> NoReturn:
    """End with a message on standard error."""
    text = "\n".join(map(printable, str(message).split("\n")))
    sys.stderr.write(f"error: {text}\n")
    raise typer.Exit(code)


def show_problems(problems: Iterable[Problem]) -> None:
    """Say on standard error which runs are left out, and why, each once."""
    texts = (printable(f"left out: {problem.folder}: {problem.text}") for problem in problems)
    sys.stderr.write("".join(f"{text}\n" for text in dict.fromkeys(texts)))


def settle(outcome: Any, runs: int, out: Path) -> None:
    """Say which runs failed or were interrupted, and end with their exit code if any did."""
    from bennafusi.runs.attempt import INTERRUPTED

    for failure in outcome.failures:
        sys.stderr.write(f"failed: {failure.folder.path} ({failure.how})\n{failure.log}\n")
    sys.stderr.write(outcome.note)
    if outcome.code == INTERRUPTED:
        sys.stderr.write(
            f"interrupted: {outcome.done} of {runs} runs done, all progress kept in {out}. The "
            "same command continues.\n"
        )
    if outcome.code:
        raise typer.Exit(outcome.code)

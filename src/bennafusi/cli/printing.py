"""What the command line prints, and how it refuses."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bennafusi.files import printable
from bennafusi.results import TOO_SMALL, Finding, Section
from bennafusi.runs.attempt import INTERRUPTED

MOST_FAILED = 3  # claims that are named at the end of a command
VERDICTS = {
    True: "[green]yes[/green]",
    False: "[bold red]NO[/bold red]",
    None: "[dim]too few data[/dim]",
}


def findings_table(title: str, findings: Sequence[Finding]) -> Table | str:
    """Statements, rules, numbers and verdicts; or that an experiment claims nothing.

    Example:
        >>> findings_table("demo", [])
        'demo: no claims'
    """
    if not findings:
        return f"{title}: no claims"
    table = Table(title=title, title_justify="left", show_lines=True)
    for column in ("claim", "rule", "measured", "holds"):
        table.add_column(column, overflow="fold")  # names of agents can be longer than a column
    scales = list(dict.fromkeys(finding.scale for finding in findings if finding.scale))
    table.caption = escape(printable(f"judged at {scales[0]}")) if len(scales) == 1 else None
    for finding in findings:
        measured = finding.measured + (f"\nwhy: {reason(finding)}" if finding.why else "")
        texts = (finding.statement, finding.expected, measured)
        shown = (escape("\n".join(map(printable, text.split("\n")))) for text in texts)
        table.add_row(*shown, VERDICTS[finding.holds])
    return table


def reason(finding: Finding) -> str:
    """Why it failed, and where more is said of it.

    Example:
        >>> reason(Finding("Up", "", "", False, why="it is heavy", see="docs/results.md#weight"))
        'it is heavy (docs/results.md#weight)'
    """
    return f"{finding.why} ({finding.see})" if finding.see else finding.why


def outcome_lines(section: Section, how: str) -> list[str]:
    """One experiment in a line: how many of its claims hold; those that fail, by name.

    Example:
        >>> from bennafusi.results import Finding
        >>> found = [Finding("Up", "", "", True), Finding("Down", "", "", False)]
        >>> outcome_lines(Section("Which way?", "", found, name="way"), "quick, 3 seeds")
        ['way: 1 of 2 claims hold (quick, 3 seeds)', '  fails: Down']
    """
    verdicts = [finding.holds for finding in section.findings]
    if verdicts and all(f.measured.startswith(TOO_SMALL) for f in section.findings):
        return [f"{section.name}: {TOO_SMALL} ({how})"]
    unknown = verdicts.count(None)
    said = f"{verdicts.count(True)} of {len(verdicts)} claims hold" if verdicts else "no claims"
    said += f", {unknown} with too few data" if unknown else ""
    failed = [f.statement for f in section.findings if f.holds is False]
    lines = [f"  fails: {textwrap.shorten(text, 100, placeholder='...')}" for text in failed]
    more = [f"  and {len(lines) - MOST_FAILED} more"] if len(lines) > MOST_FAILED else []
    return [f"{section.name}: {said} ({how})", *lines[:MOST_FAILED], *more]


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


def refuse(message: object, code: int = 2) -> NoReturn:
    """End with a message on standard error."""
    text = "\n".join(map(printable, str(message).split("\n")))
    sys.stderr.write(f"error: {text}\n")
    raise typer.Exit(code)


@contextmanager
def refusing(*kinds: type[Exception], before: str = "") -> Iterator[None]:
    """End with the message of an error of these kinds, as :func:`refuse` does."""
    try:
        yield
    except kinds as error:
        refuse(f"{before}{error}")


@contextmanager
def resumable(debug: bool) -> Iterator[None]:
    """Around a command that runs: whatever ends it, a line says what, and what to do."""
    try:
        yield
    except KeyboardInterrupt:
        refuse("interrupted; the same command continues", INTERRUPTED)
    except typer.Exit:
        raise
    except Exception as error:
        if debug or "--debug" in sys.argv:  # it may stand before the command, too
            raise
        refuse(f"{type(error).__name__}: {error}\nRun again with --debug to see where.", 1)


def say(console: Console, text: str) -> None:
    """A line as it is: names of folders are neither coloured nor broken."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def left_out(problems: Iterable[str]) -> None:
    """Say on standard error what could not be read, each once."""
    texts = dict.fromkeys(printable(f"left out: {text}") for text in problems)
    sys.stderr.write("".join(f"{text}\n" for text in texts))


def settle(outcome: Any, runs: int, out: Path) -> None:
    """Say which runs failed or were interrupted, and end with their exit code if any did."""
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

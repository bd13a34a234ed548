"""Commands that look at runs and change nothing: list, verify, claims, export."""

from __future__ import annotations

import json
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bennafusi.cli.catalogue import CATALOGUE
from bennafusi.cli.results import experiments, load_runs
from bennafusi.cli.show import duration, findings_table, refuse, show_problems, working
from bennafusi.files import printable

Where = Annotated[Path, typer.Argument(help="The folder given to --out, or a part of it.")]


class Format(StrEnum):
    """What numbers are exported as."""

    CSV = "csv"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="list", epilog="Example: [bold]bennafusi list --no-cost[/bold]")(
        list_experiments
    )
    app.command(epilog="Example: [bold]bennafusi verify runs/grid-switch[/bold]")(verify)
    app.command(epilog="Example: [bold]bennafusi claims runs/grid-switch --json[/bold]")(claims)
    app.command(epilog="Example: [bold]bennafusi export runs/grid-switch[/bold]")(export)


def list_experiments(
    cost: Annotated[bool, typer.Option(help="Measure what each costs on this machine.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List the experiments, their figures in the paper, and what they cost here."""
    if as_json:
        plain = [
            {
                "name": entry.name,
                "figures": entry.figures,
                "summary": entry.summary,
                **({"seconds": entry.seconds()} if cost else {}),
            }
            for entry in CATALOGUE
        ]
        typer.echo(json.dumps(plain, indent=1))
        return
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("experiment", "paper", *(["one run here"] if cost else []), "what it shows"):
        table.add_column(column)
    console = Console()
    with console.status("measuring, up to a minute") if cost else nullcontext():
        for entry in CATALOGUE:
            measured = [duration(entry.seconds())] if cost else []
            figures = ", ".join(entry.figures) or "-"
            table.add_row(f"[bold]{entry.name}[/bold]", figures, *measured, entry.summary)
    console.print(table)


def verify(
    folder: Where,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Check every checkpoint, manifest, metrics line and config."""
    from bennafusi.files import RunError
    from bennafusi.runs import status as runs

    try:
        with working("checking"):
            result = runs.verify(folder)
    except RunError as error:
        refuse(error)
    if as_json:
        problems = [{"folder": str(p.folder), "text": p.text} for p in result.problems]
        typer.echo(json.dumps({**result._asdict(), "problems": problems}, indent=1))
        raise typer.Exit(int(bool(problems)))
    console = Console()
    for problem in result.problems:
        where = escape(printable(f"{problem.folder}: {problem.text}"))
        console.print(f"[red]bad[/red] {where}", highlight=False, soft_wrap=True)
    console.print(
        f"{result.runs} runs, {result.checkpoints} checkpoints, {result.lines} lines of metrics: "
        f"{len(result.problems) or 'no'} problem{'s' * (len(result.problems) != 1)}",
        highlight=False,
    )
    if result.problems:
        raise typer.Exit(1)


def claims(
    folder: Where,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """What the paper says, what the runs say, and whether it holds."""
    from bennafusi.files import RunError
    from bennafusi.runs import status as runs
    from bennafusi.runs.load import Problem

    try:
        with working("reading"):
            rows = runs.summary(folder)
            entries, problems = experiments(rows)
            found = {}
            for entry in entries:
                these, damaged = load_runs(folder, entry.name)
                problems += damaged
                try:
                    found[entry.name] = entry.load().claims(these)
                except Exception as error:  # records that the experiment never wrote
                    text = f"{entry.name} cannot be judged: {type(error).__name__}: {error}"
                    problems.append(Problem(folder, text))
    except RunError as error:
        refuse(error)
    unfinished = sum(row.state != "done" for row in rows)
    if unfinished:
        typer.echo(f"{unfinished} of {len(rows)} runs are not finished", err=True)
    show_problems(problems)
    if as_json:
        plain = {name: [c._asdict() for c in claims] for name, claims in found.items()}
        typer.echo(json.dumps(plain, indent=1, ensure_ascii=False))
    else:
        for name, claims in found.items():
            Console().print(findings_table(name, claims))
    raise typer.Exit(int(bool(problems)))


def export(
    folder: Where,
    to: Annotated[Path, typer.Option(help="The file to write.")] = Path("metrics.csv"),
    form: Annotated[Format, typer.Option("--format", help="Of the file.")] = Format.CSV,
) -> None:
    """Write the metrics of all runs as one table."""
    from bennafusi.files import RunError
    from bennafusi.runs import status as runs

    del form
    try:
        with working("reading"):
            lines, problems = runs.export_csv(folder, to)
    except (RunError, OSError) as error:
        refuse(error)
    Console().print(f"{to}: {lines} lines", highlight=False, markup=False, soft_wrap=True)
    show_problems(problems)
    raise typer.Exit(int(bool(problems)))

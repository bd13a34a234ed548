"""Commands that look at runs and change nothing: list, verify, claims, export."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bennafusi.cli import gather, options
from bennafusi.cli.printing import findings_table, left_out, refuse, refusing, say, working
from bennafusi.experiments import registry
from bennafusi.experiments.experiment import Experiment, Scale
from bennafusi.files import RunError, printable
from bennafusi.runs import verify as verifying
from bennafusi.runs.export import export_csv
from bennafusi.text import duration

ForPrograms = Annotated[bool, typer.Option("--json", help="For programs.")]


def list_experiments(
    name: Annotated[
        str | None, typer.Argument(help="One of them: what it asks, its lengths and its agents.")
    ] = None,
    cost: Annotated[
        bool, typer.Option(help="Measure what a run at the default scale costs here.")
    ] = False,
    as_json: ForPrograms = False,
) -> None:
    """List the experiments, and their figures in the paper; or tell of one."""
    problems: list[str] = []
    known = registry.experiments(problems)
    left_out(problems)
    if name is not None:
        with refusing(registry.UnknownError):
            known = [registry.find(name)]
    costs: dict[str, float | None] = {}
    if cost:
        with working("measuring, up to a minute"):
            costs = {one.name: _cost(one) for one in known}
    if as_json:
        plain = [
            {"name": one.name, "figures": one.paper, "summary": one.summary}
            | (
                {"title": one.title, "lead": one.lead, "variants": list(one.variants)}
                if name
                else {}
            )
            | ({"seconds": costs[one.name]} if cost else {})
            for one in known
        ]
        typer.echo(json.dumps(plain, indent=1))
        return
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("experiment", "paper", *(["one run here"] if cost else []), "what it shows"):
        table.add_column(column)
    for one in known:
        measured = [duration(costs[one.name])] if cost else []
        figures = ", ".join(one.paper) or "-"
        table.add_row(f"[bold]{one.name}[/bold]", figures, *measured, one.summary)
    Console().print(table)
    if name is not None:
        _tell(known[0])


def _tell(one: Experiment) -> None:
    """What an experiment asks, how long it is at each scale, and which agents it has."""
    console = Console(highlight=False)
    console.print(f"\n[bold]{escape(one.title)}[/bold]\n{escape(one.lead)}\n")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    if one.extent is not None:
        for scale in get_args(Scale):
            table.add_row(scale, one.extent(one.settings(scale)).words)
    usual = one.defaults("quick")
    rest = [variant for variant in one.variants if variant not in usual]
    table.add_row("agents", ", ".join(usual))
    if rest:
        table.add_row("if named", ", ".join(rest))
    table.add_row("seeds", str(one.seeds))
    console.print(table)


def _cost(experiment: Experiment) -> float | None:
    """Of a quick run; not known where the experiment needs a package that is not there."""
    try:
        return seconds(experiment, experiment.settings("quick"))
    except ValueError:
        return None


def seconds(experiment: Experiment, settings: object) -> float | None:
    """What one run costs on this machine, measured now."""
    os.environ.setdefault("NPROC", "1")  # as in a run's own process
    return experiment.seconds(settings)


def verify(folder: options.Where, as_json: ForPrograms = False) -> None:
    """Check every checkpoint, manifest, metrics line and config."""
    with refusing(RunError), working("checking"):
        result = verifying.verify(folder)
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


def claims(folder: options.Where, as_json: ForPrograms = False) -> None:
    """What the paper says, what the runs say, and whether it holds."""
    with refusing(RunError), working("reading"):
        groups, problems, _ = gather.together(folder)
        found = {}
        for group in groups:
            name, runs = group.experiment.name, gather.load(folder, group, problems)
            try:
                found[name] = group.judge(runs)
            except Exception as error:  # records that the experiment never wrote
                problems.append(f"{name} cannot be judged: {type(error).__name__}: {error}")
    states = [row.state for group in groups for row in group.rows]
    if unfinished := sum(state != "done" for state in states):
        typer.echo(f"{unfinished} of {len(states)} runs are not finished", err=True)
    if as_json:
        plain = {name: [c._asdict() for c in claims] for name, claims in found.items()}
        typer.echo(json.dumps(plain, indent=1, ensure_ascii=False))
    else:
        for name, claims in found.items():
            Console().print(findings_table(name, claims))
    left_out(problems)
    raise typer.Exit(int(bool(problems)))


def export(
    folder: options.Where,
    to: Annotated[Path, typer.Option(help="The file to write.")] = Path("metrics.csv"),
    form: Annotated[Literal["csv"], typer.Option("--format", help="Of the file.")] = "csv",
) -> None:
    """Write the metrics of all runs as one table."""
    if to.suffix not in ("", f".{form}"):
        refuse(f"--to {to}: what is written is {form.upper()}; choose a name that ends in .{form}")
    if to.is_dir():
        refuse(f"--to {to}: is a folder; name a file, such as {to / 'metrics.csv'}")
    if not to.parent.is_dir():
        refuse(f"--to {to}: there is no folder {to.parent}; make it, or choose another")
    with refusing(RunError, OSError), working("reading"):
        lines, problems = export_csv(folder, to)
    say(Console(), printable(f"{to}: {lines} lines"))
    left_out(f"{problem.folder}: {problem.text}" for problem in problems)
    raise typer.Exit(int(bool(problems)))

"""The command ``bennafusi``.

Whatever is slow to import is imported by the command that needs it, so that help comes at once.
"""

from __future__ import annotations

import dataclasses
import difflib
import errno
import io
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from bennafusi.report.html import Section

app = typer.Typer(
    name="bennafusi",
    help="Benna-Fusi synapses: run an experiment, get figures, numbers and a report.",
    epilog="Example: [bold]bennafusi run memory[/bold]",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    no_args_is_help=True,
    add_completion=False,
)


class Scale(StrEnum):
    """How much of an experiment to run."""

    SMOKE = "smoke"
    QUICK = "quick"
    PAPER = "paper"


class Outcome(NamedTuple):
    """What an experiment hands to the report."""

    section: Section
    settings: dict[str, object]
    versions: dict[str, str]


class Experiment(NamedTuple):
    """An experiment by what it shows, and the function that runs it into a folder."""

    summary: str
    run: Callable[[Scale, int, Path, Console], Outcome]


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
) -> None:
    """Benna-Fusi synapses: run an experiment, get figures, numbers and a report."""
    if version:
        from importlib.metadata import version as installed

        Console().print(f"bennafusi {installed('bennafusi')}", highlight=False)
        raise typer.Exit


@app.command(name="list")
def list_experiments() -> None:
    """List the experiments."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, experiment in EXPERIMENTS.items():
        table.add_row(f"[bold]{name}[/bold]", experiment.summary)
    Console().print(table)


@app.command(
    epilog="Examples:\n\n"
    "[bold]bennafusi run memory[/bold]\n\n"
    "[bold]bennafusi run memory --scale smoke --out try[/bold]"
)
def run(
    experiment: Annotated[str, typer.Argument(help="Its name; see [bold]bennafusi list[/bold].")],
    scale: Annotated[Scale, typer.Option(help="How much of it to run.")] = Scale.QUICK,
    out: Annotated[
        Path | None, typer.Option(help="Output folder.", show_default="runs/EXPERIMENT")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all randomness.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Run an experiment: figures, numbers (JSON) and report.html."""
    if experiment not in EXPERIMENTS:
        close = difflib.get_close_matches(experiment, EXPERIMENTS, n=1, cutoff=0.5)
        hint = f"Did you mean {close[0]!r}?" if close else f"There is: {', '.join(EXPERIMENTS)}."
        _refuse(f"unknown experiment {experiment!r}. {hint}")
    folder = Path("runs", experiment) if out is None else out
    try:
        _prepare(folder)
    except OSError as error:
        if debug:
            raise
        _refuse(f"cannot write to --out {folder}: {error.strerror or error}")
    command = ["bennafusi", "run", experiment, "--scale", scale.value, "--seed", str(seed)]
    try:
        _run(EXPERIMENTS[experiment], scale, seed, folder, shlex.join(command), quiet)
    except KeyboardInterrupt:
        _refuse("interrupted", 130)
    except Exception as error:
        if debug:
            raise
        _refuse(f"{type(error).__name__}: {error}\nRun again with --debug to see where.", 1)


def main() -> None:
    """Entry point of the command."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± must not end a run
    app(prog_name="bennafusi")


def _run(
    experiment: Experiment, scale: Scale, seed: int, folder: Path, command: str, quiet: bool
) -> None:
    console = Console(quiet=quiet)
    began = time.perf_counter()
    outcome = experiment.run(scale, seed, folder, console)
    seconds = time.perf_counter() - began

    from bennafusi.report import html

    provenance = html.Provenance(command, seconds, outcome.versions, outcome.settings)
    page = folder / "report.html"
    html.write(page, "Benna-Fusi synapses", [outcome.section], provenance)
    console.print(_table(outcome.section))
    console.print(f"report: {escape(str(page))}", highlight=False, soft_wrap=True)


def _memory(scale: Scale, seed: int, folder: Path, console: Console) -> Outcome:
    from bennafusi.experiments import memory
    from bennafusi.report import html

    whole = memory.MemorySettings(seed=seed)
    settings = memory.MemorySettings.smoke(seed) if scale is Scale.SMOKE else whole
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("simulating", total=len(settings.beakers) * settings.repeats)
        result = memory.run(settings, lambda: progress.advance(task))
        progress.update(task, description="drawing")
        found = memory.findings(result)
        drawings = memory.figures(result, folder)
        memory.save(result, found, folder / "memory.json")
    section = html.Section(
        title="How long is a memory kept?",
        lead=(
            "Random patterns are stored one after another in chains of different length. How far "
            "does an old one still stand out, and for how long? Exact theory, and a simulation by "
            "the integrator that the optimisers use."
        ),
        findings=[html.Finding(*finding) for finding in found],
        pictures=[html.Picture(d.title, d.caption, d.svg) for d in drawings],
    )
    return Outcome(section, dataclasses.asdict(settings), memory.versions())


EXPERIMENTS = {
    "memory": Experiment(
        "how long random patterns stand out, by theory and simulation (about 20 s)", _memory
    ),
}


def _prepare(folder: Path) -> None:
    """Make the folder and see that a file can be written there."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def _table(section: Section) -> Table:
    table = Table(title=section.title, title_justify="left", show_lines=True)
    for column in ("finding", "expected", "measured", "holds"):
        table.add_column(column)
    for finding in section.findings:
        verdict = "[green]yes[/green]" if finding.holds else "[bold red]NO[/bold red]"
        texts = (finding.statement, finding.expected, finding.measured)
        table.add_row(*map(escape, texts), verdict)
    return table


def _refuse(message: str, code: int = 2) -> NoReturn:
    sys.stderr.write(f"error: {message}\n")
    raise typer.Exit(code)


if __name__ == "__main__":
    main()

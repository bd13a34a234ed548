"""The command ``bennafusi``.

Whatever is slow to import is imported by the command that needs it.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bennafusi.cli import engines, given, look, report, results, slurm_script, status, train, watch
from bennafusi.cli.catalogue import UnknownError, find, make_job
from bennafusi.cli.run import Outcome, Request, Scale, check, execute, shown, write_report
from bennafusi.cli.show import refuse
from bennafusi.cli.sweep import axes
from bennafusi.runs.engine import PATIENCE, RETRIES

app = typer.Typer(
    name="bennafusi",
    help="Benna-Fusi synapses: run an experiment, get figures, numbers and a report.",
    epilog="Example: [bold]bennafusi run memory[/bold]",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    no_args_is_help=True,
    add_completion=False,
)
look.register(app)
results.register(app)
status.register(app)
report.register(app)
train.register(app)
watch.register(app)
slurm_script.register(app)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Benna-Fusi synapses: run an experiment, get figures, numbers and a report."""
    del debug  # main looks at it, for all commands
    if version:
        from importlib.metadata import version as installed

        Console().print(f"bennafusi {installed('bennafusi')}", highlight=False)
        raise typer.Exit


@app.command(
    epilog="Examples:\n\n"
    "[bold]bennafusi run memory[/bold]\n\n"
    "[bold]bennafusi run grid-switch --seeds 3 --workers 2[/bold]\n\n"
    "[bold]bennafusi run fig2 --scale smoke --variants control,modified --out try[/bold]\n\n"
    "Stopped or interrupted, the same command continues where it was."
)
def run(
    experiments: Annotated[
        list[str], typer.Argument(help="Their names; see [bold]bennafusi list[/bold].")
    ],
    scale: Annotated[Scale, typer.Option(help="How much of it to run.")] = Scale.QUICK,
    seeds: given.Seeds = 3,
    seed: given.FirstSeed = 0,
    variants: given.Variants = "",
    workers: Annotated[
        int, typer.Option(min=0, help="Runs at a time.", show_default="as many as cores")
    ] = 0,
    change: given.Changes = None,
    grid: given.Grid = None,
    out: Annotated[
        Path | None, typer.Option(help="Output folder.", show_default="runs/EXPERIMENT")
    ] = None,
    engine: Annotated[
        engines.Name, typer.Option(help="What starts the runs: this machine, or Dask workers.")
    ] = engines.Name.LOCAL,
    address: Annotated[
        str, typer.Option(help="Of a Dask scheduler; without it, one of this machine alone.")
    ] = "",
    slurm: Annotated[
        str,
        typer.Option(
            metavar="NAME=VALUE,...", help="Dask workers as Slurm jobs: partition=...,walltime=..."
        ),
    ] = "",
    tls_ca: Annotated[Path | None, typer.Option(help="Authority, for tls:// addresses.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Our certificate, for tls://.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, for tls://.")] = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds to wait for a Dask scheduler that is gone.")
    ] = PATIENCE,
    retries: Annotated[
        int, typer.Option(min=0, max=1000, help="Of a lost run, without a new checkpoint.")
    ] = RETRIES,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Run experiments: figures, numbers, claims and report.html."""
    try:
        entries = [find(name) for name in dict.fromkeys(experiments)]
    except UnknownError as error:
        refuse(error)
    if any(entry.name == train.EXPERIMENT for entry in entries):
        refuse("train: has a command of its own; see bennafusi train --help")
    folder = Path("runs", "-".join(entry.name for entry in entries)) if out is None else out
    request = Request(
        scale,
        range(seed, seed + seeds),
        tuple(name for name in variants.split(",") if name),
        0 if address else workers or os.cpu_count() or 1,
        given.changes(change or []),
        folder,
        retries,
        axes(grid or []),
    )
    if request.axes and len(entries) > 1:
        refuse("--sweep: name one experiment; each has settings of its own")
    if address and workers:
        refuse(f"--workers {workers}: the cluster at --address has its own; leave it out")
    tls = {"--tls-ca": tls_ca, "--tls-cert": tls_cert, "--tls-key": tls_key}
    asked = engines.wanted(engine, address, slurm, tls, patience)
    if asked.name is not engines.Name.LOCAL and not any(entry.durable for entry in entries):
        refuse(f"--engine {engine}: {entries[0].name} is not made of runs; leave it out")
    command = shlex.join(["bennafusi", *_words(sys.argv[1:])])
    console = Console(quiet=quiet)
    try:
        plans = {entry.name: check(entry, request) for entry in entries}
        outcomes: dict[str, Outcome] = {}
        with engines.opened(asked, request.workers) as make_engine:
            given.prepare(folder)
            for entry in entries:
                plan = plans[entry.name]
                outcomes[entry.name] = execute(entry, request, plan, console, make_engine)
        for outcome in outcomes.values():
            console.print(shown(outcome, request))
        write_report(folder, outcomes, command if request.axes else "", console)
    except KeyboardInterrupt:
        refuse("interrupted; the same command continues", 75)
    except (typer.Exit, SystemExit):
        raise
    except Exception as error:
        if debug:
            raise
        refuse(f"{type(error).__name__}: {error}\nRun again with --debug to see where.", 1)


@app.command(hidden=True)
def work(
    folder: Path,
    stop_after: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Save and stop; 0 is never.")
    ] = 0.0,
) -> None:
    """Run or resume the run in one folder; started by the other commands."""
    from bennafusi.runs import signals, worker

    with signals.watching() as stop:
        signals.end_with_parent()
        if stop_after:
            stop.after(stop_after)
        code = worker.work(folder, make_job, stop=stop)
        sys.stdout.flush()
        sys.stderr.flush()
        # With the handlers still standing: a signal that comes late must not turn the exit code of
        # a run that has ended into another one. All its files are closed.
        os._exit(code)


def main() -> None:
    """Entry point of the command."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± must not end a run
    try:
        app(prog_name="bennafusi")
    except BrokenPipeError:  # whoever read this has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        text = f"error: {type(error).__name__}: {error}\nbennafusi --debug ... shows where.\n"
        sys.stderr.write(text)
        sys.exit(1)


_PRIVATE = ("--out", "--address", "--tls-ca", "--tls-cert", "--tls-key")


def _words(words: list[str]) -> list[str]:
    """The command without where it wrote and whom it talked to: a report may be handed on."""
    kept, skip = [], False
    for word in words:
        if not skip and not word.startswith(tuple(f"{name}=" for name in _PRIVATE)):
            skip = word in _PRIVATE
            if not skip:
                kept.append(word)
        else:
            skip = False
    return kept

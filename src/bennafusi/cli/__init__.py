"""The command ``bennafusi``.

Whatever is slow to import is imported by the command that needs it.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bennafusi.cli import (
    readonly,
    report_command,
    run_command,
    slurm_script,
    status_command,
    train_command,
    watch,
)
from bennafusi.cli.jobs import make_job
from bennafusi.runs import environment

app = typer.Typer(
    name="bennafusi",
    help="Benna-Fusi synapses: run an experiment, get figures, numbers and a report.",
    epilog="Example: [bold]bennafusi run memory[/bold]",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    no_args_is_help=True,
)
for _command, _name, _epilog in (
    (run_command.run, "run", run_command.EPILOG),
    (train_command.train, "train", train_command.EPILOG),
    (watch.watch, "watch", watch.EPILOG),
    (report_command.report, "report", report_command.EPILOG),
    (readonly.list_experiments, "list", "Example: [bold]bennafusi list --cost[/bold]"),
    (readonly.claims, "claims", "Example: [bold]bennafusi claims runs/grid-switch --json[/bold]"),
    (readonly.verify, "verify", "Example: [bold]bennafusi verify runs/grid-switch[/bold]"),
    (readonly.export, "export", "Example: [bold]bennafusi export runs/grid-switch[/bold]"),
    (report_command.results, "results", report_command.RESULTS_EPILOG),
    (status_command.status, "status", status_command.EPILOG),
    (slurm_script.slurm_script, "slurm-script", slurm_script.EPILOG),
):
    app.command(name=_name, epilog=_epilog)(_command)


@app.callback(invoke_without_command=True)
def top(
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Benna-Fusi synapses: run an experiment, get figures, numbers and a report."""
    del debug  # main looks at it, for all commands
    if version:
        from importlib.metadata import version as installed

        Console().print(f"bennafusi {installed('bennafusi')}", highlight=False)
        raise typer.Exit


@app.command(hidden=True)
def work(
    folder: Path,
    stop_after: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Save and stop; 0 is never.")
    ] = 0.0,
) -> None:
    """Run or resume the run in one folder; started by the other commands."""
    from bennafusi.runs import signals, worker

    os.environ.setdefault("NPROC", "1")  # the number of visible cores changes XLA's bits
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
    for text in environment.settle(os.environ):  # JAX is not there yet, and children inherit it
        sys.stderr.write(f"note: {text}\n")
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

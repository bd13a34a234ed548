"""``bennafusi results``: claims, figures and numbers as a folder of small files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bennafusi.cli import gather, options, sections
from bennafusi.cli.printing import findings_table, left_out, refusing, say
from bennafusi.files import RunError, printable
from bennafusi.report import results_folder


def results(
    folder: options.Where,
    to: Annotated[
        Path | None, typer.Option(help="Where to write.", show_default="the same folder")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write claims, numbers and figures of the runs there are, finished or not."""
    console = Console(quiet=quiet)
    with refusing(RunError, OSError):
        groups, problems = gather.together(folder)
        for group in groups:
            name = group.experiment.name
            where = (to or folder) / name
            with console.status(f"{name}: reading and drawing"):
                runs = gather.load(folder, group, problems)
                section = sections.make(group, runs, folder, where / "figures", None, kept=True)
                results_folder.write(where, section)
            console.print(findings_table(name, section.findings))
            say(console, printable(f"{where}"))
    left_out(problems)
    raise typer.Exit(int(bool(problems)))

"""``bennafusi results``: claims, figures and numbers as a folder of small files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bennafusi.cli import gather, options, sections
from bennafusi.cli.printing import findings_table, left_out, refuse
from bennafusi.files import RunError, printable
from bennafusi.report import results_folder


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: [bold]bennafusi results runs/two-task --to results[/bold]")(
        results
    )


def results(
    folder: Annotated[Path, typer.Argument(help="The folder given to --out, or a part of it.")],
    to: Annotated[
        Path | None, typer.Option(help="Where to write.", show_default="the same folder")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write claims, numbers and figures of the runs there are, finished or not."""
    console = Console(quiet=quiet)
    try:
        groups, problems = gather.together(folder)
        for group in groups:
            name = group.experiment.name
            where = (to or folder) / name
            with console.status(f"{name}: reading and drawing"):
                runs = gather.load(folder, group, problems)
                section = sections.make(group, runs, folder, where / "figures", None, kept=True)
                results_folder.write(where, section)
            console.print(findings_table(name, section.findings))
            console.print(printable(f"{where}"), highlight=False, markup=False, soft_wrap=True)
    except (RunError, OSError) as error:
        refuse(error)
    left_out(problems)
    raise typer.Exit(int(bool(problems)))

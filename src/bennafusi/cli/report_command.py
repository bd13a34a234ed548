"""What came out, written down: ``bennafusi report`` as one page, ``results`` as small files."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bennafusi.cli import gather, options, sections
from bennafusi.cli.playing import EpisodeCache
from bennafusi.cli.printing import findings_table, left_out, refuse, refusing, say
from bennafusi.files import RunError, printable
from bennafusi.report import results_folder

LOOK = 2.0  # seconds between two looks whether something has changed
EPILOG = (
    "Examples:\n\n"
    "[bold]bennafusi report runs/two-task[/bold]\n\n"
    "[bold]bennafusi report runs --out all.html --watch[/bold]\n\n"
    "The page needs no network and no server: open it from the disk, or hand it on."
)
RESULTS_EPILOG = "Example: [bold]bennafusi results runs/two-task --to results[/bold]"


def report(
    folder: Annotated[Path, typer.Argument(help="The folder given to --out, or one around it.")],
    out: Annotated[
        Path | None, typer.Option(help="The file to write.", show_default="FOLDER/report.html")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Write it anew whenever a run has gone on.")
    ] = False,
    play: Annotated[
        bool, typer.Option("--play/--no-play", help="Let trained agents play an episode.")
    ] = True,
    quiet: options.Quiet = False,
) -> None:
    """Write report.html: claims, figures, numbers, and things that move."""
    path = folder / "report.html" if out is None else out
    if path.is_dir():
        refuse(f"--out {path}: is a folder; name a file")
    if not path.parent.is_dir() and folder.exists():
        refuse(f"--out {path}: there is no folder {path.parent}; make it first")
    console, cache = Console(quiet=quiet), EpisodeCache() if play else None
    try:
        seen = gather.signature(folder)
        _write(path, folder, cache, console)
        while watch:
            time.sleep(LOOK)
            now = gather.signature(folder)
            if now != seen:
                seen = now
                _write(path, folder, cache, console)
    except KeyboardInterrupt:
        if not watch:
            refuse("interrupted; nothing was written", 130)
    except RunError as error:
        refuse(error)
    except OSError as error:
        refuse(f"cannot write {path}: {error.strerror or error}", 1)


def _write(path: Path, folder: Path, cache: EpisodeCache | None, console: Console) -> None:
    with console.status("reading, judging, drawing"):
        found = sections.write_page(path, folder, cache)
    states = [row.state for group in found.groups for row in group.rows]
    for problem in (*found.problems, *found.too_many):
        say(console, f"left out: {printable(problem)}")
    size = path.stat().st_size / 1e6
    text = f"{printable(os.fspath(path))}: {states.count('done')} of {len(states)} runs finished"
    say(console, f"{text}, {size:.1f} MB")


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
        groups, problems, _ = gather.together(folder)
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

"""``bennafusi slurm-script``: the runs of ``bennafusi run`` as arrays of plain Slurm jobs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bennafusi import files
from bennafusi.cli import engines, options, sweep
from bennafusi.cli.planning import Request, ask, check, prepared, seeds_of
from bennafusi.cli.printing import refuse, refusing, say
from bennafusi.cli.provenance import TRAIN
from bennafusi.experiments.registry import UnknownError, find
from bennafusi.runs import slurm

EPILOG = (
    "Example:\n\n[bold]bennafusi slurm-script grid-switch --seeds 50 --out runs/grid "
    "--partition short --walltime 2:00:00[/bold]\n\n"
    "Then sbatch each script it names. The same command writes the same scripts."
)


def slurm_script(
    experiment: Annotated[str, typer.Argument(help="Its name; see [bold]bennafusi list[/bold].")],
    out: Annotated[Path, typer.Option(help="Output folder, which all machines must see.")],
    partition: Annotated[str, typer.Option(help="Where to run.")],
    walltime: Annotated[str, typer.Option(help="Of one job; a longer run is queued again.")],
    scale: options.HowMuch = "quick",
    seeds: options.Seeds = None,
    seed: options.FirstSeed = 0,
    variants: options.Variants = None,
    change: options.Changes = None,
    grid: options.Grid = None,
    account: Annotated[str, typer.Option(help="Who pays.")] = "",
    qos: Annotated[str, typer.Option(help="Quality of service.")] = "",
    constraint: Annotated[str, typer.Option(help="Features of the nodes.")] = "",
    memory: Annotated[str, typer.Option(help="Of one job, such as 2G.")] = "2G",
    workers: Annotated[
        int, typer.Option(min=0, help="Jobs of an array at a time.", show_default="all")
    ] = 0,
    max_array: Annotated[int, typer.Option(min=1, help="The site's longest array.")] = 1000,
) -> None:
    """Plan the runs and write batch scripts that work on them."""
    asked = {"partition": partition, "walltime": walltime, "account": account, "qos": qos}
    asked |= {"constraint": constraint, "memory": memory}
    with refusing(slurm.SlurmError, before="--"):
        asked = slurm.check({name: value for name, value in asked.items() if value})
    with refusing(UnknownError):
        chosen = find(experiment)
    if chosen.name == TRAIN:
        refuse("train: has a command of its own, for one run; see bennafusi train --help")
    names = options.named(variants)
    changes, axes = options.changes(change or []), sweep.axes(grid or [])
    request = Request(scale, seeds_of(chosen, seed, seeds), names, 1, changes, out, 0, axes)
    plan = check(chosen, request)
    where, command = out.absolute() / "slurm", [sys.executable, *engines.WORK]
    with refusing(slurm.SlurmError, before="--out "):
        slurm.scripts(chosen.name, [], where, command, asked, max_array)  # before a folder is made
    ask(chosen, plan)
    options.prepare(out)
    folders = [folder.path.absolute() for folder in prepared(chosen, plan)]
    console = Console()
    with refusing(files.RunError):
        found = slurm.scripts(chosen.name, folders, where, command, asked, max_array, workers)
        files.own_folder(where)
        for script in found:
            lines = "".join(f"{path}\n" for path in script.folders)
            files.replace(where / f"{script.name}.list", lines.encode())
            files.replace(where / f"{script.name}.sh", script.text.encode())
            path = shlex.quote(str(out / "slurm" / f"{script.name}.sh"))
            say(console, f"sbatch {path}")

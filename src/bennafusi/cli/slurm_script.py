"""``bennafusi slurm-script``: the runs of ``bennafusi run`` as arrays of plain Slurm jobs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bennafusi.cli import engines, given, sweep
from bennafusi.cli.catalogue import UnknownError, find
from bennafusi.cli.run import Request, Scale, check, prepared
from bennafusi.cli.show import refuse


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        name="slurm-script",
        epilog="Example:\n\n[bold]bennafusi slurm-script grid-switch --seeds 50 --out runs/grid "
        "--partition short --walltime 2:00:00[/bold]\n\n"
        "Then sbatch each script it names. The same command writes the same scripts.",
    )(slurm_script)


def slurm_script(
    experiment: Annotated[str, typer.Argument(help="Its name; see [bold]bennafusi list[/bold].")],
    out: Annotated[Path, typer.Option(help="Output folder, which all machines must see.")],
    partition: Annotated[str, typer.Option(help="Where to run.")],
    walltime: Annotated[str, typer.Option(help="Of one job; a longer run is queued again.")],
    scale: Annotated[Scale, typer.Option(help="How much of it to run.")] = Scale.QUICK,
    seeds: given.Seeds = 3,
    seed: given.FirstSeed = 0,
    variants: given.Variants = "",
    change: given.Changes = None,
    grid: given.Grid = None,
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
    from bennafusi import files
    from bennafusi.runs import slurm

    options = {"partition": partition, "walltime": walltime, "account": account, "qos": qos}
    options |= {"constraint": constraint, "memory": memory}
    try:
        options = slurm.check({name: value for name, value in options.items() if value})
    except slurm.SlurmError as error:
        refuse(f"--{error}")
    try:
        entry = find(experiment)
    except UnknownError as error:
        refuse(error)
    if not entry.durable or entry.name == "train":
        refuse(f"{entry.name}: is not made of runs for a cluster; see bennafusi list")
    names = tuple(name for name in variants.split(",") if name)
    range_ = range(seed, seed + seeds)
    request = Request(scale, range_, names, 1, given.changes(change or []), out, 0)
    request = request._replace(axes=sweep.axes(grid or []))
    plan = check(entry, request)
    assert plan is not None  # it is made of runs
    where, command = out.absolute() / "slurm", [sys.executable, *engines.WORK]
    try:
        slurm.scripts(entry.name, [], where, command, options, max_array)  # refuses a bad --out
    except slurm.SlurmError as error:
        refuse(f"--out {error}")
    given.prepare(out)
    folders = [folder.path.absolute() for folder in prepared(entry, request, plan)]
    console = Console()
    try:
        found = slurm.scripts(entry.name, folders, where, command, options, max_array, workers)
        with files.storing(where):
            where.mkdir(exist_ok=True)
        for script in found:
            lines = "".join(f"{path}\n" for path in script.folders)
            files.replace(where / f"{script.name}.list", lines.encode())
            files.replace(where / f"{script.name}.sh", script.text.encode())
            path = shlex.quote(str(out / "slurm" / f"{script.name}.sh"))
            console.print(f"sbatch {path}", highlight=False, markup=False, soft_wrap=True)
    except files.RunError as error:
        refuse(error)

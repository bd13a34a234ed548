"""``--engine`` and the options that go with it: checked first, opened before any folder is made."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from bennafusi.cli import options
from bennafusi.cli.printing import refuse, refusing

if TYPE_CHECKING:
    from bennafusi.runs.engine import Engine

CONNECT = 10.0  # seconds to wait for a scheduler that was named
WORK = ("-m", "bennafusi.cli", "work")
_ADDRESS = re.compile(r"(?:tcp|tls)://(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}")


Name = Literal["local", "dask"]  # of what starts the processes of runs
# The options of a command that starts runs.
Engines = Annotated[Name, typer.Option(help="What starts the runs: this machine, or Dask workers.")]
Address = Annotated[
    str, typer.Option(help="Of a Dask scheduler; without it, one of this machine alone.")
]
Slurm = Annotated[
    str,
    typer.Option(
        metavar="NAME=VALUE,...", help="Dask workers as Slurm jobs: partition=...,walltime=..."
    ),
]
Authority = Annotated[Path | None, typer.Option(help="Authority, for tls:// addresses.")]
Certificate = Annotated[Path | None, typer.Option(help="Our certificate, for tls://.")]
Key = Annotated[Path | None, typer.Option(help="Its key, for tls://.")]
Patience = Annotated[
    float, typer.Option(min=0, help="Seconds to wait for a Dask scheduler that is gone.")
]
Retries = Annotated[
    int, typer.Option(min=0, max=1000, help="Of a lost run, without a new checkpoint.")
]


class Wanted(NamedTuple):
    """What the user asked for."""

    name: Name
    address: str  # of a scheduler that is there
    slurm: dict[str, str] | None  # options of jobs, None if Slurm is not wanted
    tls: tuple[Path, Path, Path] | None
    patience: float  # seconds to wait for a scheduler that is gone


def wanted(
    name: Name,
    address: str,
    slurm: str,
    tls: dict[str, Path | None],
    patience: float,
) -> Wanted:
    """The options, if they go together."""
    files = {option: path for option, path in tls.items() if path is not None}
    if name == "local":
        others = {"--address": address, "--slurm": slurm, **files}
        for option in [option for option, value in others.items() if value]:
            refuse(f"{option} {others[option]}: only with --engine dask")
        return Wanted(name, "", None, None, patience)
    options.need("--engine dask", "distributed", "dask")
    if not (address or slurm):  # a cluster of our own makes its certificates itself
        options.need("--engine dask", "cryptography", "dask")
    if address and slurm:
        refuse(f"--slurm {slurm}: not together with --address, which names a cluster that is there")
    if address and not _ADDRESS.fullmatch(address):
        refuse(f"--address {address}: must be tcp://HOST:PORT or tls://HOST:PORT")
    for option, path in files.items():
        if not (address.startswith("tls://") or slurm):
            refuse(f"{option} {path}: only with --address tls://HOST:PORT or --slurm")
        if not path.is_file():
            refuse(f"{option} {path}: there is no such file")
    if files and len(files) < len(tls):
        refuse(f"{', '.join(files)}: give all of {', '.join(tls)}")
    certificates = list(files.values())
    return Wanted(
        name,
        address,
        _jobs(slurm) if slurm else None,
        (certificates[0], certificates[1], certificates[2]) if files else None,
        patience,
    )


def _jobs(text: str) -> dict[str, str]:
    from bennafusi.runs import slurm

    found: dict[str, str] = {}
    for word in text.split(","):
        name, equals, value = word.partition("=")
        if not equals:
            refuse(f"--slurm {text}: must be partition=NAME,walltime=TIME,...")
        if name in found:
            refuse(f"--slurm {text}: {name} is given twice; leave one of them out")
        found[name] = value
    with refusing(slurm.SlurmError, before="--slurm "):
        slurm.check(found)
    if "walltime" not in found:
        refuse(f"--slurm {text}: add walltime=TIME, such as walltime=12:00:00")
    options.need("--slurm", "dask_jobqueue", "dask")
    if shutil.which("sbatch") is None:
        refuse("--slurm: there is no sbatch on this machine; use a login node of the cluster")
    return found


@contextlib.contextmanager
def opened(asked: Wanted, workers: int) -> Iterator[Callable[[], Engine]]:
    """A way to make the engine, once per experiment; the cluster stays for all of them."""
    if asked.name == "local":
        from bennafusi.runs.local import LocalEngine

        yield lambda: LocalEngine([sys.executable, *WORK], workers)
        return
    from distributed import Security

    from bennafusi.runs import dask_clusters
    from bennafusi.runs.dask_engine import DaskEngine
    from bennafusi.runs.engine import EngineError

    with contextlib.ExitStack() as stack:
        security = Security()
        if asked.tls:
            security = dask_clusters.certificates(*map(str, asked.tls))
        if asked.address:
            cluster = dask_clusters.Cluster(asked.address, security=security)
            with refusing(EngineError, before=f"--address {asked.address}: "):
                cluster.client(CONNECT).close()  # before anything is made
        elif asked.slurm:
            cluster = stack.enter_context(dask_clusters.slurm(asked.slurm, workers, security))
        else:
            cluster = stack.enter_context(dask_clusters.loopback(workers))
        yield lambda: DaskEngine(WORK, cluster, asked.patience)

"""What it costs to place runs: per run, per hour, and for ten thousand of them.

    python benchmarks/placing.py            # all parts, some minutes
    python benchmarks/placing.py --part many --runs 10000

An *empty run* is a Python that starts and ends; what placing adds to it is the overhead. A *smoke
run* is one of grid-switch at smoke scale, through the same worker as any run. Everything is removed
afterwards.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

EMPTY = ["-S", "-c", "pass"]
WORK = ["-m", "bennafusi.cli", "work"]
QUIET = Console(quiet=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--part", choices=["empty", "smoke", "many", "all"], default="all")
    parser.add_argument("--runs", type=int, default=10_000, help="how many are many")
    options = parser.parse_args()
    print("| what | local | dask |\n|---|---:|---:|", flush=True)
    if options.part in ("empty", "all"):
        empty()
    if options.part in ("smoke", "all"):
        smoke()
    if options.part in ("many", "all"):
        print("\n| what | seconds | of these CPU |\n|---|---:|---:|", flush=True)
        many(options.runs)


def planned(root: Path, runs: int):
    """Folders of runs at smoke scale."""
    from bennafusi.experiments import grid_switch
    from bennafusi.runs import plan
    from bennafusi.runs.config import to_json

    settings = to_json(grid_switch.settings("smoke"))
    return plan.prepare(root, plan.plan("grid-switch", ["control"], range(runs), settings))


@contextmanager
def dask(words: list[str], workers: int):
    """A way to make the engine of a cluster on loopback."""
    from bennafusi.runs.dask_clusters import loopback
    from bennafusi.runs.dask_engine import DaskEngine

    with loopback(workers) as cluster:
        yield lambda: DaskEngine(words, cluster)


@contextmanager
def local(words: list[str], workers: int):
    """A way to make the local engine."""
    from bennafusi.runs.local import LocalEngine

    yield lambda: LocalEngine([sys.executable, *words], workers)


def seconds(engine: Callable, words: list[str], workers: int, runs: int) -> float:
    """Of placing so many runs; starting a cluster is left out, a first run through it, too."""
    from bennafusi.runs.placing import place_all

    with tempfile.TemporaryDirectory() as root, engine(words, workers) as make:
        place_all(planned(Path(root, "warm"), 1), make(), QUIET)
        folders = planned(Path(root, "measured"), runs)
        began = time.perf_counter()
        outcome = place_all(folders, make(), QUIET)
        took = time.perf_counter() - began
    assert outcome.code == 0, outcome
    return took


def empty(runs: int = 40) -> None:
    """What placing adds to a process."""
    began = time.perf_counter()
    for _ in range(runs):
        subprocess.run([sys.executable, *EMPTY], check=True)
    alone = (time.perf_counter() - began) / runs
    cells = []
    for engine in (local, dask):
        cells.append(f"{(seconds(engine, EMPTY, 1, runs) / runs - alone) * 1000:.0f} ms")
    print(f"| overhead of a run, one at a time | {' | '.join(cells)} |", flush=True)


def smoke(runs: int = 4) -> None:
    """Real runs, though short ones."""
    for workers in (1, 2):
        took = [seconds(engine, WORK, workers, runs) for engine in (local, dask)]
        cells = " | ".join(f"{runs / t * 3600:,.0f}" for t in took)
        print(f"| smoke runs an hour, {workers} at a time | {cells} |", flush=True)


def many(runs: int) -> None:
    """Planning and looking, without running."""
    from bennafusi.experiments import grid_switch
    from bennafusi.runs import plan
    from bennafusi.runs.config import to_json
    from bennafusi.runs.overview import Overview

    settings = to_json(grid_switch.settings("smoke"))
    before = memory()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        overview = Overview(root)
        specs = plan.plan("grid-switch", ["control"], range(runs), settings)
        steps = {
            "make the folders": lambda: plan.prepare(root, specs),
            "the same command again": lambda: (
                plan.check_neighbours(root, specs[0]),
                plan.prepare(root, specs),
            ),
            "first look (status)": overview.rows,
            "each further look (status --watch)": overview.rows,
            "the whole command status": lambda: subprocess.run(
                [sys.executable, "-m", "bennafusi.cli", "status", name],
                check=True,
                stdout=subprocess.DEVNULL,
            ),
        }
        for what, step in steps.items():
            wall, cpu = time.perf_counter(), used()
            step()
            wall, cpu = time.perf_counter() - wall, used() - cpu
            print(f"| {runs:,} runs: {what} | {wall:.1f} | {cpu:.1f} |", flush=True)
        print(f"\n{(memory() - before) / runs:.1f} kB of memory per run", flush=True)


def used() -> float:
    """Seconds of CPU of this process and its children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def memory() -> int:
    """The most this process had, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":  # Dask's workers import this file
    main()

"""From runs to results: claims, figures and numbers, as files and for a report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console

from bennafusi.cli.catalogue import Entry, UnknownError, find
from bennafusi.cli.show import findings_table, refuse, show_problems
from bennafusi.cli.words import WORDS
from bennafusi.results import Finding, Picture, RunData, Section, Table

if TYPE_CHECKING:
    from bennafusi.runs.load import Loaded, Problem
    from bennafusi.runs.status import Row

T = TypeVar("T")


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
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Write claims, numbers and figures of the runs there are, finished or not."""
    from bennafusi.files import RunError
    from bennafusi.runs import status

    console = Console(quiet=quiet)
    try:
        entries, problems = experiments(status.summary(folder))
        show_problems(problems)
        for entry in entries:
            with console.status(f"{entry.name}: reading and drawing"):
                section = judge(entry, folder, to or folder)
            console.print(findings_table(entry.name, section.findings))
            where = (to or folder) / entry.name
            console.print(f"{where}", highlight=False, markup=False, soft_wrap=True)
    except (RunError, OSError) as error:
        refuse(error)


def experiments(rows: Sequence[Row]) -> tuple[list[Entry], list[Problem]]:
    """Which experiments runs are of, and those that are of none we know."""
    from bennafusi.runs.load import Problem

    entries, problems = {}, []
    for row in rows:
        try:
            if row.state == "unreadable":
                raise UnknownError(row.reason)
            entries[row.experiment] = find(row.experiment)
        except UnknownError as error:
            problems.append(Problem(row.folder, str(error)))
    return list(entries.values()), problems


def judge(entry: Entry, root: Path, to: Path) -> Section:
    """Claims, figures and numbers of an experiment's runs below a folder, written elsewhere.

    Args:
        entry: the experiment.
        root: where its runs are.
        to: the results go to ``to/EXPERIMENT``.
    """
    from bennafusi.files import own_folder
    from bennafusi.report import folder as files
    from bennafusi.runs import status

    module, folder = entry.load(), to / entry.name
    own_folder(folder)
    runs, problems = load_runs(root, entry.name)
    show_problems(problems)
    found = section(
        entry, module.claims(runs), module.figures(runs, folder / "figures"), module.numbers(runs)
    )
    rows = [row for row in status.summary(root) if row.experiment == entry.name]
    files.write(folder, found, entry.name, _about(entry, rows), runs_table(rows))
    return found


def write_memory(entry: Entry, found: Section, folder: Path, seed: int, smoke: bool) -> None:
    """The results of ``memory``, which is one run that keeps no folder."""
    from bennafusi.experiments.memory.experiment import versions
    from bennafusi.report import folder as files

    about = [_code(memory_command(entry, seed, smoke)), _versions(versions())]
    files.write(folder, found, entry.name, about, Table("runs", "One run", ("seed",), [(seed,)]))


def memory_command(entry: Entry, seed: int, smoke: bool) -> list[str]:
    """The command that makes such a run of ``memory``."""
    words = ["bennafusi", "run", entry.name, *(["--scale", "smoke"] if smoke else [])]
    return [*words, *(["--seed", str(seed)] if seed else [])]


def section(
    entry: Entry, findings: Sequence[Finding], pictures: Sequence[Picture], tables: Sequence[Table]
) -> Section:
    """What an experiment hands to a report."""
    words = WORDS[entry.name]
    return Section(
        title=words.title,
        lead=words.lead,
        see=words.see,
        findings=findings,
        pictures=pictures,
        tables=tables,
    )


def load_runs(root: Path, experiment: str) -> tuple[list[RunData], list[Problem]]:
    """The records of every run of an experiment below a folder, and what is wrong with others."""
    from bennafusi.files import RunError
    from bennafusi.runs.load import load_all

    loaded = load_all(root, lambda spec: spec.experiment == experiment)
    seen: dict[tuple[str, int], Path] = {}
    for run in loaded.runs:
        first, here = loaded.runs[0], run.folder.path
        if run.spec.settings != first.spec.settings:
            raise RunError(
                f"{first.folder.path} and {here} have different settings and cannot be judged "
                "together; name a folder that holds one of them"
            )
        if seen.setdefault((run.spec.variant, run.spec.seed), here) != here:
            raise RunError(f"{here}: {run.spec.variant}, seed {run.spec.seed} is there twice")
    runs, problems = run_data(loaded)
    return in_order(find(experiment), runs), problems


def run_data(loaded: Loaded) -> tuple[list[RunData], list[Problem]]:
    """Runs that have begun, for an experiment to judge; each of its records has a kind."""
    from bennafusi.runs.load import Problem

    runs, problems = [], list(loaded.problems)
    for run in loaded.runs:
        if not all(isinstance(record.get("kind"), str) for record in run.records):
            problems.append(Problem(run.folder.path, "metrics.jsonl has a line without a kind"))
        elif run.folder.metrics.exists():
            seconds = run.status.seconds if run.over else None
            runs.append(RunData(run.spec.variant, run.spec.seed, run.records, seconds))
    return runs, problems


def in_order(entry: Entry, runs: Sequence[T]) -> list[T]:
    """Runs, or rows about them, as an experiment's figures have them: by variant, then by seed."""
    order = {name: place for place, name in enumerate(entry.load().VARIANTS)}

    def place(run: Any) -> tuple[int, str, int]:
        return order.get(run.variant, len(order)), run.variant, run.seed

    return sorted(runs, key=place)


def runs_table(rows: Sequence[Row]) -> Table:
    """How far each run is."""
    cells = [
        (r.variant, r.seed, r.state, f"{r.done / r.total if r.total else 0:.0%}", r.seconds)
        for r in rows
    ]
    names = ("variant", "seed", "state", "done", "seconds of work")
    return Table("runs", "How far each run is", names, cells)


def _about(entry: Entry, rows: Sequence[Row]) -> list[str]:
    """How to get these results again, what made them, and how much of it there is."""
    from bennafusi.runs.folder import Folder

    spec, environment = Folder(rows[0].folder).read_config()
    about = [_code(command(entry, spec.settings, rows)), _versions(environment or {})]
    done = sum(row.state == "done" for row in rows)
    if done < len(rows):
        about.append(f"**{done} of {len(rows)} runs are finished**; the table of runs says more.")
    return about


def command(entry: Entry, settings: Mapping[str, Any], rows: Sequence[Row]) -> list[str]:
    """The command that makes these runs; what differs from the nearest scale is set by hand."""
    from bennafusi.runs.config import differences, to_json

    module = entry.load()
    changes = {
        scale: differences(settings, to_json(module.settings(scale)))
        for scale in ("paper", "quick", "smoke")
    }
    scale = min(changes, key=lambda name: len(changes[name]))
    seeds = sorted({row.seed for row in rows})
    variants = [name for name in module.VARIANTS if name in {row.variant for row in rows}]
    span = seeds[-1] - seeds[0] + 1  # seeds that are missing in between are run as well
    words = ["bennafusi", "run", entry.name, "--scale", scale, "--seeds", str(span)]
    words += ["--seed", str(seeds[0])] if seeds[0] else []
    if tuple(variants) != tuple(module.DEFAULT_VARIANTS):
        words += ["--variants", ",".join(variants)]
    for name, value in changes[scale].items():
        words += ["--set", f"{name}={option(value)}"]
    return words


def option(value: object) -> str:
    """A setting as ``--set`` takes it.

    Example:
        >>> option([100, 50]), option(None), option(1e-3)
        ('100,50', 'none', '0.001')
    """
    if isinstance(value, list | tuple):
        return ",".join(map(option, value))
    return "none" if value is None else str(value)


def _code(words: Sequence[str]) -> str:
    return f"```\n{shlex.join(words)}\n```"


def _versions(environment: Mapping[str, Any]) -> str:
    known = [f"{name} {value}" for name, value in environment.items() if value is not None]
    return f"Made with {', '.join(known)}." if known else ""

"""``bennafusi run``: plan, run, judge, report."""

from __future__ import annotations

import dataclasses
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bennafusi.cli import results, show
from bennafusi.cli.catalogue import Entry, suggestion
from bennafusi.cli.show import refuse, settle

if TYPE_CHECKING:
    from bennafusi.report.content import Section


class Scale(StrEnum):
    """How much of an experiment to run."""

    SMOKE = "smoke"
    QUICK = "quick"
    PAPER = "paper"


class Request(NamedTuple):
    """What the user asked of one experiment, as far as it can be said before loading it."""

    scale: Scale
    seeds: range
    variants: tuple[str, ...]
    workers: int
    changes: dict[str, str]
    out: Path


class Outcome(NamedTuple):
    """What an experiment hands to the report."""

    section: Section
    settings: dict[str, Any]


def check(entry: Entry, request: Request) -> Any:
    """The experiment's settings; refuses what does not fit before anything is made."""
    from bennafusi.runs.config import ConfigError, with_changes

    module = entry.load()
    if not entry.durable:
        given = {"--variants": request.variants, "--set": request.changes}
        for option in [name for name, value in given.items() if value]:
            refuse(f"{option}: {entry.name} has none; leave it out")
        return None
    for name in request.variants:
        if name not in module.VARIANTS:
            refuse(f"unknown variant {name!r} of {entry.name}. {suggestion(name, module.VARIANTS)}")
    if len(set(request.variants)) < len(request.variants):
        refuse(f"--variants {','.join(request.variants)}: one is there twice")
    try:
        settings = with_changes(module.settings(request.scale.value), request.changes)
        for name in request.variants or module.DEFAULT_VARIANTS:
            module.Job(name, request.seeds[0], settings)  # what it changes must fit as well
        return settings
    except (ConfigError, ValueError, TypeError) as error:
        refuse(f"--set {error}")


def execute(entry: Entry, request: Request, settings: Any, console: Console) -> Outcome:
    """Run one experiment to its end."""
    if entry.durable:
        return _durable(entry, request, settings, console)
    return _memory(entry, request, console)


def _durable(entry: Entry, request: Request, settings: Any, console: Console) -> Outcome:
    from bennafusi.runs import local, plan, progress
    from bennafusi.runs.config import to_json
    from bennafusi.runs.disk import RunError

    names = request.variants or entry.load().DEFAULT_VARIANTS
    try:
        specs = plan.plan(entry.name, names, request.seeds, to_json(settings))
        plan.check_neighbours(request.out, specs[0])
        folders = plan.prepare(request.out, specs)
    except RunError as error:
        refuse(error)
    console.print(f"{entry.name}: {len(specs)} runs, {request.workers} at a time", highlight=False)
    if request.scale is Scale.PAPER:
        left = sum(progress.actual(folder).state != "done" for folder in folders)
        rounds = left / min(request.workers, max(left, 1))
        cost = show.duration(rounds * entry.seconds()) if left else "nothing"
        console.print(f"left to do: {cost}, by a measurement on this machine", highlight=False)
    command = [sys.executable, "-m", "bennafusi.cli", "work"]
    outcome = local.run_all(folders, command, request.workers, console)
    settle(outcome, len(specs), request.out)
    section = results.judge(entry, request.out, request.out)
    return Outcome(section, dataclasses.asdict(settings))


def _memory(entry: Entry, request: Request, console: Console) -> Outcome:
    memory = entry.load()
    folder = request.out / entry.name
    folder.mkdir(parents=True, exist_ok=True)
    seed = request.seeds[0]
    smoke = request.scale is Scale.SMOKE
    settings = memory.MemorySettings.smoke(seed) if smoke else memory.MemorySettings(seed=seed)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("simulating", total=len(settings.beakers) * settings.repeats)
        result = memory.run(settings, lambda: progress.advance(task))
        progress.update(task, description="drawing")
        found = memory.findings(result)
        drawings = memory.figures(result, folder)
        memory.save(result, found, folder / "memory.json")
    section = results.section(entry, found, drawings, memory.numbers(result))
    results.write_memory(entry, section, folder, seed, smoke)
    return Outcome(section, dataclasses.asdict(settings))


def write_report(folder: Path, outcomes: dict[str, Outcome], console: Console) -> None:
    """One page for everything in the folder; what was judged just now is not judged again."""
    from bennafusi.cli import pages

    path = folder / "report.html"
    with console.status("report"):
        pages.write(path, folder, pages.Plays(), {n: o.section for n, o in outcomes.items()})
    console.print(f"report: {escape(os.fspath(path))}", highlight=False, soft_wrap=True)

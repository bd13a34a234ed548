"""``bennafusi run``: plan, run, judge, report."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bennafusi.cli import results, show, sweep
from bennafusi.cli.catalogue import Entry, suggestion
from bennafusi.cli.show import refuse, settle
from bennafusi.results import Section

if TYPE_CHECKING:
    from rich.table import Table

    from bennafusi.runs.engine import Engine
    from bennafusi.runs.folder import Folder

MOST_ROWS = 40  # of a table on screen


class Scale(StrEnum):
    """How much of an experiment to run."""

    SMOKE = "smoke"
    QUICK = "quick"
    PAPER = "paper"


class Request(NamedTuple):
    """What the user asked of one experiment, as far as it can be said before loading it.

    Attributes:
        scale: how much of it.
        seeds: which.
        variants: which, or all if none is named.
        workers: runs at a time, 0 if that is for a cluster to say.
        changes: of settings, by field.
        out: the output folder.
        retries: how often a lost run is placed again without a new checkpoint.
    """

    scale: Scale
    seeds: range
    variants: tuple[str, ...]
    workers: int
    changes: dict[str, str]
    out: Path
    retries: int
    axes: tuple[sweep.Axis, ...] = ()


class Plan(NamedTuple):
    """What is to be run of one experiment.

    Attributes:
        variants: their names.
        settings: of all runs, but for what a sweep changes.
        points: of the sweep; one that changes nothing if there is none.
    """

    variants: tuple[str, ...]
    settings: Any
    points: list[Point]


class Point(NamedTuple):
    """Runs with the same settings: where they lie, and what a sweep changes there."""

    root: Path
    settings: Any
    values: dict[str, str]


class Outcome(NamedTuple):
    """What an experiment hands to the report."""

    section: Section
    settings: dict[str, Any]


def check(entry: Entry, request: Request) -> Plan | None:
    """What is to be run; refuses what does not fit before anything is made."""
    from bennafusi.runs.config import ConfigError, with_changes

    module = entry.load()
    if not entry.durable:
        asked = {"--variants": request.variants, "--set": request.changes, "--sweep": request.axes}
        for option in [name for name, value in asked.items() if value]:
            refuse(f"{option}: {entry.name} has none; leave it out")
        return None
    for name in request.variants:
        if name not in module.VARIANTS:
            refuse(f"unknown variant {name!r} of {entry.name}. {suggestion(name, module.VARIANTS)}")
    if len(set(request.variants)) < len(request.variants):
        refuse(f"--variants {','.join(request.variants)}: one is there twice")
    names = request.variants or tuple(module.DEFAULT_VARIANTS)
    option = "--set"
    try:
        settings = with_changes(module.settings(request.scale.value), request.changes)
        option = "--sweep" if request.axes else option
        points = []
        for values in sweep.grid(request.axes):
            root = request.out / sweep.folder_name(values) if values else request.out
            points.append(Point(root, with_changes(settings, values), values))
        # What a variant changes must fit as well, at every point.
        jobs = {
            name: [
                _effective(module.Job(name, request.seeds[0], point.settings).settings)
                for point in points
            ]
            for name in names
        }
    except (ConfigError, ValueError, TypeError) as error:
        refuse(f"{option} {error}")
    if request.axes and not request.variants:
        names = tuple(name for name in names if any(s != jobs[name][0] for s in jobs[name]))
        if not names:
            fields = ", ".join(axis.field for axis in request.axes)
            refuse(f"--sweep: no variant of {entry.name} depends on {fields}")
    return Plan(names, settings, points)


def _effective(settings: Any) -> dict[str, Any]:
    """The settings that matter: without a second beaker those of the chain do not."""
    fields = dataclasses.asdict(settings)
    one = fields.get("chain", {}).get("n") == 1
    return {**fields, "chain": None} if one else fields


def execute(
    entry: Entry,
    request: Request,
    plan: Plan | None,
    console: Console,
    make_engine: Callable[[], Engine],
) -> Outcome:
    """Run one experiment to its end."""
    if plan is not None:
        return _durable(entry, request, plan, console, make_engine)
    return _memory(entry, request, console)


def prepared(entry: Entry, request: Request, what: Plan) -> list[Folder]:
    """The folders of an experiment's runs, made where they are not there yet."""
    from bennafusi.files import RunError
    from bennafusi.runs import plan
    from bennafusi.runs.config import to_json

    try:
        wanted = [
            (point.root, plan.plan(entry.name, what.variants, request.seeds, settings))
            for point in what.points
            for settings in [to_json(point.settings)]
        ]
        for root, specs in wanted:
            plan.check_neighbours(root, specs[0])
        return plan.prepare_all([(root, spec) for root, specs in wanted for spec in specs])
    except RunError as error:
        refuse(error)


def _durable(
    entry: Entry,
    request: Request,
    what: Plan,
    console: Console,
    make_engine: Callable[[], Engine],
) -> Outcome:
    from bennafusi.runs import placing, progress
    from bennafusi.runs.config import flat, to_json
    from bennafusi.runs.engine import EngineError

    folders = prepared(entry, request, what)
    points = f"{len(what.points)} points, " if request.axes else ""
    at_a_time = f", {request.workers} at a time" if request.workers else ""
    console.print(f"{entry.name}: {points}{len(folders)} runs{at_a_time}", highlight=False)
    left_out = [n for n in entry.load().DEFAULT_VARIANTS if n not in what.variants]
    if request.axes and not request.variants and left_out:
        console.print(f"the same at every point, left out: {', '.join(left_out)}", highlight=False)
    if request.scale is Scale.PAPER:
        left = sum(progress.actual(folder).state != "done" for folder in folders)
        rounds = left / min(request.workers or 1, max(left, 1))
        cost = show.duration(rounds * entry.seconds()) if left else "nothing"
        how = "" if request.workers else ", one at a time"
        console.print(f"left to do: {cost}{how}, by a measurement on this machine", highlight=False)
    try:
        engine = make_engine()
    except EngineError as error:  # it was there when the command began
        refuse(f"{error}; the same command continues", 75)
    outcome = placing.place_all(folders, engine, console, retries=request.retries)
    settle(outcome, len(folders), request.out)
    section = (
        sweep.summarise(entry, request.out, [point.values for point in what.points])
        if request.axes
        else results.judge(entry, request.out, request.out)
    )
    return Outcome(section, flat(to_json(what.settings)))


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


def shown(outcome: Outcome, request: Request) -> Table:
    """What a command ends with: the claims, or the first measure over the points of a sweep."""
    from bennafusi.report import folder

    section = outcome.section
    if not request.axes:
        return show.findings_table(section.title, section.findings)
    table = folder.compact(section.tables[0])
    width = len(request.axes) + 2  # the fields, the variant and one measure
    rows = [row[:width] for row in table.rows[:MOST_ROWS]]
    cut = f", the first {MOST_ROWS} of {len(table.rows):,}" if len(table.rows) > MOST_ROWS else ""
    title = f"{table.columns[width - 1]}{cut}; all measures: {request.out / sweep.FOLDER}"
    return show.numbers_table(title, (*table.columns[: width - 1], "mean ± sd"), rows)


def write_report(
    folder: Path, outcomes: dict[str, Outcome], swept_by: str, console: Console
) -> None:
    """One page for everything in the folder; what was judged just now is not judged again.

    Args:
        folder: given to ``--out``.
        outcomes: by experiment.
        swept_by: the command, if it was a sweep; of other runs it follows from their settings.
        console: what to print to.
    """
    from bennafusi.cli import pages

    ready = {name: outcome.section for name, outcome in outcomes.items()}
    if swept_by:
        ready = {n: pages.swept(ready[n], swept_by, o.settings) for n, o in outcomes.items()}

    path = folder / "report.html"
    with console.status("report"):
        pages.write(path, folder, pages.Plays(), ready)
    console.print(f"report: {escape(os.fspath(path))}", highlight=False, soft_wrap=True)

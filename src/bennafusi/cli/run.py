"""``bennafusi run``: plan, run, judge, report."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bennafusi.cli import show
from bennafusi.cli.catalogue import Entry, suggestion
from bennafusi.cli.show import refuse, settle

if TYPE_CHECKING:
    from bennafusi.report.html import Section
    from bennafusi.runs.engine import Engine
    from bennafusi.runs.folder import Folder


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


class Outcome(NamedTuple):
    """What an experiment hands to the report."""

    section: Section
    settings: dict[str, Any]


LEADS = {
    "memory": (
        "How long is a memory kept?",
        "Random patterns are stored one after another in chains of different length. How far does "
        "an old one still stand out, and for how long? Exact theory, and a simulation by the "
        "integrator that the optimisers use.",
    ),
    "grid-switch": (
        "Does a table remember where the goal was?",
        "Tabular Q(lambda) on a 10x10 grid. Every 10,000 episodes the goal moves to the opposite "
        "corner. Control, Benna-Fusi and modified Benna-Fusi agents; Table S1 of the paper.",
    ),
    "two-task": (
        "Does a network remember a task while it learns another?",
        "Deep soft Q-learning on Cart-Pole and Catcher, which take turns. How long does each task "
        "take to relearn? Benna-Fusi and control agents; Table S2 of the paper, multi-task.",
    ),
    "online-cartpole": (
        "Can an agent learn from the newest experience alone?",
        "Deep soft Q-learning on Cart-Pole, one update per step and no replay database. Benna-Fusi "
        "and control agents; Table S2 of the paper, single task.",
    ),
    "epoch-length": (
        "Over which timescales does it remember?",
        "Cart-Pole and Catcher in turn, in epochs from an eighth to eight times the usual length, "
        "with as many episodes in all.",
    ),
    "three-task": (
        "Does it remember two tasks while it learns a third?",
        "Cart-Pole with a long pole, Catcher and Cart-Pole, which take turns.",
    ),
    "replay-size": (
        "How large a replay database does it take?",
        "Cart-Pole with one update per step from databases of different size, and the Benna-Fusi "
        "agent without one.",
    ),
    "online-catcher": (
        "Is that so for a task that forgets less?",
        "Catcher with one update per step and no replay database.",
    ),
    "epsilon-floor": (
        "Would lasting exploration do as well?",
        "Control agents on Cart-Pole without a replay database, whose exploration never falls "
        "below a floor.",
    ),
    "ablation": (
        "How much depends on what the paper leaves open?",
        "The Benna-Fusi agent with one choice changed at a time, with two tasks in turn and on "
        "Cart-Pole online.",
    ),
}


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


def execute(
    entry: Entry,
    request: Request,
    settings: Any,
    console: Console,
    make_engine: Callable[[], Engine],
) -> Outcome:
    """Run one experiment to its end."""
    if entry.durable:
        return _durable(entry, request, settings, console, make_engine)
    return _memory(entry, request, console)


def prepared(entry: Entry, request: Request, settings: Any) -> list[Folder]:
    """The folders of an experiment's runs, made where they are not there yet."""
    from bennafusi.runs import plan
    from bennafusi.runs.config import to_json
    from bennafusi.runs.disk import RunError

    names = request.variants or entry.load().DEFAULT_VARIANTS
    try:
        specs = plan.plan(entry.name, names, request.seeds, to_json(settings))
        plan.check_neighbours(request.out, specs[0])
        return plan.prepare(request.out, specs)
    except RunError as error:
        refuse(error)


def _durable(
    entry: Entry,
    request: Request,
    settings: Any,
    console: Console,
    make_engine: Callable[[], Engine],
) -> Outcome:
    from bennafusi.runs import placing, progress
    from bennafusi.runs.engine import EngineError

    folders = prepared(entry, request, settings)
    console.print(
        f"{entry.name}: {len(folders)} runs, {request.workers} at a time", highlight=False
    )
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
    return Outcome(judge(entry, request.out), dataclasses.asdict(settings))


def judge(entry: Entry, root: Path) -> Section:
    """Claims and figures of the runs there are."""
    from bennafusi.report import html

    module = entry.load()
    runs = load_runs(root, entry.name)
    drawings = module.figures(runs, root / entry.name / "figures")
    return _section(entry, module.claims(runs), drawings, html)


def load_runs(root: Path, experiment: str) -> list[Any]:
    """The records of every run of an experiment below a folder."""
    from bennafusi.experiments.result import RunData
    from bennafusi.runs import metrics, progress, status
    from bennafusi.runs.disk import RunError

    runs: list[Any] = []
    first, seen = None, set[tuple[str, int]]()
    for folder in status.find(root):
        spec, _ = folder.read_config()
        if spec.experiment != experiment or not folder.metrics.exists():
            continue
        first = first or (folder, spec)
        if spec.settings != first[1].settings:
            raise RunError(
                f"{first[0].path} and {folder.path} have different settings and cannot be judged "
                "together; name a folder that holds one of them"
            )
        if (spec.variant, spec.seed) in seen:
            raise RunError(f"{folder.path}: {spec.variant}, seed {spec.seed} is there twice")
        seen.add((spec.variant, spec.seed))
        how_far = progress.read(folder)
        seconds = how_far.seconds if how_far.state == "done" else None
        records = list(metrics.read(folder.metrics))
        runs.append(RunData(spec.variant, spec.seed, records, seconds))
    order = {name: place for place, name in enumerate(find_variants(experiment))}
    return sorted(runs, key=lambda run: (order.get(run.variant, 99), run.seed))


def find_variants(experiment: str) -> Sequence[str]:
    """All variants of an experiment, in the order of its figures."""
    from bennafusi.cli.catalogue import find

    return tuple(find(experiment).load().VARIANTS)


def _memory(entry: Entry, request: Request, console: Console) -> Outcome:
    from bennafusi.report import html

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
    return Outcome(_section(entry, found, drawings, html), dataclasses.asdict(settings))


def _section(entry: Entry, findings: Sequence[Any], drawings: Sequence[Any], html: Any) -> Section:
    title, lead = LEADS[entry.name]
    section: Section = html.Section(
        title=title,
        lead=lead,
        findings=[html.Finding(*finding) for finding in findings],
        pictures=[html.Picture(*drawing) for drawing in drawings],
    )
    return section


def write_report(
    path: Path, outcomes: dict[str, Outcome], command: str, seconds: float, console: Console
) -> None:
    """One page for all experiments of this command."""
    from bennafusi.experiments.result import versions
    from bennafusi.report import html

    settings = {
        f"{name}: {key}": value for name, o in outcomes.items() for key, value in o.settings.items()
    }
    provenance = html.Provenance(command, seconds, versions(), settings)
    html.write(path, "Benna-Fusi synapses", [o.section for o in outcomes.values()], provenance)
    console.print(f"report: {escape(os.fspath(path))}", highlight=False, soft_wrap=True)

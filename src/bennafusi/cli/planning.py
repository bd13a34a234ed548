"""From what was asked of an experiment to the folders of its runs; refused before any is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from bennafusi.cli import sweep
from bennafusi.cli.printing import refuse, refusing
from bennafusi.experiments.experiment import Experiment, Scale
from bennafusi.files import RunError
from bennafusi.runs import plan
from bennafusi.runs.config import ConfigError, to_json, with_changes
from bennafusi.runs.folder import Folder
from bennafusi.runs.job import RunSpec
from bennafusi.text import suggestion


class Request(NamedTuple):
    """What the user asked of one experiment, as far as it can be said before loading it."""

    scale: Scale
    seeds: range
    variants: tuple[str, ...]  # which, or all if none is named
    workers: int  # runs at a time, 0 if that is for a cluster to say
    changes: dict[str, str]  # of settings, by field
    out: Path
    retries: int  # how often a lost run is placed again without a new checkpoint
    axes: tuple[sweep.Axis, ...] = ()


class Plan(NamedTuple):
    """What is to be run of one experiment."""

    request: Request
    variants: tuple[str, ...]
    settings: Any  # of all runs, but for what a sweep changes
    points: list[Point]  # of the sweep; one that changes nothing if there is none


class Point(NamedTuple):
    """Runs with the same settings: where they lie, and what a sweep changes there."""

    root: Path
    settings: Any
    values: dict[str, str]


def seeds_of(experiment: Experiment, first: int, count: int | None) -> range:
    """The seeds that were asked for, or as many as the experiment has."""
    return range(first, first + (count or experiment.seeds))


def check(experiment: Experiment, request: Request) -> Plan:
    """What is to be run; refuses what does not fit before anything is made."""
    for name in request.variants:
        if name not in experiment.variants:
            known = suggestion(name, experiment.variants)
            refuse(f"unknown variant {name!r} of {experiment.name}: {known}")
    if len(set(request.variants)) < len(request.variants):
        refuse(f"--variants {','.join(request.variants)}: one is there twice")
    if request.axes and experiment.scores is Experiment.scores:
        refuse(f"--sweep: {experiment.name} has no scores to compare; its Experiment needs scores=")
    names = request.variants or experiment.defaults(request.scale)
    option = "--set"
    try:
        settings = with_changes(experiment.settings(request.scale), request.changes)
        option = "--sweep" if request.axes else option
        points = []
        for values in sweep.grid(request.axes):
            root = request.out / sweep.folder_name(values) if values else request.out
            points.append(Point(root, with_changes(settings, values), values))
        if len({point.settings for point in points}) < len(points):
            raise ConfigError("two points have the same settings: a value is there twice")
        # What a variant changes must fit as well, at every point.
        own = {
            name: [experiment.effective(name, point.settings) for point in points] for name in names
        }
    except (ConfigError, ValueError, TypeError) as error:
        refuse(f"{option} {error}")
    if request.axes and not request.variants:
        names = tuple(name for name in names if any(s != own[name][0] for s in own[name]))
        if not names:
            fields = ", ".join(axis.field for axis in request.axes)
            refuse(f"--sweep: no variant of {experiment.name} depends on {fields}")
    return Plan(request, names, settings, points)


def ask(experiment: Experiment, what: Plan) -> None:
    """Refuse an experiment's runs if they clash with what is there; nothing is made."""
    with refusing(RunError):
        plan.ask_all(_runs(experiment, what))


def prepared(experiment: Experiment, what: Plan) -> list[Folder]:
    """The folders of an experiment's runs, made where they are not there yet."""
    with refusing(RunError):
        return plan.prepare_all(_runs(experiment, what))


def _runs(experiment: Experiment, what: Plan) -> list[tuple[Path, RunSpec]]:
    """Every run of an experiment, with its root."""
    wanted = [
        (point.root, plan.plan(experiment.name, what.variants, what.request.seeds, settings))
        for point in what.points
        for settings in [to_json(point.settings)]
    ]
    for root, specs in wanted:
        plan.check_neighbours(root, specs[0])
    return [(root, spec) for root, specs in wanted for spec in specs]

"""``--sweep``: runs over a grid of settings. Every point of it is a folder of ordinary runs."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bennafusi.cli import gather, options
from bennafusi.cli.printing import left_out, refuse
from bennafusi.experiments.experiment import Experiment
from bennafusi.files import own_folder
from bennafusi.results import Provenance, Section, Table

MOST_POINTS = 100_000
FOLDER = "sweep"  # of the results
_LONGEST_NAME = 57  # with a mark of seven more, 64


class Axis(NamedTuple):
    """A setting, and the values that it takes, as they were given."""

    field: str
    values: tuple[str, ...]


def axes(words: Sequence[str]) -> tuple[Axis, ...]:
    """The words given to ``--sweep``.

    Values have commas between them, or semicolons where a value has commas itself.

    Example:
        >>> axes(["chain.n=3,10", "network.hidden=8,8;9,9"])[1]
        Axis(field='network.hidden', values=('8,8', '9,9'))
    """
    found = []
    for field, text in options.changes(words, "--sweep", "chain.n=3,10,30").items():
        values = tuple(value.strip() for value in text.split(";" if ";" in text else ","))
        if not all(values) or len(set(values)) < len(values):
            refuse(f"--sweep {field}={text}: needs values with commas between, none empty or twice")
        found.append(Axis(field, values))
    points = math.prod(len(axis.values) for axis in found)
    if points > MOST_POINTS:
        refuse(f"--sweep: {points:,} points; at most {MOST_POINTS:,} are planned at once")
    return tuple(found)


def grid(found: Sequence[Axis]) -> list[dict[str, str]]:
    """Every combination of the values; without any axis, one that changes nothing.

    Example:
        >>> grid([Axis("n", ("3", "10")), Axis("g12", ("0.1",))])
        [{'n': '3', 'g12': '0.1'}, {'n': '10', 'g12': '0.1'}]
    """
    combinations = itertools.product(*(axis.values for axis in found))
    names = [axis.field for axis in found]
    return [dict(zip(names, values, strict=True)) for values in combinations]


def folder_name(values: Mapping[str, str]) -> str:
    """What the folder of a point is called: the same whatever else the grid has.

    Example:
        >>> folder_name({"n": "3", "g12": "1e-3"})
        'n-3_g12-1e-3'
        >>> folder_name({"hidden": "100,50"})
        'hidden-100-50_8c3b99'
    """
    plain = "_".join(f"{field}-{value}" for field, value in values.items())
    name = re.sub(r"[^a-z0-9._-]+", "-", plain.lower()).replace("..", ".").strip("._-")
    if name == plain and len(name) <= _LONGEST_NAME:
        return name
    # Another point may read the same once it is cut or plain.
    mark = hashlib.sha256(plain.encode()).hexdigest()[:6]
    return f"{name[:_LONGEST_NAME].rstrip('._-')}_{mark}"


def summarise(
    experiment: Experiment,
    out: Path,
    points: Sequence[Mapping[str, str]],
    command: str,
    settings: Mapping[str, object],
    not_judged: list[str],
) -> Section:
    """The table and the heat map of all points, as files in ``out/sweep`` and for a report.

    Runs are read point by point and forgotten once they are scored: a grid may be large.

    What is wrong with their runs is said, and added to ``not_judged``.
    """
    from bennafusi.experiments import sweep_summary
    from bennafusi.report import results_folder

    measured, rows = [], []
    environment: dict[str, object] = {}
    for values in points:
        name = folder_name(values)
        group, problems = gather.own(out, out / name, experiment)
        runs = gather.load(out, group, problems) if group else []
        left_out(problems)
        not_judged += problems
        scored = group.scored(runs) if group else []
        measured.append(sweep_summary.Point(values, scored))
        rows.append((name, len(runs), sum(run.seconds is not None for run in runs)))
        environment = environment or (group.environment if group else {})
    own_folder(out / FOLDER)
    picture = sweep_summary.heat_map(measured, out / FOLDER / "figures")
    far = Table("points", "How far each point is", ("point", "runs", "done"), rows)
    section = Section(
        title=experiment.title,
        lead=f"{experiment.lead} Every value of {', '.join(points[0])} with every other; seeds are "
        "averaged.",
        name=f"{experiment.name}, swept",
        pictures=[picture] if picture else [],
        tables=[sweep_summary.numbers(measured)],
        provenance=Provenance(command, None, len(rows), far, environment, settings),
    )
    results_folder.write(out / FOLDER, section)
    return section

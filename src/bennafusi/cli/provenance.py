"""How runs came about: the command that makes them again, on what they ran, how far they are."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from bennafusi.cli.gather import Group
from bennafusi.experiments.experiment import Scale
from bennafusi.results import Provenance, Table
from bennafusi.runs.config import differences, flat, to_json
from bennafusi.runs.overview import Row

TRAIN = "train"  # has a command of its own


def provenance(group: Group) -> Provenance:
    """Of the runs of a group."""
    rows = group.rows
    lines = trained(group) if group.experiment.name == TRAIN else [command(group)]
    return Provenance(
        command="\n".join(map(shlex.join, lines)),
        seconds=sum(row.seconds for row in rows),
        done=sum(row.state == "done" for row in rows),
        runs=_how_far(rows),
        versions=group.environment,
        settings=flat(group.settings),
    )


def command(group: Group) -> list[str]:
    """The command that makes these runs; what differs from the nearest scale is set by hand."""
    experiment, rows = group.experiment, group.rows
    scales: tuple[Scale, ...] = ("paper", "quick", "smoke")
    changes = {
        scale: differences(group.settings, to_json(experiment.settings(scale))) for scale in scales
    }
    scale = min(changes, key=lambda name: len(changes[name]))
    seeds = sorted({row.seed for row in rows})
    variants = [name for name in experiment.variants if name in {row.variant for row in rows}]
    span = seeds[-1] - seeds[0] + 1  # seeds that are missing in between are run as well
    words = ["bennafusi", "run", experiment.name, "--scale", scale, "--seeds", str(span)]
    words += ["--seed", str(seeds[0])] if seeds[0] else []
    if tuple(variants) != experiment.defaults(scale):
        words += ["--variants", ",".join(variants)]
    return [*words, *_sets(changes[scale])]


def trained(group: Group) -> list[list[str]]:
    """The commands that train these agents, one for each run."""
    from bennafusi.experiments.deep import train

    chosen, schedule = group.settings, group.settings["schedule"]["kind"]
    usual = to_json(train.choose(chosen["tasks"], schedule))
    sets = _sets(differences(chosen, usual))
    words = ["bennafusi", "train", "--task", ",".join(chosen["tasks"]), "--schedule", schedule]
    return [[*words, "--agent", row.variant, "--seed", str(row.seed), *sets] for row in group.rows]


def option(value: object) -> str:
    """A setting as ``--set`` takes it.

    Example:
        >>> option([100, 50]), option(None), option(1e-3)
        ('100,50', 'none', '0.001')
    """
    if isinstance(value, list | tuple):
        return ",".join(map(option, value))
    return "none" if value is None else str(value)


def _sets(changes: Mapping[str, Any]) -> list[str]:
    return [word for k, v in changes.items() for word in ("--set", f"{k}={option(v)}")]


def _how_far(rows: Sequence[Row]) -> Table:
    cells = [
        (r.variant, r.seed, r.state, f"{r.done / r.total if r.total else 0:.0%}", r.seconds)
        for r in rows
    ]
    names = ("variant", "seed", "state", "done", "seconds of work")
    return Table("runs", "How far each run is", names, cells)

"""The experiments by name. What a run folder says is looked up here and nowhere else.

An experiment is a module of this package named in :data:`MODULES`, or an installed package's entry
point in the group ``bennafusi.experiments``. It is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from bennafusi.experiments.experiment import Experiment
from bennafusi.text import suggestion

GROUP = "bennafusi.experiments"
# Each has an EXPERIMENT of the module's name, with hyphens.
MODULES = (
    "deep.demo",
    "memory",
    "grid_switch",
    "deep.two_task",
    "deep.online_cartpole",
    "deep.epoch_length",
    "deep.three_task",
    "deep.replay_size",
    "deep.online_catcher",
    "deep.epsilon_floor",
    "deep.ablation",
    "deep.online_epsilon",
    "deep.online_choices",
    "rivals_digits",
    "deep.rivals_online",
    "deep.rivals_two_task",
    "deep.minatar_single",
    "deep.minatar_sequence",
    "deep.rivals_minatar",
    "deep.train",
)


class UnknownError(ValueError):
    """A name that is not there, with the one that was meant; or that leads to no experiment."""


def names() -> list[str]:
    """Of all experiments; imports none of them."""
    return list(_places())


def find(name: str) -> Experiment:
    """The experiment of that name, or of that figure of the paper."""
    places, wanted = _places(), name.lower()
    if wanted in places:
        return _load(wanted, places[wanted])
    figures = {}
    if wanted.startswith("fig"):
        figures = {figure.lower(): one for one in experiments([]) for figure in one.paper}
    if wanted in figures:
        return figures[wanted]
    known = suggestion(wanted, [*places, *figures])
    raise UnknownError(f"unknown experiment {name!r}: {known}")


def experiments(problems: list[str]) -> list[Experiment]:
    """All of them, imported.

    Args:
        problems: gets what is wrong with those of installed packages; the others are there.
    """
    found = []
    for name, place in _places().items():
        try:
            found.append(_load(name, place))
        except UnknownError as error:
            problems.append(str(error))
    return found


def _places() -> dict[str, list[str | EntryPoint]]:
    """Where each is; a name that is in several places is nobody's."""
    found: dict[str, list[str | EntryPoint]] = {}
    for module in MODULES:
        found[module.rpartition(".")[2].replace("_", "-")] = [module]
    for point in _installed():
        found.setdefault(point.name, []).append(point)
    return found


@cache
def _installed() -> list[EntryPoint]:
    """What packages bring; once, because to find it the files of all installed ones are read."""
    return list(entry_points(group=GROUP))


def _load(name: str, places: list[str | EntryPoint]) -> Experiment:
    place, *others = places
    if others:
        known = ", ".join(getattr(place, "value", "bennafusi") for place in places)
        raise UnknownError(f"experiment {name!r} is there more than once: {known}; remove one")
    if isinstance(place, str):
        module = importlib.import_module(f"bennafusi.experiments.{place}")
        return cast(Experiment, module.EXPERIMENT)
    where = f"experiment {name!r} ({place.value})"
    try:
        found = place.load()
    except Exception as error:  # of whoever wrote it
        raise UnknownError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(found, Experiment) or found.name != name:
        raise UnknownError(f"{where} is no Experiment of that name")
    return found

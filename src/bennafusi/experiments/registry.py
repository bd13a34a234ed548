"""The experiments by name. What a run folder says is looked up here and nowhere else.

An experiment is a module of this package named in :data:`MODULES`, or an installed package's entry
point in the group ``bennafusi.experiments``. It is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint, entry_points

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
    "deep.train",
)


class UnknownError(ValueError):
    """A name that is not there, with the one that was meant."""


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
        every = [_load(known, place) for known, place in places.items()]
        figures = {figure.lower(): one for one in every for figure in one.paper}
    if wanted in figures:
        return figures[wanted]
    known = suggestion(wanted, [*places, *figures])
    raise UnknownError(f"unknown experiment {name!r}: {known}")


def experiments() -> list[Experiment]:
    """All of them, imported."""
    return [_load(name, place) for name, place in _places().items()]


def _places() -> dict[str, str | EntryPoint]:
    ours = {module.rpartition(".")[2].replace("_", "-"): module for module in MODULES}
    return {**{point.name: point for point in entry_points(group=GROUP)}, **ours}


def _load(name: str, place: str | EntryPoint) -> Experiment:
    if isinstance(place, str):
        found = importlib.import_module(f"bennafusi.experiments.{place}").EXPERIMENT
    else:
        found = place.load()
    if not isinstance(found, Experiment) or found.name != name:
        raise TypeError(f"{name}: is registered as {found!r}, which is no Experiment of that name")
    return found

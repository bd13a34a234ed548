"""How the ``config.json`` of an older schema becomes one of the next.

These are tables of names: nothing here knows what an experiment does with its settings, and
settings that have other names than those in a table stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

SCHEMA = 12
Document = dict[str, Any]

# Schema 1 had flat settings. Where each of them went, one table for each set of names there was.
DEEP = {
    **{name: name for name in ("tasks", "gammas", "epochs", "episodes", "max_steps", "time_out")},
    **{name: name for name in ("test_every", "largest_value")},
    "schedule": "schedule.kind",
    "replay": "schedule.replay",
    "batch": "schedule.batch",
    "target_update": "schedule.target_update",
    "epsilon": "exploration.epsilon",
    "epsilon_decay": "exploration.decay",
    "epsilon_floor": "exploration.floor",
    "hidden": "network.hidden",
    "gain": "network.gain",
    "learning_rate": "optimizer.learning_rate",
    "beta1": "optimizer.b1",
    "beta2": "optimizer.b2",
    "adam_epsilon": "optimizer.eps",
    **{name: f"agent.{name}" for name in ("loss", "alpha", "tau")},
    **{name: f"chain.{name}" for name in ("n", "g12", "every", "dt", "gated", "method")},
    "hidden_start": "chain.hidden_start",
}
TABULAR = {
    **{name: name for name in ("epochs", "episodes", "max_steps", "size")},
    **{name: f"agent.{name}" for name in ("modulation", "trace_scale", "gamma", "lam")},
    **{name: f"agent.{name}" for name in ("epsilon", "learning_rate")},
    **{name: f"chain.{name}" for name in ("n", "g12")},
}


def _nested(document: Document) -> Document:
    """Schema 1 to 2: flat settings into their parts."""
    settings = document.get("settings")
    for places in (DEEP, TABULAR):
        if isinstance(settings, dict) and settings.keys() == places.keys():
            parts: Document = {}
            for name, path in places.items():
                *outer, field = path.split(".")
                place = parts
                for part in outer:
                    place = place.setdefault(part, {})
                place[field] = settings[name]
            return {**document, "settings": parts}
    return document


def _unprobed(document: Document) -> Document:
    """Schema 2 to 3: runs that did not look at their depths go on without."""
    settings = document.get("settings")
    for places, none in ((DEEP, {"games": 0, "every": 0}), (TABULAR, False)):
        parts = {path.partition(".")[0] for path in places.values()}
        if isinstance(settings, dict) and settings.keys() == parts:
            return {**document, "settings": {**settings, "depths": none}}
    return document


# Settings of deep runs by the schema with which they came, and the values with which a run is what
# it was: nothing but chains around Adam, the weight that acts, the newest transitions, one agent.
SINCE: Mapping[int, Document] = {
    4: {"recall": {"kind": "none", "epsilon": 0.05}},
    5: {
        "steps": None,
        "sticky": 0.0,
        "schedule": {"every": 1, "warmup": 0, "target_every": 1, "keep": False},
        "network": {"filters": 0, "layer_norm": False, "units": "relu", "per_task": True},
        "agent": {"double": False},
    },
    6: {"method": {"name": "none", "strength": 1.0}},
    7: {"agent": {"acting": 1}},
    8: {"schedule": {"replay_kind": "fifo"}},
    9: {"schedule": {"agent_at_switch": "keep"}, "chain": {"layers": "all"}},
    10: {
        "network": {"sparse": 0.0, "normalise": False},
        "stream": {"kappa": 2.0, "trace_decay": 0.8},
    },
    11: {
        "network": {"permanent": False},
        "boundary": {"rate": 1e-3, "updates": 500, "batch": 64, "decay": 0.75},
    },
    12: {"network": {"first_bias": 0.0}},
}


def _with(added: Document, document: Document) -> Document:
    """The settings of a deep run with more fields; others are left alone."""
    settings = document.get("settings")
    parts = {path.partition(".")[0] for path in DEEP.values()} | {"depths"}
    if not isinstance(settings, dict) or not parts <= settings.keys():
        return document
    grown = {
        name: {**settings[name], **value} if isinstance(value, dict) and name in settings else value
        for name, value in added.items()
    }
    return {**document, "settings": {**settings, **grown}}


MIGRATIONS: Mapping[int, Callable[[Document], Document]] = {
    1: _nested,
    2: _unprobed,
    **{schema - 1: partial(_with, added) for schema, added in SINCE.items()},
}


# Leaves of a state that checkpoints of earlier versions call otherwise; the arrays are the same.
LEAVES = {
    "world": "env_state",
    "seen": "observation",
    "replay/transitions/following": "replay/transitions/next_observation",
    "agent/optimizer/optimizer/updates": "agent/optimizer/optimizer/count",
    "agent/optimizer/optimizer/mean": "agent/optimizer/optimizer/mu",
    "agent/optimizer/optimizer/square": "agent/optimizer/optimizer/nu",
}


def leaf_name(name: str, known: Collection[str]) -> str:
    """What a leaf is called now, if it is not among those that are known.

    Example:
        >>> leaf_name("world/steps", {"env_state/steps"}), leaf_name("world/x", {"world/x"})
        ('env_state/steps', 'world/x')
    """
    if name not in known:
        for old, new in LEAVES.items():
            if name == old or name.startswith(f"{old}/"):
                return new + name.removeprefix(old)
    return name


def new_names(name: str) -> list[str]:
    """Where a setting of schema 1 may be found now.

    Example:
        >>> new_names("n"), new_names("learning_rate"), new_names("epochs")
        (['chain.n'], ['optimizer.learning_rate', 'agent.learning_rate'], [])
    """
    found = [places[name] for places in (DEEP, TABULAR) if places.get(name, name) != name]
    return list(dict.fromkeys(found))

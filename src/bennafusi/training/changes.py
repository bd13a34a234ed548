"""Settings with some fields changed, by their paths."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def changed(settings: T, changes: Mapping[str, Any]) -> T:
    """Nested settings with other values in some places, all put in at once.

    Args:
        settings: a frozen dataclass, whose parts may be such.
        changes: values by the path of a field.

    Raises:
        TypeError: for a path that is not there.

    Example:
        >>> from bennafusi.training.tabular_settings import TabularSettings
        >>> other = changed(TabularSettings(), {"epochs": 2, "chain.n": 5, "agent.gamma": 0.8})
        >>> other.epochs, other.chain.n, other.chain.g12, other.agent.gamma
        (2, 5, 1e-05, 0.8)
    """
    here: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for path, value in changes.items():
        name, _, rest = path.partition(".")
        if name not in getattr(settings, "__dataclass_fields__", {}):
            raise TypeError(f"{path}: {type(settings).__name__} has no field {name!r}")
        if rest:
            inner.setdefault(name, {})[rest] = value
        else:
            here[name] = value
    for name, deeper in inner.items():
        here[name] = changed(here.get(name, getattr(settings, name)), deeper)
    return dataclasses.replace(settings, **here)  # type: ignore[type-var]

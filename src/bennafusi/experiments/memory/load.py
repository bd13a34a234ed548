"""The numbers of a run of ``memory``, read back from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bennafusi.experiments.memory.experiment import (
    ChainResult,
    MemoryResult,
    MemorySettings,
    Simulated,
)
from bennafusi.files import document


def load(path: Path) -> tuple[MemoryResult, dict[str, str]]:
    """What :func:`bennafusi.experiments.memory.save` wrote: the numbers, and the versions.

    Raises:
        ValueError: if it is anything else.
    """
    try:
        content = document(path)
        given = content["settings"]
        settings = MemorySettings(**{**given, "beakers": tuple(given["beakers"])})
        chains = tuple(_chain(part) for part in content["chains"])
        versions = {str(name): str(value) for name, value in content["versions"].items()}
        return MemoryResult(settings, np.array(content["ages"], np.float64), chains), versions
    except (KeyError, TypeError, AttributeError, OSError, ValueError) as error:
        raise ValueError(f"{path}: not the numbers of a run of memory ({error})") from error


def _chain(part: dict[str, Any]) -> ChainResult:
    numbers = {name: _plain(value) for name, value in part.items() if name != "simulated"}
    simulated = {name: _plain(value) for name, value in part["simulated"].items()}
    simulated["lifetimes"] = np.reshape(simulated["lifetimes"], (-1, 4))
    return ChainResult(**numbers, simulated=Simulated(**simulated))


def _plain(value: Any) -> Any:
    return np.array(value, np.float64) if isinstance(value, list) else value

"""What the bits of a run depend on besides its settings."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def environment() -> dict[str, str | None]:
    """Versions, device and visible cores, as far as this process has met them.

    JAX is asked for its device only if the job imported it: NumPy jobs need not wait for it.
    """
    jax: Any = sys.modules.get("jax")
    device = None if jax is None else f"{jax.devices()[0].platform}: {jax.devices()[0].device_kind}"
    return {
        "python": platform.python_version(),
        "bennafusi": _version("bennafusi"),
        "jax": _version("jax"),
        "jaxlib": _version("jaxlib"),
        "numpy": _version("numpy"),
        "machine": platform.machine(),
        "device": device,
        "NPROC": os.environ.get("NPROC"),
    }


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """One sentence for each thing that changed and may change bits.

    Example:
        >>> differences({"NPROC": "1"}, {"NPROC": "2"})
        ["NPROC was '1' and is now '2': the rest may not be bitwise what it would have been"]
    """
    return [
        f"{name} was {before.get(name)!r} and is now {now.get(name)!r}: the rest may not be "
        "bitwise what it would have been"
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None

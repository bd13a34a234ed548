"""What the bits of a run depend on besides its settings: set where we can, else written down."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import MutableMapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bennafusi.files import RunError

# What a run needs of JAX, whatever its defaults will be and whatever the shell says.
NEEDED = {
    "JAX_DEFAULT_PRNG_IMPL": "threefry2x32",
    "JAX_THREEFRY_PARTITIONABLE": "1",
    "JAX_RANDOM_SEED_OFFSET": "0",
    "JAX_ENABLE_X64": "0",
}
# Variables of JAX and flags of XLA that a run inherits: they change no bit, or are written down.
KEPT = (
    "JAX_PLATFORM",
    "JAX_COMPILATION_CACHE_",
    "JAX_PERSISTENT_CACHE_",
    "JAX_NUMPY_",
    "JAX_LOGGING_LEVEL",
    "JAX_TRACEBACK_FILTERING",
)
KEPT_FLAGS = (
    "--xla_dump_",
    "--xla_cpu_max_isa=",
    "--xla_gpu_deterministic_ops=",
    "--xla_gpu_cuda_data_dir=",
)
_CONFIG = {
    "jax_default_prng_impl": "threefry2x32",
    "jax_threefry_partitionable": True,
    "jax_random_seed_offset": 0,
    "jax_enable_x64": False,
}
_SAME = {"false": "0", "true": "1"}
_VECTORS = re.compile(r"s?sse\d?.*|avx.*|fma|f16c|bmi\d|amx.*|asimd.*|sve.*|bf16|i8mm")


def settle(environ: MutableMapping[str, str]) -> list[str]:
    """Make the environment of a process one in which runs have their bits; before JAX starts.

    Returns:
        A sentence for each thing that was asked for and is not used.

    Example:
        >>> environ = {"JAX_ENABLE_X64": "1", "XLA_FLAGS": "--xla_dump_to=x --xla_allow_excess"}
        >>> len(settle(environ)), environ["JAX_ENABLE_X64"], environ["XLA_FLAGS"]
        (2, '0', '--xla_dump_to=x')
    """
    told = []
    for name in sorted(name for name in environ if name.startswith("JAX_")):
        value = _SAME.get(environ[name].lower(), environ[name])
        if not name.startswith(KEPT) and NEEDED.get(name) != value:
            told.append(f"{name}={environ.pop(name)}")
    flags = environ.pop("XLA_FLAGS", "").split()
    told += (f"XLA_FLAGS={flag}" for flag in flags if not flag.startswith(KEPT_FLAGS))
    if kept := [flag for flag in flags if flag.startswith(KEPT_FLAGS)]:
        environ["XLA_FLAGS"] = " ".join(kept)
    environ.update(NEEDED)
    return [f"{text} is not used: it could change the bits of a run" for text in told]


def check() -> None:
    """Refuse a process whose JAX was set to something else before a run began.

    Raises:
        RunError: naming the setting.
    """
    jax: Any = sys.modules.get("jax")
    for name, wanted in _CONFIG.items():
        found = wanted if jax is None else getattr(jax.config, name)
        if found != wanted:
            raise RunError(
                f"{name} is {found!r} in this process, and runs are made with {wanted!r}: set it "
                "so, or start the run with bennafusi, which does"
            )


def environment() -> dict[str, str | None]:
    """Versions, device, instruction set and visible cores, as far as this process has met them.

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
        "XLA_FLAGS": os.environ.get("XLA_FLAGS") or None,
        "features": _features(),
    }


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """One sentence for each thing that changed and may change bits; what was not known is not said.

    Example:
        >>> differences({"NPROC": "1"}, {"NPROC": "2", "features": "avx2"})
        ["NPROC was '1' and is now '2': the rest may not be bitwise what it would have been"]
    """
    return [
        f"{name} was {value!r} and is now {now.get(name)!r}: the rest may not be "
        "bitwise what it would have been"
        for name, value in before.items()
        if value != now.get(name)
    ]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _features(path: Path = Path("/proc/cpuinfo")) -> str | None:
    """The vector instructions of this machine, by which XLA chooses what it compiles."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    words = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return " ".join(sorted(filter(_VECTORS.fullmatch, words.split()))) or None

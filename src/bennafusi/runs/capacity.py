"""Whether a run fits into the memory of this machine, before it takes any."""

from __future__ import annotations

import math
import resource
from pathlib import Path
from typing import Any

from bennafusi.files import RunError
from bennafusi.runs import tree

# The state before a chunk, the one after it, a copy for the checkpoint, and the bytes of its file.
COPIES = 4
MOST_READ = 2**36  # bytes of any file of a run; hashing so many takes minutes
_GROUP = Path("/sys/fs/cgroup")


def check(outline: Any, free: int | None = None) -> None:
    """Refuse a state that is too large for this machine.

    Args:
        outline: the state's shapes and dtypes, as :func:`jax.eval_shape` gives them.
        free: bytes to have; asked of the system if None.

    Raises:
        RunError: in one line, with the largest of its parts.
    """
    free = available() if free is None else free
    sizes = {
        name: leaf.dtype.itemsize * math.prod(leaf.shape)
        for name, leaf in tree.flatten(outline)
        if hasattr(leaf, "shape")
    }
    needed = COPIES * sum(sizes.values())
    if free is not None and needed > free:
        largest = max(sizes, key=lambda name: sizes[name])
        raise RunError(
            f"too large for this machine: the run needs about {_gigabytes(needed)} GB and "
            f"{_gigabytes(free)} GB are free; the largest part of its state is {largest!r}, "
            f"{_gigabytes(sizes[largest])} GB. Make the network, the chain or the replay smaller"
        )


def readable() -> int:
    """Bytes that a file may have which is read as a whole, and then unpacked."""
    free = available()
    return MOST_READ if free is None else min(MOST_READ, free // COPIES)


def available() -> int | None:
    """Bytes that a process can still have, None if the system does not say."""
    found = [_meminfo(), _limit(resource.RLIMIT_AS), _limit(resource.RLIMIT_DATA), _of_group()]
    return min((bytes_ for bytes_ in found if bytes_ is not None), default=None)


def exhausted(error: BaseException) -> bool:
    """Whether an error says that there was no memory left, be it Python's or JAX's."""
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.3g}" if size < 1e12 else f"{size / 1e9:,.0f}"


def _meminfo() -> int | None:
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _limit(kind: int) -> int | None:
    soft, _ = resource.getrlimit(kind)
    return None if soft == resource.RLIM_INFINITY else soft


def _of_group() -> int | None:
    """What a container or a batch system leaves us."""
    most, used = (_text(_GROUP / f"memory.{name}").strip() for name in ("max", "current"))
    if not (most.isdecimal() and used.isdecimal()):
        return None
    # What was read from files counts as used, and is given back as soon as somebody asks.
    pairs = (line.split() for line in _text(_GROUP / "memory.stat").splitlines())
    kept = sum(int(pair[1]) for pair in pairs if pair[0] in ("inactive_file", "active_file"))
    return min(int(most), int(most) - int(used) + kept)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

"""Writing so that a file is there whole or not at all, and strict JSON."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

READABLE = 0o644


class RunError(Exception):
    """Something went wrong that the message lets a user act on."""


class StorageError(RunError):
    """The disk refused."""


_CAUSES = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EFBIG: "the file may not grow any further; raise the limit (ulimit -f)",
    errno.EROFS: "the disk is read-only; make it writable",
    errno.EACCES: "no permission to write there; change it",
    errno.EPERM: "no permission to write there; change it",
    errno.ENOENT: "it is gone, or its folder is; put it back",
    errno.ENOTDIR: "something that is not a folder stands in its way; remove that",
    errno.EISDIR: "a folder stands in its way; remove that",
    errno.ELOOP: "it is a symbolic link, which is never followed here; remove the link",
    errno.EIO: "the disk fails; copy the folder to another one",
}


@contextlib.contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into a :class:`StorageError` that says what to do.

    Example:
        >>> with storing(Path("results")):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        ...
        bennafusi.runs.disk.StorageError: cannot write results: the disk is full; free some space \
and repeat the command
    """
    try:
        yield
    except OSError as error:
        cause = _CAUSES.get(error.errno or 0, f"{error.strerror or error}; put that right")
        raise StorageError(f"cannot write {path}: {cause} and repeat the command") from error


def replace(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put ``content`` at ``path``: after a crash there is the old file or the new one.

    Args:
        path: the file; its folder must exist.
        content: all of it.
        durable: whether to wait until it is on the disk; progress reports need not be.

    Raises:
        StorageError: if the disk refuses; the old file is then untouched.
    """
    partial = path.with_name(f".{path.name}.part")
    with storing(path):
        try:
            with open(partial, "wb", buffering=0, opener=opener) as file:
                write_all(file.fileno(), content)
                if durable:
                    os.fsync(file.fileno())
            os.replace(partial, path)
        except OSError:
            with contextlib.suppress(OSError):  # half a file on a full disk helps nobody
                partial.unlink()
            raise
        if durable:
            sync_folder(path.parent)


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte; the kernel may take fewer at a time than it is given."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def opener(path: str, flags: int) -> int:
    """For :func:`open`: no link is followed, and no child process inherits the file."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, READABLE)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, too."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def dump(value: Any, *, indent: int | None = None) -> bytes:
    """JSON that every reader takes: no NaN, keys in the order given, one final newline."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, allow_nan=False, indent=indent, separators=separators)
    return text.encode() + b"\n"


def parse(content: bytes) -> Any:
    """Read JSON, and refuse what the standard does not have or leaves open.

    Raises:
        ValueError: if it is no JSON, not UTF-8, has NaN or infinities, or one key twice.
    """
    try:
        return json.loads(
            content.decode(), parse_constant=_no_constant, object_pairs_hook=_no_double
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _no_double(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(k for k in keys if keys.count(k) > 1)!r} stands there twice")
    return found

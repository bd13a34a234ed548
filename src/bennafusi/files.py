"""Files of a run and of its results: opened safely, written whole or not at all; strict JSON.

A folder may come from a stranger. No link is followed, nothing but a plain file is opened, and
nothing is waited for.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

READABLE = 0o644
MOST_JSON = 2**26  # bytes of a document; metrics, which are lines, may have more
_OLD = 3600.0  # seconds after which nobody writes to an unfinished file any more
_LINK = "is a symbolic link, which is never followed here"


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
    errno.ENOLCK: "its file system gives no locks (flock); mount it with locks, or use another one",
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
        bennafusi.files.StorageError: cannot write results: the disk is full; free some space \
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
    with making(path, durable=durable) as partial, open(partial, "r+b", buffering=0) as file:
        write_all(file.fileno(), content)


@contextlib.contextmanager
def making(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """A new empty file to fill, which takes the place of ``path`` when the block ends well.

    Nobody else has its name, so two writers never share one; it ends like that of ``path``. A
    link at ``path`` is replaced, and what it leads to is not touched.

    Raises:
        StorageError: if the disk refuses; the old file is then untouched.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part{path.suffix}")
    with storing(path):
        os.close(descriptor(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        try:
            yield partial
            if durable:
                sync(partial)
            os.replace(partial, path)
        except BaseException:
            with contextlib.suppress(OSError):  # half a file on a full disk helps nobody
                partial.unlink()
            raise
        if durable:
            sync(path.parent)


def clean(folder: Path, age: float = 0.0) -> None:
    """Remove what killed writers left unfinished.

    Only who has the folder's lock may do without an ``age``, in seconds.
    """
    for partial in [] if folder.is_symlink() else folder.glob(".*.part*"):
        with contextlib.suppress(OSError):
            if time.time() - partial.lstat().st_mtime >= age:
                partial.unlink()


def own_folder(path: Path) -> Path:
    """A folder of ours, made if it is not there; what killed writers left in it is removed.

    Raises:
        StorageError: if it is a link, or cannot be made.
    """
    with storing(path):
        if path.is_symlink():
            raise OSError(errno.ELOOP, _LINK)
        path.mkdir(parents=True, exist_ok=True)
    clean(path, _OLD)
    return path


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte; the kernel may take fewer at a time than it is given."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def append(path: Path, content: bytes) -> None:
    """Add to a plain file, in one piece as far as the kernel allows; made if it is not there."""
    found = descriptor(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        write_all(found, content)
    finally:
        os.close(found)


def descriptor(path: str | Path, flags: int) -> int:
    """Open a plain file; also an opener for :func:`open`.

    No link is followed, no pipe or device waited for, and no child process inherits the file.

    Raises:
        OSError: if it is anything else, or not there.
    """
    safe = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        found = os.open(path, flags | safe, READABLE)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, _LINK, str(path)) from error
        raise
    mode = os.fstat(found).st_mode
    if not stat.S_ISREG(mode):
        os.close(found)
        number, kind = (errno.EISDIR, "folder") if stat.S_ISDIR(mode) else (errno.EINVAL, "device")
        raise OSError(number, f"is a {kind}, not a file", str(path))
    return found


def reading(path: Path) -> BinaryIO:
    """A plain file, open for reading; see :func:`descriptor`."""
    return os.fdopen(descriptor(path, os.O_RDONLY), "rb")


def read(path: Path, most: int) -> bytes:
    """All of a plain file; a sparse one says that it has terabytes, so how many is asked first.

    Raises:
        OSError: if it is anything else, not there, or larger than ``most`` bytes.
    """
    with reading(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            text = f"has {size:,} bytes, and at most {most:,} can be read"
            raise OSError(errno.EFBIG, text, str(path))
        return file.read(size)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    found = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(found)
    finally:
        os.close(found)


def printable(text: str) -> str:
    r"""Text in one line that a terminal shows and does not obey.

    Example:
        >>> print(printable("diverged\x1b[2J\nall done"))
        diverged\x1b[2J\nall done
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def csv_line(cells: Iterable[object]) -> str:
    r"""Cells as one line of CSV, without its end.

    Text that a spreadsheet would take for a formula gets an apostrophe in front; numbers do not.

    Example:
        >>> csv_line(["control", -0.5, "-0.5", "=1+1", "@x", "a,b", float("inf")])
        'control,-0.5,-0.5,\'=1+1,\'@x,"a,b",inf'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([_inert(cell) for cell in cells])
    return text.getvalue()


def _inert(cell: object) -> object:
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def dump(value: Any, *, indent: int | None = None) -> bytes:
    """JSON that every reader takes: no NaN, keys in the order given, one final newline."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, allow_nan=False, indent=indent, separators=separators)
    return text.encode() + b"\n"


def document(path: Path) -> Any:
    """The JSON document in a file; see :func:`read` and :func:`parse`."""
    return parse(read(path, MOST_JSON))


def parse(content: bytes) -> Any:
    r"""Read JSON, and refuse what the standard does not have or leaves open.

    Raises:
        ValueError: if it is no JSON, not UTF-8, has NaN, infinities or numbers beyond float64 and
            int64, by their field, or one key twice.

    Example:
        >>> parse(b'{"rates": [1.5, 1e400]}')
        Traceback (most recent call last):
        ...
        ValueError: rates[1]: a number beyond what 64 bits can hold
    """
    text = content.decode()
    try:
        if not _LARGE.search(text):
            return _PLAIN.decode(text)
        value = _CAREFUL.decode(text)
        _within(value, "")
        return value
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


def _integer(text: str) -> int | float:
    """A whole number, infinity for one beyond int64: Python's own have no end."""
    return int(text) if len(text) < 21 and -(2**63) <= int(text) < 2**63 else math.inf


def _within(value: Any, name: str) -> None:
    if isinstance(value, dict):
        for key, part in value.items():
            _within(part, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            _within(part, f"{name}[{place}]")
    elif isinstance(value, float) and math.isinf(value):
        raise ValueError(f"{name or 'the document'}: a number beyond what 64 bits can hold")


# Numbers that might not fit are rare, and looking at each would take most of the time of reading.
_LARGE = re.compile(r"(?<![.\d])\d{19}|[eE]\+?\d{3}")
_PLAIN = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_no_double)
_CAREFUL = json.JSONDecoder(
    parse_constant=_no_constant, object_pairs_hook=_no_double, parse_int=_integer
)

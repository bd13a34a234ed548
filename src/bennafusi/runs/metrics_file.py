"""Metrics on disk: one JSON object a line, only ever appended, cut back when a run resumes."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from bennafusi import files
from bennafusi.files import RunError, StorageError, dump, parse, storing, write_all
from bennafusi.runs import capacity
from bennafusi.runs.job import Record


class BadRecordError(RunError):
    """A record that is not plain JSON, by the name of the offending key."""


class Offset(NamedTuple):
    """How far the metrics went when a checkpoint was made, and what they were up to there."""

    bytes: int = 0
    lines: int = 0
    sha256: str = hashlib.sha256().hexdigest()


NOTHING = Offset()


class Metrics:
    """The writer. Lines go to the kernel at once, and to the disk with :meth:`sync`.

    Args:
        path: the file, made if it is not there.
        offset: where to go on; whatever a killed process wrote beyond it is cut off, so that
            repeating the chunk puts no line there twice.
    """

    def __init__(self, path: Path, offset: Offset) -> None:
        self.path = path
        with storing(path):
            self._file = files.descriptor(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                os.ftruncate(self._file, offset.bytes)
                os.fsync(self._file)
            except BaseException:
                os.close(self._file)
                raise
        self._hash = _hash(path, offset.bytes)
        self._bytes, self._lines = offset.bytes, offset.lines

    def append(self, records: list[Record]) -> None:
        """Write the records of a chunk."""
        content = b"".join(map(encode, records))
        with storing(self.path):
            write_all(self._file, content)
        self._hash.update(content)
        self._bytes += len(content)
        self._lines += len(records)

    def sync(self) -> Offset:
        """Wait until all lines are on the disk; say how far they go."""
        with storing(self.path):
            os.fsync(self._file)
            found = os.fstat(self._file)
            if found.st_size != self._bytes:
                raise StorageError(
                    f"{self.path} has {found.st_size} bytes where {self._bytes} were written: "
                    "somebody else writes to it; stop that and repeat the command"
                )
            if not os.path.samestat(found, os.lstat(self.path)):
                raise StorageError(
                    f"{self.path} was replaced while the run wrote to it: put the run's own file "
                    "back and repeat the command"
                )
        return Offset(self._bytes, self._lines, self._hash.hexdigest())

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def encode(record: Record) -> bytes:
    """The line of one record.

    Raises:
        BadRecordError: if it is not plain JSON; names the key.
    """
    try:
        return dump(record)
    except (ValueError, TypeError, RecursionError):
        raise BadRecordError(_complaint(record)) from None


def decode(path: Path, number: int, line: bytes) -> Record:
    """The record of one line; path and number are for the message.

    Raises:
        RunError: if it is not a JSON object.
    """
    try:
        record = parse(line)
    except ValueError as error:
        raise RunError(f"{path}, line {number}: {error}") from error
    if not isinstance(record, dict):
        raise RunError(f"{path}, line {number}: must be an object, not {line[:40]!r}")
    return record


def fault(path: Path, offset: Offset) -> str | None:
    """What is wrong with the metrics up to ``offset``; None if nothing is.

    Reads them piece by piece: who goes on with a run needs the memory for its state.
    """
    try:
        size = path.stat().st_size if path.exists() or offset.bytes else 0
        return _fault(path, size, offset, lambda: _hash(path, offset.bytes))
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror}"


def digest(path: Path) -> str | None:
    """The hash of the whole file, None if there is none to read."""
    try:
        return str(_hash(path, path.stat().st_size).hexdigest())
    except OSError:
        return None


class Written:
    """What stands in a file of metrics: read as a whole when it is first asked for, and once.

    Args:
        path: the file; without one nothing was written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def content(self) -> bytes:
        """All of it.

        Raises:
            OSError: if it cannot be read.
        """
        with contextlib.suppress(FileNotFoundError):
            return files.read(self.path, capacity.readable())
        return b""

    def fault(self, offset: Offset) -> str | None:
        """What is wrong with it up to ``offset``; None if nothing is."""
        try:
            start = memoryview(self.content)[: offset.bytes]
        except OSError as error:
            return f"{self.path.name} cannot be read: {error.strerror}"
        return _fault(self.path, len(self.content), offset, lambda: hashlib.sha256(start))

    def records(
        self,
        sealed: Offset = NOTHING,
        *,
        whole: bool = False,
        beyond: bool = True,
        sha256: str | None = None,
    ) -> list[Record]:
        """The records of a run, if they are those that its newest checkpoint vouches for.

        A last line without its newline is torn, and left out. A run that was killed may have lines
        beyond its last checkpoint; they are cut off and written again when it resumes.

        Args:
            sealed: how far the newest checkpoint goes, and the hash up to there.
            whole: whether there must be nothing beyond it, because the run is done.
            beyond: whether lines beyond it count.
            sha256: of the whole file, if that is known, too.

        Raises:
            RunError: if the file is not what was sealed, or a line is not a JSON object.
        """
        path = self.path
        try:
            content = self.content
        except OSError as error:
            raise RunError(f"{path}: {error.strerror}") from error
        if len(content) < sealed.bytes:
            size = len(content)
            raise RunError(f"{path} has {size} bytes, and its checkpoint says {sealed.bytes}")
        if whole and len(content) > sealed.bytes:
            raise RunError(f"{path} has grown since the run was done")
        if hashlib.sha256(memoryview(content)[: sealed.bytes]).hexdigest() != sealed.sha256:
            raise RunError(f"{path} is no longer what it was when its checkpoint was made")
        if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
            raise RunError(f"{path} is no longer what it was when the run failed")
        lines = (content if beyond else content[: sealed.bytes]).split(b"\n")[:-1]
        return [decode(path, *line) for line in enumerate(lines, 1)]


def _fault(path: Path, size: int, offset: Offset, start: Callable[[], Any]) -> str | None:
    """What is wrong with a file of that size; ``start`` hashes it up to ``offset``."""
    if size < offset.bytes:
        return f"{path.name} has {size} bytes, and {offset.bytes} when this was made"
    if offset.bytes > capacity.MOST_READ:
        return f"{path.name} has {size} bytes, more than a run writes"
    if offset.bytes and start().hexdigest() != offset.sha256:
        return f"{path.name} is no longer what it was when this was made"
    return None


def _complaint(record: Record) -> str:
    for key, value in _scalars(record, "record"):
        if isinstance(value, float) and not math.isfinite(value):
            return f"{key} is {value}: JSON has finite numbers only, and a run that has others ends"
        if not isinstance(value, str | int | float | None):
            return f"{key} is a {type(value).__name__}: make it a plain number, text, list or dict"
    return "record: must be plain JSON, nested less deeply"


def _scalars(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _scalars(part, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _scalars(part, f"{name}[{index}]")
    else:
        yield name, value


def _hash(path: Path, size: int) -> Any:
    found = hashlib.sha256()
    with files.reading(path) as file:
        while size and (block := file.read(min(size, 2**20))):
            found.update(block)
            size -= len(block)
    return found

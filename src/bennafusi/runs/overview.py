"""How far runs are, a row for each."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from bennafusi.files import RunError
from bennafusi.runs.folder import Folder
from bennafusi.runs.load import described, find

_LOOK = 10.0  # seconds between looks for new runs


class Row(NamedTuple):
    """One run, for a table: what it is, and how far by its :class:`~.status.Status`.

    Its state may also be ``unreadable``, as where its files are of different runs; ``where`` is the
    ``host:process`` that works on it, if one does.
    """

    folder: Path
    experiment: str
    variant: str
    seed: int
    state: str
    done: int = 0
    total: int = 0
    rate: float | None = None
    left: float | None = None
    attempts: int = 0
    seconds: float = 0.0
    reason: str | None = None
    warnings: tuple[str, ...] = ()
    where: str = ""
    updated: float = 0.0


class Overview:
    """How far all runs in a folder are, again and again; reads only what has changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folders: list[Folder] = []
        self._looked = -_LOOK
        self._known: dict[Path, tuple[tuple[int, int], Row]] = {}

    def rows(self) -> list[Row]:
        """A row for each run.

        Raises:
            FolderError: if there is none.
        """
        if time.monotonic() - self._looked >= _LOOK:
            self._folders, self._looked = find(self.root), time.monotonic()
        return [self._row(folder) for folder in self._folders]

    def _row(self, folder: Folder) -> Row:
        try:
            found = folder.status.stat()
        except OSError:
            return row_of(folder)
        stamp, known = (found.st_mtime_ns, found.st_ino), self._known.get(folder.path)
        # A run that goes on may end without another word; it is looked at each time.
        if known and known[0] == stamp and known[1].state not in ("running", "unreadable"):
            return known[1]
        row = row_of(folder)
        self._known[folder.path] = (stamp, row)
        return row


def row_of(folder: Folder) -> Row:
    """How far one run is, or why that cannot be said."""
    try:
        spec, _, _, status = described(folder)
    except RunError as error:
        return Row(folder.path, "?", "?", -1, "unreadable", reason=str(error))
    shared = {name: getattr(status, name) for name in Row._fields if hasattr(status, name)}
    where = folder.owner() if status.state == "running" else ""
    return Row(folder.path, spec.experiment, spec.variant, spec.seed, where=where, **shared)

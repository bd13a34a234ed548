"""Looking at runs: how far they are, and their numbers as CSV."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

from bennafusi import files
from bennafusi.files import RunError
from bennafusi.runs.folder import Folder
from bennafusi.runs.load import Problem, described, find, load, twins

_LOOK = 10.0  # seconds between looks for new runs


class Row(NamedTuple):
    """One run, for a table: what it is, and how far by its :class:`~.progress.Status`.

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
            return _row(folder)
        stamp, known = (found.st_mtime_ns, found.st_ino), self._known.get(folder.path)
        # A run that goes on may end without another word; it is looked at each time.
        if known and known[0] == stamp and known[1].state not in ("running", "unreadable"):
            return known[1]
        row = _row(folder)
        self._known[folder.path] = (stamp, row)
        return row


def summary(root: Path) -> list[Row]:
    """How far each run is."""
    return [_row(folder) for folder in find(root)]


def export_csv(root: Path, path: Path) -> tuple[int, list[Problem]]:
    """Write the metrics of all runs as one table; lists and objects become JSON in their cell.

    Returns:
        The number of lines below the header, and what is wrong with runs that are not in it.
    """
    names: dict[str, int] = {}
    lines: list[tuple[int, str]] = []  # how many columns there were, and the text
    problems, known = [], []
    for folder in find(root):
        try:
            run = load(folder)
            known.append((folder, run.spec, run.status))
        except RunError as error:
            problems.append(Problem(folder.path, str(error)))
            continue
        which = (run.spec.experiment, run.spec.variant, run.spec.seed)
        for record in run.records:
            for name in record:
                names.setdefault(name, len(names))
            cells = (_cell(record.get(name)) for name in names)
            lines.append((len(names), files.csv_line([*which, *cells])))
    header = files.csv_line(["experiment", "variant", "seed", *names])
    rest = (f"{text}{',' * (len(names) - width)}\n" for width, text in lines)
    files.replace(path, f"{header}\n{''.join(rest)}".encode())
    return len(lines), problems + twins(known)


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict | bool) else value


def _row(folder: Folder) -> Row:
    try:
        spec, _, _, status = described(folder)
    except RunError as error:
        return Row(folder.path, "?", "?", -1, "unreadable", reason=str(error))
    shared = {name: getattr(status, name) for name in Row._fields if hasattr(status, name)}
    where = folder.owner() if status.state == "running" else ""
    return Row(folder.path, spec.experiment, spec.variant, spec.seed, where=where, **shared)

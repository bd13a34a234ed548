"""One way to read runs, for everybody: whole and as it was sealed, or named as a problem.

What a run found counts only as far as its newest checkpoint vouches for it. A finished run must be
that to the byte; one that goes on may have lines beyond, the last of them torn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bennafusi.files import RunError
from bennafusi.runs import checkpoint, metrics, progress
from bennafusi.runs.folder import Folder, FolderError
from bennafusi.runs.job import Record, RunSpec
from bennafusi.runs.progress import Status


class Problem(NamedTuple):
    """What is wrong, and in which run."""

    folder: Path
    text: str


class Run(NamedTuple):
    """A run, as far as it is.

    Attributes:
        folder: where it lies.
        spec: what it is.
        environment: what it was started on, None if it was not yet.
        status: how far it is.
        records: what it found, checked against its newest checkpoint.
    """

    folder: Folder
    spec: RunSpec
    environment: dict[str, Any] | None
    status: Status
    records: Sequence[Record]

    @property
    def over(self) -> bool:
        """Whether it is done."""
        return self.status.state == "done"


class Loaded(NamedTuple):
    """The runs that can be relied on, and what is wrong with the others."""

    runs: list[Run]
    problems: list[Problem]


def find(root: Path) -> list[Folder]:
    """Every run in a folder, or the run that the folder is; links are not followed.

    Raises:
        FolderError: if there is none.
    """
    found = []
    for path, folders, names in os.walk(root, followlinks=False):
        folders.sort()
        if "config.json" in names:
            found.append(Folder(Path(path)))
            folders.clear()  # no run lies within another
    if not found:
        raise FolderError(f"{root}: there is no run in it; name the folder given to --out")
    return found


def load(folder: Folder) -> Run:
    """Read a run, each of its files once.

    Raises:
        RunError: if it is damaged, or not what was sealed.
    """
    spec, environment = folder.read_config()
    status = progress.actual(folder)
    over = status.state == "done"
    manifest = checkpoint.newest_manifest(folder.checkpoints)
    if manifest is None and (over or status.checkpoints):
        raise checkpoint.CheckpointError(f"{folder.checkpoints}: no checkpoint is left")
    sealed = metrics.Offset(**manifest.metrics) if manifest else metrics.NOTHING
    records = metrics.read(folder.metrics, sealed, whole=over or manifest is None)
    return Run(folder, spec, environment, status, records)


def load_all(root: Path, wanted: Callable[[RunSpec], bool] = lambda spec: True) -> Loaded:
    """The runs below a folder; one that cannot be relied on never hides the others.

    Args:
        root: the folder.
        wanted: which of them, by what they are.

    Raises:
        FolderError: if there is none at all.
    """
    runs, problems = [], []
    for folder in find(root):
        try:
            if wanted(folder.read_config()[0]):
                runs.append(load(folder))
        except RunError as error:
            problems.append(Problem(folder.path, str(error)))
    return Loaded(runs, problems)

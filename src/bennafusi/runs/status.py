"""Looking at runs: how far they are, whether their files are sound, and their numbers as CSV."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bennafusi.runs import disk, metrics, progress
from bennafusi.runs.disk import RunError
from bennafusi.runs.folder import Folder, FolderError
from bennafusi.runs.verify import Problem as Problem
from bennafusi.runs.verify import Verified
from bennafusi.runs.verify import verify_run as verify_run


class Row(NamedTuple):
    """One run, for a table.

    Attributes:
        folder: where it lies.
        experiment: its experiment.
        variant: its variant.
        seed: its seed.
        state: planned, running, interrupted, failed, done, or unreadable.
        done: units of work done.
        total: units of work in all, 0 if the run has not begun.
        rate: units a second, None if that is not known.
        left: seconds left, None if that is not known.
        attempts: how often it was started.
        seconds: of work so far, over all attempts.
        reason: why it stopped, if it did.
        warnings: what was repaired, and what may change its bits.
    """

    folder: Path
    experiment: str
    variant: str
    seed: int
    state: str
    done: int
    total: int
    rate: float | None
    left: float | None
    attempts: int
    seconds: float
    reason: str | None
    warnings: tuple[str, ...]


def find(root: Path) -> list[Folder]:
    """Every run in a folder, or the run that the folder is; links are not followed.

    Raises:
        FolderError: if there is none.
    """
    found = []
    for path, folders, files in os.walk(root, followlinks=False):
        folders.sort()
        if "config.json" in files:
            found.append(Folder(Path(path)))
            folders.clear()  # no run lies within another
    if not found:
        raise FolderError(f"{root}: there is no run in it; name the folder given to --out")
    return found


def summary(root: Path) -> list[Row]:
    """How far each run is."""
    return [_row(folder) for folder in find(root)]


def verify(root: Path) -> Verified:
    """Check every checkpoint, manifest, metrics line and config; changes nothing."""
    parts = [verify_run(folder) for folder in find(root)]
    problems = [problem for part in parts for problem in part.problems]
    checkpoints, lines = sum(p.checkpoints for p in parts), sum(p.lines for p in parts)
    return Verified(len(parts), checkpoints, lines, problems)


def export_csv(root: Path, path: Path) -> int:
    """Write the metrics of all runs as one table; lists and objects become JSON in their cell.

    Returns:
        The number of lines below the header.
    """
    names = dict.fromkeys(key for _, record in _records(root) for key in record)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["experiment", "variant", "seed", *names])
    count = 0
    for (experiment, variant, seed), record in _records(root):
        cells = (record.get(name) for name in names)
        writer.writerow([experiment, variant, seed, *map(_cell, cells)])
        count += 1
    disk.replace(path, table.getvalue().encode())
    return count


def _records(root: Path) -> Iterator[tuple[tuple[str, str, int], dict[str, object]]]:
    for folder in find(root):
        spec, _ = folder.read_config()
        for record in metrics.read(folder.metrics):
            yield (spec.experiment, spec.variant, spec.seed), record


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict | bool) else value


def _row(folder: Folder) -> Row:
    try:
        spec, _ = folder.read_config()
        status = progress.actual(folder)
    except RunError as error:
        nothing = (0, 0, None, None, 0, 0.0)
        return Row(folder.path, "?", "?", -1, "unreadable", *nothing, str(error), ())
    return Row(
        folder.path,
        spec.experiment,
        spec.variant,
        spec.seed,
        status.state,
        status.done,
        status.total,
        status.rate,
        status.left,
        status.attempts,
        status.seconds,
        status.reason,
        status.warnings,
    )

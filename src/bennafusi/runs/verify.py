"""Whether the files of a run are what was written."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from bennafusi.runs import checkpoint, metrics, progress
from bennafusi.runs.checkpoint import CheckpointError
from bennafusi.runs.disk import RunError
from bennafusi.runs.folder import Folder
from bennafusi.runs.progress import Status


class Problem(NamedTuple):
    """What is wrong, and in which run."""

    folder: Path
    text: str


class Verified(NamedTuple):
    """How much was looked at, and what was wrong."""

    runs: int
    checkpoints: int
    lines: int
    problems: list[Problem]


def verify_run(folder: Folder) -> Verified:
    """Check one run; changes nothing. One that is being written may show problems that pass."""
    texts: list[str] = []
    status = Status()
    try:
        folder.read_config()
    except RunError as error:
        texts.append(str(error))
    try:
        status = progress.actual(folder)
    except RunError as error:
        texts.append(str(error))
    lines, found = _metrics(folder, status)
    texts += found
    count, found = _checkpoints(folder, status)
    texts += found + _final(folder, status)
    return Verified(1, count, lines, [Problem(folder.path, text) for text in texts])


def _metrics(folder: Folder, status: Status) -> tuple[int, list[str]]:
    lines = 0
    try:
        for _ in metrics.read(folder.metrics):
            lines += 1
        torn = folder.metrics.exists() and folder.metrics.read_bytes()[-1:] not in (b"", b"\n")
    except (RunError, OSError) as error:
        return lines, [str(error)]
    # Elsewhere a torn line is what a kill leaves, and a resume cuts off.
    return lines, [f"{folder.metrics}: its last line is torn"] if torn and _over(status) else []


def _checkpoints(folder: Folder, status: Status) -> tuple[int, list[str]]:
    texts: list[str] = []
    try:
        numbers = checkpoint.numbers(folder.checkpoints)
    except RunError as error:
        return 0, [str(error)]
    if not numbers and status.checkpoints:
        texts.append(f"{folder.checkpoints}: no checkpoint is left")
    for number in numbers:
        try:
            manifest, _ = checkpoint.read(folder.checkpoints, number)
            if wrong := metrics.fault(folder.metrics, metrics.Offset(**manifest.metrics)):
                raise CheckpointError(wrong)
            size = folder.metrics.stat().st_size if folder.metrics.exists() else 0
            if _over(status) and number == numbers[-1] and size != manifest.metrics["bytes"]:
                raise CheckpointError(f"{folder.metrics.name} has grown since the run was done")
        except CheckpointError as error:
            texts.append(f"checkpoint {number} is bad: {error}")
    return len(numbers), texts


def _final(folder: Folder, status: Status) -> list[str]:
    if not _over(status):
        return []
    try:
        found = hashlib.sha256(folder.final.read_bytes()).hexdigest()
    except OSError as error:
        return [f"{folder.final}: {error.strerror}"]
    return [] if found == status.final_sha256 else [f"{folder.final}: is not what was written"]


def _over(status: Status) -> bool:
    return status.state == "done"

"""Whether the files of a run are what was written."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

from bennafusi.files import RunError
from bennafusi.runs import checkpoint, metrics
from bennafusi.runs.folder import Folder
from bennafusi.runs.load import Problem, final, find, load, plans, twins
from bennafusi.runs.manifest import CheckpointError, ForeignError, check_run, numbers
from bennafusi.runs.status import Status, actual_status


class Verified(NamedTuple):
    """How much was looked at, and what was wrong."""

    runs: int
    checkpoints: int
    lines: int
    problems: list[Problem]


def verify(root: Path) -> Verified:
    """Check every run that is there or was planned; changes nothing."""
    folders = find(root)
    parts = [verify_run(folder) for folder in folders]
    problems = [problem for part in parts for problem in part.problems]
    for plan in plans(root):
        problems += [Problem(plan.path.parent, text) for text in plan.problems]
    known = []
    for folder in folders:
        with contextlib.suppress(RunError):
            known.append((folder, folder.read_config()[0], actual_status(folder)))
    checkpoints, lines = sum(p.checkpoints for p in parts), sum(p.lines for p in parts)
    return Verified(len(parts), checkpoints, lines, problems + twins(known))


def verify_run(folder: Folder) -> Verified:
    """Check one run; changes nothing. One that is being written may show problems that pass."""
    texts: list[str] = []
    lines, status = 0, Status()
    try:
        run = load(folder)
        lines, status = len(run.records), run.status
    except RunError as error:
        texts.append(str(error))
        with contextlib.suppress(RunError):
            status = actual_status(folder)
    identity = None
    with contextlib.suppress(RunError):
        identity = folder.identity()
    count, found = _checkpoints(folder, identity) if folder.path.is_dir() else (0, [])
    texts += found
    try:
        final(folder, status)
    except RunError as error:
        texts.append(str(error))
    unique = dict.fromkeys(texts)
    return Verified(1, count, lines, [Problem(folder.path, text) for text in unique])


def _checkpoints(folder: Folder, run: str | None) -> tuple[int, list[str]]:
    try:
        found = numbers(folder.checkpoints)
    except RunError as error:
        return 0, [str(error)]
    texts: list[str] = []
    for number in found:
        try:
            manifest, _ = checkpoint.read(folder.checkpoints, number)
            check_run(manifest, run)
            # That of the newest one was looked at when the run was read.
            fault = metrics.fault(folder.metrics, metrics.Offset(**manifest.metrics))
            if fault and number != found[-1]:
                raise CheckpointError(fault)
        except ForeignError as error:
            texts.append(str(error))
        except CheckpointError as error:
            texts.append(f"checkpoint {number} is bad: {error}")
    return len(found), texts

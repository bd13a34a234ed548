"""Whether the files of a run are what was written."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

from bennafusi.files import RunError
from bennafusi.runs import checkpoint, metrics_file
from bennafusi.runs.folder import Folder
from bennafusi.runs.load import Problem, final, find, load, plans, twins
from bennafusi.runs.manifest import CheckpointError, ForeignError, Manifest, check_run, numbers
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
    found, unlisted = _checkpoints(folder) if folder.path.is_dir() else ({}, [])
    written = metrics_file.Written(folder.metrics)  # read after the manifests that vouch for it
    try:
        run = load(folder, written)
        lines, status = len(run.records), run.status
    except RunError as error:
        texts.append(str(error))
        with contextlib.suppress(RunError):
            status = actual_status(folder)
    identity = None
    with contextlib.suppress(RunError):
        identity = folder.identity()
    texts += unlisted
    for number, one in found.items():
        # The lines of the newest one were looked at when the run was read.
        texts += _faults(one, identity, None if number == max(found) else written)
    try:
        final(folder, status)
    except RunError as error:
        texts.append(str(error))
    unique = dict.fromkeys(texts)
    return Verified(1, len(found), lines, [Problem(folder.path, text) for text in unique])


def _checkpoints(folder: Folder) -> tuple[dict[int, Manifest | str], list[str]]:
    """The manifest of each, or what is wrong with it; and why they cannot be listed."""
    found: dict[int, Manifest | str] = {}
    try:
        for number in numbers(folder.checkpoints):
            try:
                found[number] = checkpoint.read(folder.checkpoints, number)[0]
            except CheckpointError as error:
                found[number] = f"checkpoint {number} is bad: {error}"
            except RunError as error:  # no memory to look at it, which says nothing of it
                found[number] = str(error)
    except RunError as error:
        return {}, [str(error)]
    return found, []


def _faults(
    found: Manifest | str, run: str | None, written: metrics_file.Written | None
) -> list[str]:
    """What is wrong with a checkpoint: with itself, its run, or the metrics it belongs to."""
    if isinstance(found, str):
        return [found]
    try:
        check_run(found, run)
    except ForeignError as error:
        return [str(error)]
    fault = written and written.fault(metrics_file.Offset(**found.metrics))
    return [f"checkpoint {found.number} is bad: {fault}"] if fault else []

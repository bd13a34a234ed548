"""One way to read runs, for everybody: whole and as it was sealed, or named as a problem.

What a run found counts only as far as its newest checkpoint vouches for it. A finished run must be
that to the byte. One that goes on may have lines beyond, the last of them torn; so may one that
failed, whose status vouches for them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from bennafusi import files
from bennafusi.files import RunError
from bennafusi.runs import capacity, metrics_file, tree
from bennafusi.runs.folder import PLAN, Folder, FolderError, check_name
from bennafusi.runs.job import Record, RunSpec
from bennafusi.runs.manifest import CheckpointError, check_run, newest_manifest
from bennafusi.runs.status import Status, actual_status

_SEED = re.compile(r"seed-\d+")
_LEFT = {"config.json", "metrics.jsonl", "status.json", "checkpoints", "final.npz"}


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


class Plan(NamedTuple):
    """Which runs there must be, by what the commands wrote that planned them.

    Attributes:
        path: of the file.
        runs: their folders.
        problems: lines of the file that make no sense.
    """

    path: Path
    runs: list[Path]
    problems: list[str]


def find(root: Path) -> list[Folder]:
    """Every run in a folder, or the run that the folder is; links are not followed.

    A run that was planned is among them even if its config, or all of it, is gone.

    Raises:
        FolderError: if there is none.
    """
    found, planned = _walk(root)
    top, known = _full(root), set(map(_full, found))
    for run in (run for plan in planned for run in plan.runs):
        if _full(run) not in known and _full(run).is_relative_to(top):
            found.append(root / _full(run).relative_to(top))
    if not found:
        what = "there is no run in it" if root.exists() else "there is no such folder"
        raise FolderError(f"{root}: {what}; name the folder given to --out")
    return [Folder(path) for path in sorted(found)]


def plans(root: Path) -> list[Plan]:
    """The plans in a folder, and the one of the experiment that it is a part of."""
    return _walk(root)[1]


def _walk(root: Path) -> tuple[list[Path], list[Plan]]:
    """The folders that have a config or should have one, and all plans; no run lies in another."""
    parents = _full(root).parents[:2]
    if not root.is_absolute():  # messages name files as the user does
        parents = [Path(os.path.relpath(parent)) for parent in parents]
    above = (parent / PLAN for parent in parents)
    runs, places = [], [path for path in above if path.is_file()]
    for path, folders, names in os.walk(root, followlinks=False):
        if PLAN in names:
            places.append(Path(path, PLAN))
        lost = _SEED.fullmatch(os.path.basename(path)) and _LEFT & {*names, *folders}
        if "config.json" in names or lost:
            runs.append(Path(path))
            folders.clear()
    return runs, [read_plan(path) for path in places]


def _full(path: Path) -> Path:
    """A path from the root of the disk: ``.`` and ``..`` do not say what is around them."""
    return Path(os.path.abspath(path))


def read_plan(path: Path) -> Plan:
    """What stands in a plan; a torn last line is what a power cut leaves."""
    runs, problems = [], []
    try:
        lines = files.read(path, files.MOST_JSON).split(b"\n")[:-1]
    except OSError as error:
        lines, problems = [], [f"{path}: {error.strerror}"]
    for number, line in enumerate(lines, 1):
        try:
            variant, seed = files.parse(line)
            if type(seed) is not int or seed < 0:
                raise ValueError(f"seed={seed!r}: must be a whole number, 0 or more")
            run = path.parent / check_name("variant", variant) / f"seed-{seed}"
            if run.is_symlink() or run.parent.is_symlink():
                raise ValueError(f"{run} is a symbolic link, which could lead anywhere")
            runs.append(run)
        except (ValueError, TypeError, FolderError) as error:
            problems.append(f"{path}, line {number}: {error}")
    return Plan(path, list(dict.fromkeys(runs)), problems)


class Described(NamedTuple):
    """What a run is and how far, by files that agree with each other."""

    spec: RunSpec
    environment: dict[str, Any] | None
    identity: str
    status: Status


def described(folder: Folder) -> Described:
    """What a run says of itself, without what it found.

    Raises:
        RunError: if a file cannot be read, or config, status and folder are not of one run.
    """
    spec, environment = folder.read_config()
    run = folder.identity()
    if _SEED.fullmatch(folder.path.name) and folder.path.name != f"seed-{spec.seed}":
        raise FolderError(f"{folder.config}: says seed {spec.seed}, its folder {folder.path.name}")
    status = actual_status(folder)
    if status.run not in (None, run):
        raise FolderError(f"{folder.status}: is that of another run than config.json")
    return Described(spec, environment, run, status)


def load(folder: Folder, written: metrics_file.Written | None = None) -> Run:
    """Read a run, each of its files once.

    Args:
        folder: of the run.
        written: its metrics, for those who ask more of them than their records.

    Raises:
        RunError: if it is damaged, or not what was sealed.
    """
    spec, environment, run, status = described(folder)
    over = status.state == "done"
    newest = newest_manifest(folder.checkpoints)
    if newest is None and (over or status.checkpoints):
        raise CheckpointError(f"{folder.checkpoints}: no checkpoint is left")
    if newest:
        check_run(newest, run)
        if over and newest.counters.get("done") != newest.counters.get("total"):
            raise CheckpointError(f"{folder.checkpoints}: the one of the run's end is not there")
    sealed = metrics_file.Offset(**newest.metrics) if newest else metrics_file.NOTHING
    # After the manifest: a run that goes on may have sealed more by now than it had written before.
    records = (written or metrics_file.Written(folder.metrics)).records(
        sealed,
        whole=over or newest is None,
        beyond=status.state in ("running", "failed"),
        sha256=status.metrics_sha256 if status.state == "failed" else None,
    )
    return Run(folder, spec, environment, status, records)


def final(folder: Folder, status: Status) -> dict[str, NDArray[Any]] | None:
    """The arrays that a run kept at its end, None if it is not there yet.

    Raises:
        RunError: if they are not what was written.
    """
    if status.state != "done":
        return None
    try:
        content = files.read(folder.final, capacity.readable())
        if hashlib.sha256(content).hexdigest() != status.final_sha256:
            raise RunError(f"{folder.final}: is not what was written")
        return tree.unpack(content)
    except OSError as error:
        raise RunError(f"{folder.final}: {error.strerror}") from error
    except ValueError as error:
        raise RunError(f"{folder.final}: {error}") from error


def load_all(root: Path, wanted: Callable[[RunSpec], bool] = lambda spec: True) -> Loaded:
    """The runs below a folder; one that cannot be relied on never hides the others.

    Args:
        root: the folder.
        wanted: which of them, by what they are.

    Raises:
        FolderError: if there is none at all.
    """
    return load_folders(find(root), wanted)


def load_folders(
    folders: Iterable[Folder], wanted: Callable[[RunSpec], bool] = lambda spec: True
) -> Loaded:
    """The runs in these folders; see :func:`load_all`."""
    runs, problems = [], []
    for folder in folders:
        try:
            if wanted(folder.read_config()[0]):
                runs.append(load(folder))
        except RunError as error:
            problems.append(Problem(folder.path, str(error)))
    same = twins((run.folder, run.spec, run.status) for run in runs)
    alone = [run for run in runs if run.folder.path not in {problem.folder for problem in same}]
    return Loaded(alone, problems + same)


def twins(runs: Iterable[tuple[Folder, RunSpec, Status]]) -> list[Problem]:
    """Finished runs that found and kept the same to the bit under different seeds: copies.

    Equal arrays alone prove nothing: a job may keep none, or some that no seed changes.
    """
    alike: dict[tuple[str, str], list[tuple[int, Folder]]] = {}
    for folder, spec, status in runs:
        if status.state == "done" and status.final_sha256:
            alike.setdefault((spec.experiment, status.final_sha256), []).append((spec.seed, folder))
    problems = []
    for same in alike.values():
        for copies in _alike_in_metrics(same):
            text = f"final.npz and metrics are to the bit those of seeds {sorted(copies)}: a copy?"
            problems += [Problem(folder.path, text) for folder in copies.values()]
    return problems


def _alike_in_metrics(runs: Sequence[tuple[int, Folder]]) -> list[dict[int, Folder]]:
    """Those of different seeds whose newest checkpoints vouch for the same metrics, by seed."""
    found: dict[str, dict[int, Folder]] = {}
    for seed, folder in runs if len(runs) > 1 else ():
        with contextlib.suppress(RunError):  # one that cannot be read is a problem of its own
            if newest := newest_manifest(folder.checkpoints):
                found.setdefault(newest.metrics["sha256"], {})[seed] = folder
    return [same for same in found.values() if len(same) > 1]

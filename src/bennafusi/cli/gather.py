"""What there is below a folder, as far as it can be read: for a report, which never gives up."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bennafusi.cli import results
from bennafusi.cli.catalogue import Entry, UnknownError, find
from bennafusi.cli.results import in_order
from bennafusi.results import RunData

T = TypeVar("T")


class Group(NamedTuple):
    """The runs of one experiment that belong together: one ``--out``, one set of settings.

    Attributes:
        entry: the experiment.
        where: the folder they lie in, below the one that was named; empty if it is that one.
        settings: of all of them, as plain JSON.
        environment: what the first of them ran on.
        folders: of the runs, by variant and seed.
        rows: how far each is.
    """

    entry: Entry
    where: str
    settings: dict[str, Any]
    environment: dict[str, Any]
    folders: dict[tuple[str, int], Any]
    rows: list[Any]


class Gathered(NamedTuple):
    """Everything below a folder.

    Attributes:
        groups: of durable runs.
        memories: the files of runs of ``memory``.
        problems: what could not be read, in sentences.
    """

    groups: list[Group]
    memories: list[Path]
    problems: list[str]


def gather(root: Path) -> Gathered:
    """All runs below a folder, grouped; what cannot be read is named and left out.

    Raises:
        RunError: if there is nothing at all.
    """
    from bennafusi.files import RunError
    from bennafusi.runs import status
    from bennafusi.runs.folder import FolderError

    memories = _memories(root)
    problems: list[str] = []
    groups: dict[str, Group] = {}
    try:
        folders = status.find(root)
    except FolderError as error:
        if not memories:
            raise FolderError(f"{error}. A report needs a run that has begun") from error
        folders = []
    for folder in folders:
        try:
            _take(root, folder, groups)
        except (RunError, UnknownError, OSError) as error:
            problems.append(relative(root, f"{folder.path}: {error}"))
    found = [g._replace(rows=in_order(g.entry, g.rows)) for g in groups.values()]
    return Gathered(found, memories, problems)


def attempt(what: str, problems: list[str], root: Path, make: Callable[[], T], otherwise: T) -> T:
    """Make a part of a report; one that cannot be made is named, and the rest is made."""
    try:
        return make()
    except Exception as error:
        text = f"{what}: {type(error).__name__}: {error}"
        problems.append(relative(root, text if len(text) < 500 else f"{text[:497]}..."))
        return otherwise


def relative(root: Path, text: str) -> str:
    """A message without where the folder lies: a report may be handed on.

    Example:
        >>> relative(Path("there/runs"), "there/runs/a/config.json: is not there")
        'a/config.json: is not there'
    """
    for name in {str(root), str(root.resolve())} - {"."}:
        text = text.replace(f"{name}{os.sep}", "")
    return text


def signature(root: Path) -> dict[str, tuple[int, int]]:
    """What changes when a run goes on: size and time of each file that a report reads."""
    found = {}
    for path, folders, names in os.walk(root, followlinks=False):
        if "config.json" in names:
            folders.clear()
        for name in {"config.json", "metrics.jsonl", "status.json", "memory.json"} & set(names):
            try:
                seen = os.stat(os.path.join(path, name))
            except OSError:
                continue  # replaced at this moment; the next look finds it
            found[os.path.join(path, name)] = (seen.st_size, seen.st_mtime_ns)
    return found


def load(root: Path, group: Group, problems: list[str]) -> list[RunData]:
    """The records of a group's runs; those of a long run take much memory, so not before it is due.

    Args:
        root: the folder that was named.
        group: whose.
        problems: gets those that cannot be read.
    """
    from bennafusi.runs.load import load_folders

    loaded = load_folders(group.folders[row.variant, row.seed] for row in group.rows)
    runs, damaged = results.run_data(loaded)
    problems += (relative(root, f"{one.folder}: {one.text}") for one in damaged)
    return [run for run in runs if run.records]


def _take(root: Path, folder: Any, groups: dict[str, Group]) -> None:
    """Add a run to the group it belongs to."""
    from bennafusi.files import RunError
    from bennafusi.runs import status

    spec, environment = folder.read_config()
    entry = find(spec.experiment)
    row = status.summary(folder.path)[0]
    if row.state == "unreadable":
        raise RunError(str(row.reason))
    out = folder.path.parents[2] if len(folder.path.parents) > 2 else folder.path
    where = os.path.relpath(out, root) if out.is_relative_to(root) and out != root else ""
    key = json.dumps([entry.name, str(out), spec.settings], sort_keys=True)
    group = groups.setdefault(key, Group(entry, where, spec.settings, {}, {}, []))
    name = (spec.variant, spec.seed)
    if name in group.folders:
        raise RunError(f"{spec.variant}, seed {spec.seed} is there twice")
    group.folders[name] = folder
    group.rows.append(row)
    if not group.environment:
        group.environment.update(environment or {})


def _memories(root: Path) -> list[Path]:
    found = []
    for path, folders, names in os.walk(root, followlinks=False):
        folders.sort()
        if "config.json" in names:
            folders.clear()
        elif "memory.json" in names:
            found.append(Path(path, "memory.json"))
    return found

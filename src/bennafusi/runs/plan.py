"""From an experiment to its runs: which there are, and where they lie."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bennafusi import files
from bennafusi.files import dump, parse
from bennafusi.runs.config import ConfigError, flat
from bennafusi.runs.folder import PLAN, Folder, FolderError
from bennafusi.runs.job import RunSpec
from bennafusi.runs.load import read_plan
from bennafusi.runs.status import Status, write_status

_PARTIAL = re.compile(r"\.(config|status)\.json\..*part(\.json)?")
_MANY = 100  # folders from which on waiting for the disk once is faster than for each file


def plan(
    experiment: str, variants: Iterable[str], seeds: Iterable[int], settings: Mapping[str, Any]
) -> list[RunSpec]:
    """Every variant with every seed; seeds outside, so that each variant has its first seed early.

    Args:
        experiment: its name.
        variants: their names.
        seeds: their numbers.
        settings: plain JSON, as :func:`bennafusi.runs.config.to_json` makes it.

    Example:
        >>> [(s.variant, s.seed) for s in plan("grid", ["control", "chain"], range(2), {})]
        [('control', 0), ('chain', 0), ('control', 1), ('chain', 1)]
    """
    names, numbers = list(variants), list(seeds)
    for what, given in (("variants", names), ("seeds", numbers)):
        if not given or len(set(given)) < len(given):
            raise FolderError(f"{what}={given}: must be at least one, and none twice")
    try:
        plain = parse(dump(dict(settings)))
    except TypeError as error:
        raise ConfigError(f"settings: {error}; use bennafusi.runs.config.to_json") from error
    except ValueError as error:  # a number that no reader of the file would take
        raise ConfigError(f"settings: {error}; choose another") from error
    specs = [RunSpec(experiment, name, seed, plain) for seed in numbers for name in names]
    for spec in specs:
        Folder.of(Path(), spec)  # refuses names before anything is made
    return specs


def check_neighbours(root: Path, spec: RunSpec) -> None:
    """Refuse settings that differ from those of the experiment's runs that are there already.

    For experiments whose runs are judged together.
    """
    for config in sorted((root / spec.experiment).glob("*/*/config.json")):
        folder = Folder(config.parent)
        there, _ = folder.read_config()
        _same(folder, {"settings": there.settings}, {"settings": spec.settings})


def prepare(root: Path, specs: Iterable[RunSpec]) -> list[Folder]:
    """The folders of runs below one root; see :func:`prepare_all`."""
    return prepare_all((root, spec) for spec in specs)


def ask_all(wanted: Iterable[tuple[Path, RunSpec]]) -> list[tuple[Folder, RunSpec]]:
    """What :func:`prepare_all` asks before it makes anything: the folders, or why they cannot be.

    Raises:
        ConfigError: if a folder holds another run than the plan has there.
    """
    folders = [(Folder.of(root, spec), spec) for root, spec in wanted]
    for folder, spec in folders:
        # Asked twice: another command may make it while we look.
        if not folder.made() and folder.path.exists() and _foreign(folder) and not folder.made():
            raise FolderError(f"{folder.path}: there are files in it and no config.json: remove it")
        if folder.made():
            _same(folder, vars(folder.read_config()[0]), vars(spec))
    return folders


def prepare_all(wanted: Iterable[tuple[Path, RunSpec]]) -> list[Folder]:
    """The runs' folders, made where they are not there yet; the others are to be continued.

    Nothing is made if any one of them is refused.

    Args:
        wanted: each run, with the root below which its folder lies.

    Raises:
        ConfigError: if a folder holds another run than the plan has there.
    """
    folders = ask_all(wanted)
    new = [(folder, spec) for folder, spec in folders if not folder.made()]
    durable = len(new) < _MANY
    for folder, spec in new:
        folder.create(spec, durable=durable)
        write_status(folder, Status(), durable=durable)
    _write_down(folders)
    if not durable:
        os.sync()  # once for all of them; a power cut before it leaves what is made anew
    return [folder for folder, _ in folders]


def _write_down(wanted: Iterable[tuple[Folder, RunSpec]]) -> None:
    """Add runs to the plans of their experiments, so that one that is lost is missed."""
    known: dict[Path, set[Path]] = {}
    new: dict[Path, list[bytes]] = {}
    for folder, spec in wanted:
        path = folder.path.parents[1] / PLAN
        if path not in known:
            known[path] = set(read_plan(path).runs) if path.exists() else set()
        if folder.path not in known[path]:
            new.setdefault(path, []).append(files.dump([spec.variant, spec.seed]))
    for path, lines in new.items():
        with files.storing(path):
            _append(path, b"".join(lines))


def _append(path: Path, content: bytes) -> None:
    """Add lines to a plan.

    A torn last line, as a power cut leaves it, goes: the next would be glued to it and lost.
    """
    found = files.descriptor(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        fcntl.flock(found, fcntl.LOCK_EX)  # others may plan at the same time
        size = os.fstat(found).st_size
        if size and os.pread(found, 1, size - 1) != b"\n":
            os.ftruncate(found, files.read(path, files.MOST_JSON).rfind(b"\n") + 1)
        files.write_all(found, content)
    finally:
        os.close(found)


def _foreign(folder: Folder) -> bool:
    """Whether anything is in it besides what a kill or a power cut leaves of making it."""
    if not folder.path.is_dir():
        return True
    ours = {folder.checkpoints.name}
    if folder.config.exists():  # and empty: a power cut came before the disk had what was planned
        ours |= {folder.config.name, folder.status.name}
    names = (path.name for path in folder.path.iterdir())
    return any(name not in ours and not _PARTIAL.fullmatch(name) for name in names)


def _same(folder: Folder, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    old, new = flat(there), flat(here)
    for name in dict.fromkeys([*new, *old]):
        if name not in old or name not in new or old[name] != new[name]:
            raise ConfigError(
                f"{folder.path}: {name} is {old.get(name, 'not there')!r} in that run and "
                f"{new.get(name, 'not there')!r} in this command: use the same settings to "
                "continue it, or another folder: --out"
            )

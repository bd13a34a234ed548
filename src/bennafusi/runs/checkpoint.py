"""Checkpoints: arrays without pickle, a manifest that vouches for them, the newest good one wins.

A checkpoint is two files, ``NUMBER.npz`` and then ``NUMBER.json``: without its manifest it does
not exist, so a kill between the two leaves a leftover and no half checkpoint.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bennafusi import files
from bennafusi.files import RunError, dump, parse, replace, storing, sync_folder
from bennafusi.runs import tree
from bennafusi.runs.metrics import Offset

SCHEMA = 1
_TRIES = 3  # looks for a manifest that its run may replace meanwhile
_NAME = re.compile(r"(\d{8})\.(json|npz)(\.bad)?")


class CheckpointError(RunError):
    """A checkpoint that cannot be used, and why."""


class Manifest(NamedTuple):
    """What stands in a checkpoint's JSON file, besides the hash of the file itself."""

    schema: int
    number: int
    sha256: str
    leaves: list[list[Any]]
    metrics: dict[str, Any]
    counters: dict[str, Any]
    environment: dict[str, Any]


class Saved(NamedTuple):
    """A checkpoint that was found good: its state, and what stands beside it."""

    state: Any
    number: int
    metrics: Offset
    counters: dict[str, Any]
    environment: dict[str, Any]


class Store:
    """The checkpoints of one run.

    Args:
        folder: where they are.
        template: a state of the job; every state must have its leaves, dtypes and shapes.
        keep: how many of the newest to keep, at least 2.
    """

    def __init__(self, folder: Path, template: Any, keep: int = 2) -> None:
        if keep < 2:
            raise ValueError(f"keep={keep}: must be at least 2, or one flipped bit ends the run")
        self.folder, self.keep = folder, keep
        self._template = template
        self._leaves = tree.flatten(template)
        self._expected = [tree.describe(*leaf) for leaf in self._leaves]

    def save(
        self, state: Any, metrics: Offset, counters: dict[str, Any], environment: dict[str, Any]
    ) -> int:
        """Write a state; when this returns it is on the disk. Returns its number."""
        leaves = tree.flatten(state)
        found = [tree.describe(*leaf) for leaf in leaves]
        if wrong := _mismatch(self._expected, found):
            raise RunError(f"the job's state has changed its form: {wrong}")
        content = tree.npz({f"{i:05}": tree.to_numpy(leaf) for i, (_, leaf) in enumerate(leaves)})
        number = 1 + max((n for n, _ in _files(self.folder)), default=-1)
        manifest = Manifest(
            SCHEMA,
            number,
            hashlib.sha256(content).hexdigest(),
            [[*leaf[:2], list(leaf.shape)] for leaf in found],
            metrics._asdict(),
            counters,
            environment,
        )
        replace(self.folder / f"{number:08}.npz", content)
        replace(self.folder / f"{number:08}.json", _seal(manifest))
        self._thin()
        return number

    def load(
        self, fault: Callable[[Offset], str | None] = lambda _: None
    ) -> tuple[Saved | None, list[str]]:
        """The newest good checkpoint, and what is wrong with each newer one.

        Bad ones are set aside under another name, so that they do not count among those kept.

        Args:
            fault: what is wrong with the metrics a checkpoint belongs to; None if nothing is.

        Raises:
            CheckpointError: if there are checkpoints and none is good; nothing is then changed.
        """
        saved, complaints = self.newest(fault)
        self._set_aside(list(complaints))
        return saved, list(complaints.values())

    def newest(
        self, fault: Callable[[Offset], str | None] = lambda _: None
    ) -> tuple[Saved | None, dict[int, str]]:
        """What :meth:`load` finds, and the complaints by number; changes nothing."""
        complaints: dict[int, str] = {}
        for number in reversed(numbers(self.folder)):
            try:
                saved = self._restore(*read(self.folder, number))
                if wrong := fault(saved.metrics):
                    raise CheckpointError(wrong)
            except CheckpointError as error:
                complaints[number] = f"checkpoint {number} is bad: {error}"
                continue
            return saved, complaints
        if complaints:
            raise CheckpointError(
                f"no checkpoint in {self.folder} can be used ({'; '.join(complaints.values())}). "
                "Put back a good copy of the run's folder, or remove the folder to start anew"
            )
        return None, {}

    def _restore(self, manifest: Manifest, arrays: list[NDArray[Any]]) -> Saved:
        found = [tree.Leaf(name, dtype, tuple(shape)) for name, dtype, shape in manifest.leaves]
        if wrong := _mismatch(self._expected, found):
            raise CheckpointError(wrong)
        restored = []
        for (name, like), array in zip(self._leaves, arrays, strict=True):
            try:
                restored.append(tree.from_numpy(like, array))
            except (ValueError, TypeError) as error:
                raise CheckpointError(f"leaf {name!r}: {error}") from error
        state = tree.rebuild(self._template, restored)
        offset = Offset(**manifest.metrics)
        return Saved(state, manifest.number, offset, manifest.counters, manifest.environment)

    def _thin(self) -> None:
        kept = set(numbers(self.folder)[-self.keep :])
        with storing(self.folder):
            # Manifests first: a checkpoint must not outlive its arrays.
            for number, name in sorted(_files(self.folder), key=lambda f: f[1].endswith(".npz")):
                if number not in kept and not name.endswith(".bad"):
                    (self.folder / name).unlink()

    def _set_aside(self, bad: list[int]) -> None:
        with storing(self.folder):
            for number in bad:
                for name in (f"{number:08}.json", f"{number:08}.npz"):
                    if (self.folder / name).exists():
                        os.replace(self.folder / name, self.folder / f"{name}.bad")
            if bad:
                sync_folder(self.folder)


def numbers(folder: Path) -> list[int]:
    """Numbers of the checkpoints in a folder, oldest first."""
    return sorted(number for number, name in _files(folder) if name.endswith(".json"))


def read(folder: Path, number: int) -> tuple[Manifest, list[NDArray[Any]]]:
    """One checkpoint, with every byte of it checked.

    Raises:
        CheckpointError: saying what is wrong with it.
    """
    try:
        manifest = read_manifest(folder, number)
        content = files.read(folder / f"{number:08}.npz")
    except OSError as error:
        raise CheckpointError(f"cannot be read ({error.strerror})") from error
    # Nothing is parsed before its hash is right, so no damage ever reaches a parser.
    if hashlib.sha256(content).hexdigest() != manifest.sha256:
        raise CheckpointError(f"its arrays ({len(content)} bytes) are not those that were written")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = [file[f"{index:05}"] for index in range(len(manifest.leaves))]
    return manifest, arrays


def read_manifest(folder: Path, number: int) -> Manifest:
    """The manifest of one checkpoint, whose arrays are not looked at.

    Raises:
        CheckpointError: if it is not what was written.
        OSError: if it cannot be read.
    """
    manifest = _unseal(files.read(folder / f"{number:08}.json", files.MOST_JSON))
    if manifest.number != number:
        raise CheckpointError(f"its manifest is that of number {manifest.number}")
    return manifest


def newest_manifest(folder: Path) -> Manifest | None:
    """The newest manifest, None if there is no checkpoint.

    Raises:
        CheckpointError: if it is not what was written.
    """
    for number in (number for _ in range(_TRIES) for number in numbers(folder)[-1:]):
        try:
            return read_manifest(folder, number)
        except FileNotFoundError:  # a run that goes on has a newer one by now
            continue
        except OSError as error:
            raise CheckpointError(f"checkpoint {number}: {error.strerror}") from error
        except CheckpointError as error:
            raise CheckpointError(f"checkpoint {number} is bad: {error}") from error
    return None


def _seal(manifest: Manifest) -> bytes:
    body = manifest._asdict()
    return dump({**body, "manifest_sha256": hashlib.sha256(dump(body)).hexdigest()})


def _unseal(content: bytes) -> Manifest:
    try:
        body = parse(content)
        if not isinstance(body, dict):
            raise ValueError("no object")
        if isinstance(body.get("schema"), int) and body["schema"] > SCHEMA:
            raise CheckpointError(
                f"its schema is {body['schema']} and this bennafusi knows {SCHEMA}: use a newer one"
            )
        body.pop("manifest_sha256", None)
        manifest = Manifest(**body)
        if _seal(manifest) != content:
            raise ValueError("another hash")
    except (ValueError, TypeError) as error:
        raise CheckpointError("its manifest is not what was written") from error
    return manifest


def _files(folder: Path) -> list[tuple[int, str]]:
    if folder.is_symlink():
        raise CheckpointError(f"{folder}: is a symbolic link, which could lead out of the run")
    with storing(folder):
        matches = [_NAME.fullmatch(name) for name in os.listdir(folder)]
    return [(int(match[1]), match[0]) for match in matches if match]


def _mismatch(expected: list[tree.Leaf], found: list[tree.Leaf]) -> str | None:
    wanted, given = ({leaf.name: leaf for leaf in leaves} for leaves in (expected, found))
    for name in dict.fromkeys([*wanted, *given]):
        if name not in given:
            return f"leaf {name!r} is missing"
        if name not in wanted:
            return f"leaf {name!r} is one too many"
        if wanted[name] != given[name]:
            old, new = (f"{leaf.dtype}{list(leaf.shape)}" for leaf in (given[name], wanted[name]))
            return f"leaf {name!r} is {old} where the job has {new}"
    return None

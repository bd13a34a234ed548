"""Checkpoints: arrays without pickle, a manifest that vouches for them, the newest good one wins.

A checkpoint is two files, ``NUMBER.npz`` and then ``NUMBER.json``: without its manifest it does
not exist, so a kill between the two leaves a leftover and no half checkpoint.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from bennafusi import files
from bennafusi.files import RunError, replace, storing, sync
from bennafusi.runs import capacity, tree
from bennafusi.runs.manifest import (
    SCHEMA,
    CheckpointError,
    ForeignError,
    Manifest,
    check_run,
    listed,
    numbers,
    read_manifest,
    seal,
)
from bennafusi.runs.metrics_file import Offset
from bennafusi.runs.migrations import leaf_name


class Saved(NamedTuple):
    """A checkpoint that was found good: its state, and what stands beside it."""

    state: Any
    number: int
    metrics: Offset
    counters: dict[str, Any]
    environment: dict[str, Any]
    run: str | None


class Store:
    """The checkpoints of one run.

    Args:
        folder: where they are.
        template: a state of the job; every state must have its leaves, dtypes and shapes.
        keep: how many of the newest to keep, at least 2.
        run: the identity of the run; checkpoints of another one are refused.
    """

    def __init__(self, folder: Path, template: Any, keep: int = 2, run: str | None = None) -> None:
        if keep < 2:
            raise ValueError(f"keep={keep}: must be at least 2, or one flipped bit ends the run")
        self.folder, self.keep, self.run = folder, keep, run
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
        number = 1 + max((n for n, _ in listed(self.folder)), default=-1)
        manifest = Manifest(
            SCHEMA,
            number,
            hashlib.sha256(content).hexdigest(),
            [[*leaf[:2], list(leaf.shape)] for leaf in found],
            metrics._asdict(),
            counters,
            environment,
            self.run,
        )
        replace(self.folder / f"{number:08}.npz", content)
        replace(self.folder / f"{number:08}.json", seal(manifest))
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
            CheckpointError: if there are checkpoints and none is good, or one of another run;
                nothing is then changed.
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
                manifest, arrays = read(self.folder, number)
                check_run(manifest, self.run)
                saved = self._restore(manifest, arrays)
                if wrong := fault(saved.metrics):
                    raise CheckpointError(wrong)
            except ForeignError:  # an older one may say nothing of its run, and would be believed
                raise
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
        known = {leaf.name for leaf in self._expected}
        found = [
            tree.Leaf(leaf_name(name, known), dtype, tuple(shape))
            for name, dtype, shape in manifest.leaves
        ]
        if wrong := _mismatch(self._expected, found):
            other = "or another version wrote it, with which it can be continued"
            raise CheckpointError(f"{wrong}; {other}")
        restored = []
        for (name, like), array in zip(self._leaves, arrays, strict=True):
            try:
                restored.append(tree.from_numpy(like, array))
            except (ValueError, TypeError) as error:
                raise CheckpointError(f"leaf {name!r}: {error}") from error
        state = tree.rebuild(self._template, restored)
        offset = Offset(**manifest.metrics)
        rest = manifest.counters, manifest.environment, manifest.run
        return Saved(state, manifest.number, offset, *rest)

    def _thin(self) -> None:
        kept = set(numbers(self.folder)[-self.keep :])
        with storing(self.folder):
            # Manifests first: a checkpoint must not outlive its arrays.
            for number, name in sorted(listed(self.folder), key=lambda f: f[1].endswith(".npz")):
                if number not in kept and not name.endswith(".bad"):
                    (self.folder / name).unlink()

    def _set_aside(self, bad: list[int]) -> None:
        with storing(self.folder):
            for number in bad:
                for name in (f"{number:08}.json", f"{number:08}.npz"):
                    if (self.folder / name).exists():
                        os.replace(self.folder / name, self.folder / f"{name}.bad")
            if bad:
                sync(self.folder)


def read(folder: Path, number: int) -> tuple[Manifest, list[NDArray[Any]]]:
    """One checkpoint, with every byte of it checked.

    Raises:
        CheckpointError: saying what is wrong with it.
        RunError: if too little memory is free to look at it.
    """
    path = folder / f"{number:08}.npz"
    try:
        manifest = read_manifest(folder, number)
        _check_memory(path)
        content = files.read(path, capacity.MOST_READ)
    except OSError as error:
        raise CheckpointError(f"cannot be read ({error.strerror})") from error
    # Nothing is parsed before its hash is right, so no damage ever reaches a parser.
    if hashlib.sha256(content).hexdigest() != manifest.sha256:
        raise CheckpointError(f"its arrays ({len(content)} bytes) are not those that were written")
    try:
        found = tree.unpack(content)
        return manifest, [found[f"{index:05}"] for index in range(len(manifest.leaves))]
    except (ValueError, KeyError) as error:
        raise CheckpointError(f"its arrays are not ours: {error}") from error


def _check_memory(path: Path) -> None:
    """What does not fit into memory now may be intact: it must not be taken for bad."""
    with files.reading(path) as file:
        size = os.fstat(file.fileno()).st_size
    if capacity.readable() < size <= capacity.MOST_READ:
        raise RunError(
            f"{path}: has {size:,} bytes, and at most {capacity.readable():,} can be read with the "
            "memory that is free; free some, or use a larger machine, and repeat the command"
        )


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

"""What vouches for a checkpoint: its arrays, its metrics, and the run that it belongs to."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from bennafusi import files
from bennafusi.files import RunError, dump, parse, storing

SCHEMA = 2  # 1 does not say which run it belongs to
_TRIES = 3  # looks for a manifest that its run may replace meanwhile
_NAME = re.compile(r"(\d{8,18})\.(json|npz)(\.bad)?")


class CheckpointError(RunError):
    """A checkpoint that cannot be used, and why."""


class ForeignError(CheckpointError):
    """A checkpoint of another run; or the run's config is no longer what it was."""


class Manifest(NamedTuple):
    """What stands in a checkpoint's JSON file, besides the hash of the file itself."""

    schema: int
    number: int
    sha256: str  # of its arrays
    leaves: list[list[Any]]  # name, dtype and shape of each array
    metrics: dict[str, Any]  # how far the metrics went, see Offset
    counters: dict[str, Any]  # work done, work in all, seconds
    environment: dict[str, Any]
    run: str | None = None  # Folder.identity of its run; None in schema 1


def listed(folder: Path) -> list[tuple[int, str]]:
    """Numbers and names of the files of checkpoints, those set aside among them."""
    if folder.is_symlink():
        raise CheckpointError(f"{folder}: is a symbolic link, which could lead out of the run")
    with storing(folder):
        matches = [_NAME.fullmatch(name) for name in os.listdir(folder)]
    return [(int(match[1]), match[0]) for match in matches if match]


def numbers(folder: Path) -> list[int]:
    """Numbers of the checkpoints in a folder, oldest first."""
    return sorted(number for number, name in listed(folder) if name.endswith(".json"))


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


def check_run(manifest: Manifest, run: str | None) -> None:
    """Refuse a checkpoint of another run; one of schema 1 does not say.

    Raises:
        ForeignError: if it is.
    """
    if run is not None and manifest.run not in (None, run):
        raise ForeignError(
            f"checkpoint {manifest.number} is of another run than config.json says: experiment, "
            "variant, seed or a setting was changed, or files of two runs were mixed; put the "
            "right ones back, or start anew in another folder"
        )


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


def seal(manifest: Manifest) -> bytes:
    """The bytes of a manifest, with a hash of themselves."""
    body = {name: value for name, value in manifest._asdict().items() if value is not None}
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
        if seal(manifest) != content or not _ours(manifest):
            raise ValueError("another hash, or other fields")
    except (ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(f"its manifest is not what was written ({error})") from error
    return manifest


def _ours(manifest: Manifest) -> bool:
    """Whether every field is of its kind: a stranger can hash whatever he likes."""
    numbers = [manifest.number, *(manifest.metrics.get(name) for name in ("bytes", "lines"))]
    names = [manifest.sha256, manifest.metrics.get("sha256"), manifest.run or ""]
    parts = [manifest.counters, manifest.environment]
    for name, dtype, shape in manifest.leaves:
        names += [name, dtype]
        numbers += shape
    return (
        all(type(number) is int and number >= 0 for number in numbers)
        and all(isinstance(name, str) for name in names)
        and all(isinstance(part, dict) for part in parts)
        and len(manifest.metrics) == 3
    )

"""The folder of one run: what lies in it, who may write to it, and that nothing leaves it.

``config.json`` says what the run is, ``metrics.jsonl`` what it found so far, ``checkpoints/`` from
where it can go on, ``status.json`` how far it is, ``log.txt`` what happened, ``final.npz`` what it
kept, and ``postmortem.json`` what it died of.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bennafusi import files
from bennafusi.files import RunError, dump, replace
from bennafusi.runs import lock
from bennafusi.runs.config import ConfigError, Document, from_json, migrate
from bennafusi.runs.job import RunSpec
from bennafusi.runs.lock import Held
from bennafusi.runs.migrations import MIGRATIONS, SCHEMA

PLAN = "plan.jsonl"  # beside the variants of an experiment: which runs there must be
_KEYS = ("schema", "experiment", "variant", "seed", "settings", "environment")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")  # devices on Windows


class FolderError(RunError):
    """A name or a folder that is not what a run's must be."""


@dataclass(frozen=True)
class _Names:
    experiment: str
    variant: str
    seed: int = field(metadata={"min": 0})


def check_name(what: str, name: object) -> str:
    """The name, if a folder may be called by it on every system.

    Example:
        >>> check_name("variant", "benna-fusi")
        'benna-fusi'
    """
    allowed = isinstance(name, str) and _NAME.fullmatch(name) and not _RESERVED.fullmatch(name)
    if not allowed or ".." in str(name):
        shown = repr(name) if len(repr(name)) < 80 else f"{repr(name)[:77]}..."
        raise FolderError(
            f"{what}={shown}: must be 1 to 64 of a-z, 0-9, '.', '_' and '-', with a letter or "
            "digit at both ends, and no device name"
        )
    return str(name)


class Folder:
    """One run's folder; its paths, its config, its log and its lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.json"
        self.metrics = path / "metrics.jsonl"
        self.checkpoints = path / "checkpoints"
        self.status = path / "status.json"
        self.log_file = path / "log.txt"
        self.final = path / "final.npz"
        self.postmortem = path / "postmortem.json"
        self.lock_file = path / "lock"

    @classmethod
    def of(cls, root: Path, spec: RunSpec) -> Folder:
        """Where a run lies: ``ROOT/EXPERIMENT/VARIANT/seed-N``."""
        check_name("experiment", spec.experiment)
        check_name("variant", spec.variant)
        if isinstance(spec.seed, bool) or not isinstance(spec.seed, int) or spec.seed < 0:
            raise FolderError(f"seed={spec.seed!r}: must be a whole number, 0 or more")
        path = root
        for name in (spec.experiment, spec.variant, f"seed-{spec.seed}"):
            path = path / name
            if path.is_symlink():  # the root may be a link, nothing below it
                raise FolderError(f"{path}: is a symbolic link, which could lead out of {root}")
        return cls(path)

    def create(self, spec: RunSpec, *, durable: bool = True) -> None:
        """Make the folder and write down what the run is."""
        files.own_folder(self.checkpoints)
        self.write_config(spec, None, durable=durable)

    def made(self) -> bool:
        """Whether it says what its run is; a power cut may leave an empty file of that name."""
        try:
            return self.config.stat().st_size > 0
        except OSError:
            return False

    def write_config(
        self, spec: RunSpec, environment: dict[str, Any] | None, *, durable: bool = True
    ) -> None:
        """Write ``config.json``; the environment is known once the run has started."""
        values = (SCHEMA, spec.experiment, spec.variant, spec.seed, spec.settings, environment)
        content = dump(dict(zip(_KEYS, values, strict=True)), indent=1)
        replace(self.config, content, durable=durable)

    def identity(self) -> str:
        """A hash of what the run is, as it stands in the file; checkpoints carry it.

        Of a file of an older schema it is that of the older words: it stays what it was.
        """
        document = self._document()
        named = {name: document.get(name) for name in _KEYS if name != "environment"}
        return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()

    def read_config(self) -> tuple[RunSpec, dict[str, Any] | None]:
        """What the run is, and the environment it was started in, None if it was not yet."""
        document = migrate(self._document(), SCHEMA, MIGRATIONS, str(self.config))
        for name in dict.fromkeys([*document, *_KEYS]):
            if name not in _KEYS or name not in document:
                fault = "missing" if name in _KEYS else "unknown"
                raise ConfigError(f"{self.config}: {name}: {fault}; it has {', '.join(_KEYS)}")
        settings, environment = document["settings"], document["environment"]
        for name, value in (("settings", settings), ("environment", environment)):
            if not isinstance(value, dict) and (value is not None or name == "settings"):
                raise ConfigError(f"{self.config}: {name}={value!r}: must be an object")
        # Settings are the experiment's own, and are checked by it.
        plain = {key: document[key] for key in ("experiment", "variant", "seed")}
        try:
            names = from_json(_Names, plain)
            check_name("experiment", names.experiment)
            check_name("variant", names.variant)
        except (ConfigError, FolderError) as error:
            raise ConfigError(f"{self.config}: {error}") from error
        return RunSpec(names.experiment, names.variant, names.seed, settings), environment

    def _document(self) -> Document:
        try:
            document = files.document(self.config)
        except OSError as error:
            raise FolderError(
                f"{self.path}: not the folder of a run, no config.json to read ({error.strerror})"
            ) from error
        except ValueError as error:
            raise ConfigError(f"{self.config}: {error}; put back a good copy") from error
        if not isinstance(document, dict):
            raise ConfigError(f"{self.config}: must be an object, {{...}}; put back a good copy")
        return document

    def log(self, text: str) -> None:
        """Add a line to ``log.txt``; a log that cannot be written goes to stderr instead."""
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} [{os.getpid()}] {text}\n"
        try:
            files.append(self.log_file, line.encode(errors="replace"))
        except OSError:
            sys.stderr.write(line)

    def lock(self) -> AbstractContextManager[Held]:
        """Keep every other writer out; see :func:`bennafusi.runs.lock.lock`."""
        return lock.lock(self.lock_file)

    def owner(self) -> str:
        """Who wrote to it last, as ``host:process``; nothing if that is not known."""
        return lock.owner(self.lock_file)

    def locked(self) -> bool:
        """Whether a process writes to it at this moment."""
        return lock.locked(self.lock_file)

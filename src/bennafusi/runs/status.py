"""How far a run is: the content of ``status.json``, for those who watch. Nothing depends on it."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, replace
from typing import Literal

from bennafusi import files
from bennafusi.runs.config import ConfigError, from_json, migrate, to_json
from bennafusi.runs.folder import Folder

SCHEMA = 3
MIGRATIONS = {
    1: lambda document: {**document, "run": None},
    2: lambda document: {**document, "metrics_sha256": None},
}
FRESH = 180.0  # seconds; a run says how far it is at each chunk, and compiles before the first


@dataclass(frozen=True)
class Status:
    """How far a run is."""

    schema: int = SCHEMA
    state: Literal["planned", "running", "interrupted", "failed", "done"] = "planned"
    done: int = 0  # units of work done
    total: int = 0  # units of work in all
    # Units a second of this attempt, its first chunk, which compiles, left out.
    rate: float | None = None
    seconds: float = 0.0  # of work, over all attempts
    attempts: int = 0  # how often it was started
    checkpoints: int = 0  # number of the newest checkpoint plus one
    reason: str | None = None  # why it stopped, if it did
    # What may make its bits differ from those of a run in one go, and repairs.
    warnings: tuple[str, ...] = ()
    updated: float = 0.0  # when this was written, in seconds since 1970
    final_sha256: str | None = None  # of final.npz, once the run is done
    run: str | None = None  # Folder.identity of the run, once it has begun
    # Of the metrics of a run that failed; it may have no checkpoint after them.
    metrics_sha256: str | None = None

    @property
    def left(self) -> float | None:
        """Seconds of work left, None if that is not known."""
        if self.state == "done":
            return 0.0
        return (self.total - self.done) / self.rate if self.rate and self.total else None


def read_status(folder: Folder) -> Status:
    """The status of a run.

    Raises:
        ConfigError: if there is one that cannot be read.
    """
    try:
        data = files.document(folder.status)
    except FileNotFoundError:
        return Status()
    except (OSError, ValueError) as error:
        raise ConfigError(f"{folder.status}: {error}") from error
    status = from_json(Status, migrate(data, SCHEMA, MIGRATIONS, str(folder.status)))
    # Both are printed, and the folder may come from a stranger.
    reason = files.printable(status.reason) if status.reason else status.reason
    return replace(status, reason=reason, warnings=tuple(map(files.printable, status.warnings)))


def write_status(folder: Folder, status: Status, *, durable: bool = True) -> None:
    """Replace ``status.json``."""
    now = replace(status, updated=round(time.time(), 3))
    files.replace(folder.status, files.dump(to_json(now), indent=1), durable=durable)


def actual_status(folder: Folder) -> Status:
    """The status as it is, also of a run that was killed before it could say so.

    Some network file systems show a lock to the machine that has it alone. A run of another machine
    therefore counts as running, locked or not, as long as it said so in the last minutes; a time
    that is still to come says that a clock was set, and nothing of the run.
    """
    status = read_status(folder)
    if status.state != "running" or folder.locked():
        return status
    host = folder.owner().rpartition(":")[0]
    if host and host != socket.gethostname() and abs(time.time() - status.updated) < FRESH:
        return status
    return replace(status, state="interrupted", reason="ended without saying why")

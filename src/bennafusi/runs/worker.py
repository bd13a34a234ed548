"""The process of one run: handlers, lock, and the exit code."""

from __future__ import annotations

import sys
from pathlib import Path

from bennafusi.files import RunError
from bennafusi.runs.attempt import BAD_INPUT, FAILED, LOCKED, Attempt, Pace
from bennafusi.runs.config import ConfigError
from bennafusi.runs.folder import Folder, FolderError
from bennafusi.runs.job import JobFactory
from bennafusi.runs.lock import LockedError
from bennafusi.runs.signals import Stop, end_with_parent, watching

DEFAULT_PACE = Pace()


def work(
    path: Path, make_job: JobFactory, pace: Pace = DEFAULT_PACE, stop: Stop | None = None
) -> int:
    """Run or resume the run in a folder to its end.

    Args:
        path: the run's folder.
        make_job: called with the run's spec once handlers stand; it imports JAX, not its caller.
        pace: how often to write.
        stop: a flag to look at instead of this process's signals.

    Returns:
        The exit code: 0 done, 75 interrupted and resumable, 69 another process is writing to the
        folder, 1 failed, 2 bad input.
    """
    if stop is None:
        with watching() as own:
            end_with_parent()
            return work(path, make_job, pace, own)
    folder = Folder(path)
    try:
        spec, _ = folder.read_config()
        with folder.lock() as held:
            return Attempt(folder, spec, pace, stop, held).to_its_end(make_job)
    except LockedError as error:  # no fault of this run, which is in good hands
        sys.stderr.write(f"{error}\n")
        return LOCKED
    except (ConfigError, FolderError) as error:
        sys.stderr.write(f"error: {error}\n")
        return BAD_INPUT
    except RunError as error:
        sys.stderr.write(f"error: {error}\n")
        return FAILED

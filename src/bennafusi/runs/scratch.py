"""Temporary folders that the next command removes if their own could not."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
import weakref
from pathlib import Path

from bennafusi.runs.lock import lock, locked

PREFIX = "bennafusi-"
_YOUNG = 60.0  # seconds; such a folder may be about to be locked


class Scratch:
    """A temporary folder, locked as long as its process lives."""

    def __init__(self) -> None:
        clean()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._held = contextlib.ExitStack()
        self._held.enter_context(lock(self.path / "lock"))
        self._gone = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def close(self) -> None:
        """Remove it."""
        self._gone()
        self._held.close()

    def __enter__(self) -> Path:
        """Where it is, for a block."""
        return self.path

    def __exit__(self, *error: object) -> None:
        """Remove it."""
        self.close()


def clean() -> None:
    """Remove what killed commands of ours left behind."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            found = os.lstat(path)
            ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            old = time.time() - found.st_mtime > _YOUNG
            if ours and old and (path / "lock").exists() and not locked(path / "lock"):
                shutil.rmtree(path, ignore_errors=True)

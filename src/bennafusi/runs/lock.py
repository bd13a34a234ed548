"""Who may write to a folder: one process, as long as it lives and the lock is its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from bennafusi import files
from bennafusi.files import RunError, storing

_OWNER = re.compile(r"process (\d{1,10}) on ([\w.-]{1,255})")


class LockedError(RunError):
    """Another process writes to this folder."""


class Held:
    """A lock that this process has."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor

    def check(self) -> None:
        """See that the file is still the one we locked: whoever removed it let a second one in.

        Raises:
            LockedError: if it is not.
            StorageError: if the whole folder is gone.
        """
        with storing(self.path.parent):
            os.lstat(self.path.parent)
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(self._descriptor), os.lstat(self.path)):
                return
        raise LockedError(
            f"{self.path} was removed or replaced while this process wrote to its folder: another "
            "one may do so now, and this one stops; never remove a lock"
        )


@contextlib.contextmanager
def lock(path: Path) -> Iterator[Held]:
    """Keep every other writer out; the kernel ends it with the process, however that ends.

    The file stays: removing it would let two processes lock two files of one name.

    Raises:
        LockedError: if another process has it.
    """
    with storing(path):
        descriptor = files.descriptor(path, os.O_RDWR | os.O_CREAT)
    try:
        with storing(path):
            free = _acquire(descriptor)
        if not free:
            found = files.printable(os.read(descriptor, 400).decode(errors="replace").strip())
            raise LockedError(
                f"{path.parent} is being written to by {found or 'a process'}: wait for it, or "
                "stop it"
            )
        held = Held(path, descriptor)
        held.check()  # it may have been removed between opening and locking
        with storing(path):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield held
    finally:
        os.close(descriptor)


def owner(path: Path) -> str:
    """Who had it last, as ``host:process``; nothing if that is not known.

    What it says is true of this moment only if :func:`locked` is.
    """
    try:
        match = _OWNER.fullmatch(files.read(path, 400).decode(errors="replace"))
    except OSError:
        return ""
    return f"{match[2]}:{match[1]}" if match else ""


def locked(path: Path) -> bool:
    """Whether a process has it at this moment."""
    try:
        descriptor = files.descriptor(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # where there are no locks, nobody has one
        return False
    finally:
        os.close(descriptor)
    return False


def _acquire(descriptor: int) -> bool:
    """Lock a file; a few tries, because :func:`locked` has the lock for an instant."""
    for _ in range(10):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.03)
        else:
            return True
    return False

"""The local engine: each run in a process of this machine, some at a time."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from rich.console import Console

from bennafusi.runs.child import begin
from bennafusi.runs.engine import RETRIES, Ended
from bennafusi.runs.folder import Folder
from bennafusi.runs.placing import Outcome, place_all
from bennafusi.runs.scratch import Scratch


class LocalEngine:
    """Processes of this machine, which end with this one.

    Args:
        command: what to start for one run; its folder is added as the last argument.
        workers: how many at a time.
    """

    survives = False
    news = ""

    def __init__(self, command: Sequence[str], workers: int = 1) -> None:
        if workers < 1:
            raise ValueError(f"workers={workers}: must be at least 1")
        self.command, self.workers = list(command), workers
        self._processes: dict[Path, subprocess.Popen[bytes]] = {}
        # Runs that differ by a number alone share their programs; the first of them compiles.
        self._compiled = Scratch()

    def room(self) -> int:
        """How many more can be placed now."""
        return self.workers - len(self._processes)

    def start(self, folder: Folder) -> None:
        """Start the process of a run."""
        shared = {"JAX_COMPILATION_CACHE_DIR": str(self._compiled.path)}
        self._processes[folder.path] = begin(self.command, folder, shared)

    def going(self) -> Collection[Path]:
        """All that were started and have not ended."""
        return self._processes.keys()

    def ended(self) -> list[tuple[Path, Ended]]:
        """Those that ended since the last call."""
        found = [
            (path, p.returncode) for path, p in self._processes.items() if p.poll() is not None
        ]
        for path, _ in found:
            del self._processes[path]
        return [(path, Ended(code)) for path, code in found]

    def stop(self, paths: Sequence[Path], *, kill: bool) -> None:
        """Signal the processes of these folders."""
        for path in paths:
            if path in self._processes:
                self._processes[path].send_signal(signal.SIGKILL if kill else signal.SIGTERM)

    def close(self) -> None:
        """Leave no process behind."""
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._processes.clear()
        self._compiled.close()


def run_all(
    folders: Sequence[Folder],
    command: Sequence[str],
    workers: int = 1,
    console: Console | None = None,
    describe: Callable[[Folder], str] | None = None,
    retries: int = RETRIES,
    look: Callable[[Collection[Path]], None] | None = None,
) -> Outcome:
    """Run every folder to its end on this machine; see :func:`bennafusi.runs.placing.place_all`."""
    return place_all(folders, LocalEngine(command, workers), console, describe, retries, look)

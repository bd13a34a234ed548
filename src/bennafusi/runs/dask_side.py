"""What runs inside a Dask worker: one child process for each run, and a way to signal it.

A run is never computed in the worker's own process: it needs signal handlers, which only a main
thread may have, and NPROC before JAX starts. A path and a few words for this worker's own Python
are all that comes over the wire.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from bennafusi.runs.child import begin
from bennafusi.runs.folder import Folder
from bennafusi.runs.scratch import Scratch

_LOOK = 0.25  # seconds between looks at the worker that we are a part of
_children: dict[str, list[subprocess.Popen[bytes]]] = {}
_lock = threading.Lock()


def attend(path: str, words: Sequence[str]) -> int:
    """Run a folder to its end in a child process.

    Args:
        path: the run's folder, as every machine sees it.
        words: arguments for this worker's own Python; the folder is added as the last one.

    Returns:
        The exit code of the child, negative if a signal ended it.

    Raises:
        RunError: if this is no folder of a run; nothing was started, and nothing written.
    """
    from distributed import get_worker

    folder = Folder(Path(path))
    folder.read_config()  # refuses what is no run, such as a disk that is not mounted here
    shared = {"JAX_COMPILATION_CACHE_DIR": str(_compiled().path)}
    with _lock:
        command = [sys.executable, *words]
        child = _starter().submit(begin, command, folder, shared).result()
        _children.setdefault(path, []).append(child)
    try:
        return _wait(child, get_worker())
    finally:
        with _lock:
            _children[path].remove(child)


def halt(paths: Sequence[str], kill: bool) -> list[str]:
    """Signal the children that work on these folders; returns which of them there are."""
    number = signal.SIGKILL if kill else signal.SIGTERM
    with _lock:
        here = {path: _children[path] for path in paths if _children.get(path)}
        for children in here.values():
            for child in children:
                child.send_signal(number)
    return list(here)


def dask_setup(worker: Any) -> None:
    """Called by Dask in workers of our own cluster, which get a terminal's Ctrl-C as we do.

    The command passes it on once, as a SIGTERM to the runs; workers must outlast them.
    """
    del worker
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _wait(child: subprocess.Popen[bytes], worker: Any) -> int:
    """Wait for a child; when its worker closes, ask it to save and stop.

    Dask waits for its threads for a while before it lets the process end, and so for us.
    """
    told = False
    while True:
        try:
            return child.wait(_LOOK)
        except subprocess.TimeoutExpired:
            if not told and worker.status.name not in ("init", "running", "paused"):
                child.send_signal(signal.SIGTERM)
                told = True


@cache
def _starter() -> ThreadPoolExecutor:
    """One thread that starts all children and lasts as long as the process.

    A child asks Linux for a signal when its parent dies, and Linux takes the *thread* that created
    it for the parent. Dask's threads may end before their worker does, and the child would be told
    to stop in the middle of its work; this one ends with the interpreter.
    """
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="bennafusi-starter")


@cache
def _compiled() -> Scratch:
    """Where runs of this worker share what they have compiled."""
    return Scratch()

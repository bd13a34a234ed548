"""The Dask engine: runs on the workers of a cluster that sees the same folders.

All runs are handed to the scheduler at once, so that they go on, one after the other, when the
command is closed. The scheduler keeps a path and the words of a command for each, nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from distributed import Future, KilledWorker, fire_and_forget

from bennafusi.runs.attempt import FAILED, INTERRUPTED
from bennafusi.runs.dask_clusters import Cluster
from bennafusi.runs.dask_side import attend, halt
from bennafusi.runs.engine import PATIENCE, Ended, EngineError
from bennafusi.runs.folder import Folder

_EACH = 2.0  # seconds of one try to reach it
_ASK = 1.0  # seconds between questions to scheduler and workers
_ANSWER = 10.0  # seconds to wait for an answer; a worker may be out of reach
_MANY = 1_000_000


class DaskEngine:
    """Runs on the workers of a Dask cluster.

    Args:
        words: arguments for the Python of the worker, such as ``-m bennafusi.cli work``; the folder
            is added as the last one.
        cluster: where.
        patience: seconds to wait for a scheduler that is gone.

    Raises:
        EngineError: if there is no scheduler.
    """

    def __init__(self, words: Sequence[str], cluster: Cluster, patience: float = PATIENCE) -> None:
        self.words, self.cluster, self.patience = list(words), cluster, patience
        self.survives = cluster.survives
        self._client = cluster.client(_ANSWER)
        self._gone: float | None = None  # since when
        self._futures: dict[Path, Future[int]] = {}
        self._keys: dict[Any, Path] = {}
        self._times: dict[Path, int] = {}
        self._lost: list[Path] = []
        self._stopping: tuple[dict[str, Path], bool] | None = None
        self._asked, self._going = 0.0, set[Path]()

    @property
    def news(self) -> str:
        """A scheduler that is gone, or workers that are not there."""
        if self._gone is not None:
            left = max(0.0, self.patience - (time.monotonic() - self._gone))
            return f"the scheduler {self.cluster.address} is gone; waiting {left:.0f} s for it"
        return "" if self._going or not self._futures else "waiting for workers of the cluster"

    def room(self) -> int:
        """As much as wanted; the scheduler has a queue. None while it is gone."""
        return _MANY if self._there() else 0

    def start(self, folder: Folder) -> None:
        """Hand a run to the scheduler."""
        # The same run has the same key in every command: one that comes back finds its old tasks.
        # What is placed again has another, because a key that was lost may be remembered as such.
        path = folder.path
        times = self._times[path] = self._times.get(path, 0) + 1
        key = f"bennafusi-{hashlib.sha256(_name(path).encode()).hexdigest()[:32]}-{times}"
        future = self._client.submit(attend, _name(path), self.words, key=key, pure=False)
        if self.survives:
            fire_and_forget(future)
        self._futures[path], self._keys[key] = future, path

    def going(self) -> Collection[Path]:
        """Those that a worker has, by the scheduler's word of a second ago at most."""
        if self._there() and time.monotonic() - self._asked >= _ASK:
            self._asked = time.monotonic()
            if self._stopping:
                self._stop_again(*self._stopping)
            else:
                keys = self._ask(self._client.processing) or {}
                all_keys = (key for some in keys.values() for key in some)
                self._going = {self._keys[key] for key in all_keys if key in self._keys}
        return self._going

    def ended(self) -> list[tuple[Path, Ended]]:
        """Those that ended since the last call."""
        if not self._there():
            return []
        if self._stopping:
            self.going()
        found = []
        for path in self._lost:
            found.append((path, Ended(None, "the scheduler was lost", blameless=True)))
        self._lost = []
        for path, future in list(self._futures.items()):
            if (how := self._how(path, future)) is not None:
                del self._futures[path], self._keys[future.key]
                found.append((path, how))
        return found

    def stop(self, paths: Sequence[Path], *, kill: bool) -> None:
        """Take back what no worker has begun, and signal the others until they have ended."""
        self._stopping = {_name(path): path for path in paths}, kill
        self._asked = 0.0

    def close(self) -> None:
        """Leave; what survives goes on."""
        with contextlib.suppress(Exception):  # it may be broken in any way, and we are leaving
            self._client.close(timeout=_EACH)

    def _how(self, path: Path, future: Future[int]) -> Ended | None:
        if self._stopping and (path in self._going or not self._asked):
            return None
        match future.status:
            case "finished":
                return self._result(future)
            case "error":
                error = future.exception()
                if isinstance(error, KilledWorker):
                    return Ended(None, f"its worker was lost {error.allowed_failures + 1} times")
                return Ended(FAILED, f"{type(error).__name__} on its worker: {error}")
            case "cancelled" | "lost":
                if self._stopping:
                    return Ended(INTERRUPTED)
                return Ended(None, "the scheduler forgot it", blameless=True)
        return None

    def _result(self, future: Future[int]) -> Ended | None:
        with contextlib.suppress(Exception):  # the worker that has it may be gone by now
            return Ended(int(future.result(timeout=_ANSWER)))
        return Ended(None, "its worker was lost", blameless=True)

    def _stop_again(self, paths: Mapping[str, Path], kill: bool) -> None:
        """One round: signal what runs, take back the rest; a run may begin between two rounds."""
        names = list(paths)
        answers = self._ask(lambda: self._client.run(halt, names, kill, on_error="ignore")) or {}
        running = {paths[name] for some in answers.values() for name in some or ()}
        rest = [f for p, f in self._futures.items() if p not in running and not f.done()]
        self._ask(lambda: self._client.cancel(rest, force=True))
        self._going = running

    def _there(self) -> bool:
        """Whether the scheduler can be talked to; tries to reach it if it cannot.

        Raises:
            EngineError: when patience is at an end.
        """
        if self._client.status == "running":
            if self._gone is not None:
                self._back()
            return True
        self._gone = self._gone or time.monotonic()
        if self._stopping:
            raise EngineError(
                f"the scheduler {self.cluster.address} is gone: its workers end without it, and "
                "their runs save what they have"
            )
        if time.monotonic() - self._gone > self.patience:
            raise EngineError(
                f"the scheduler {self.cluster.address} is gone, and did not come back within "
                f"{self.patience:.0f} s: start it again"
            )
        if self._client.status == "closed":
            with contextlib.suppress(EngineError):
                self._client = self.cluster.client(_EACH)
        return False

    def _back(self) -> None:
        """A scheduler that was away has forgotten all; whatever still runs has its lock."""
        self._gone = None
        self._lost += self._futures
        self._futures, self._keys, self._going = {}, {}, set()

    def _ask(self, question: Callable[[], Any]) -> Any:
        """An answer, or None if there is none in time."""
        answers: list[Any] = []

        def ask() -> None:
            with contextlib.suppress(Exception):  # a connection that breaks is found elsewhere
                answers.append(question())

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(_ANSWER)
        return answers[0] if answers else None


def _name(path: Path) -> str:
    """What a folder is called on every machine; a link in it may be how they share it."""
    return os.path.abspath(path)

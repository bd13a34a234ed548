"""A run that learns, watched from outside: its newest numbers in a line."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from typing import Any

from bennafusi.cli.sinks import Follower
from bennafusi.files import RunError
from bennafusi.runs.folder import Folder
from bennafusi.runs.status import read_status

TESTS = 10  # the newest ones, of which the mean is shown


class Monitor:
    """Reads along in a run's folder, and never writes to it."""

    def __init__(self, folder: Folder, settings: Any) -> None:
        self.folder, self.settings = folder, settings
        self.test: dict[str, Any] = {}
        self.switch: dict[str, Any] = {}
        self.rewards: deque[float] = deque(maxlen=TESTS)
        self._follower = Follower(folder.metrics)
        self._look()  # what earlier attempts wrote says nothing of the speed of this one
        self._first: tuple[float, int] | None = None
        self._speed: float | None = None

    def line(self) -> str:
        """The newest numbers, in a line."""
        rate = None
        with contextlib.suppress(RunError, OSError):
            rate = read_status(self.folder).rate
        if self._look() and self.test:
            now, updates = time.monotonic(), self.test["updates"]
            self._first = self._first or (now, updates)
            if now > self._first[0]:
                self._speed = (updates - self._first[1]) / (now - self._first[0])
        if not self.test:
            return "no test so far"
        awake = self.settings.chain.awake(self.test["updates"])
        several = f"{self.test['task']}: " if len(self.settings.tasks) > 1 else ""
        parts = [
            f"{several}return {sum(self.rewards) / len(self.rewards):.1f}",
            f"loss {self.test['loss']:.3g}",
            *([f"{rate:,.0f} {self.settings.unit}/s"] if rate else []),
            *([f"{self._speed:,.0f} updates/s"] if self._speed else []),
            *([f"awake {awake}/{self.settings.chain.n}"] if self.settings.chain.n > 1 else []),
        ]
        return "  ".join(parts)

    def summary(self) -> list[str]:
        """The tests at the end of the last epoch."""
        tests = self.switch.get("tests", {})
        return [
            f"{task}: {sum(rewards) / len(rewards):.1f} on average over {len(rewards)} final tests"
            for task, rewards in tests.items()
        ]

    def close(self) -> None:
        """Take what is left."""
        self._look()

    def _look(self) -> bool:
        """Take the records that are new; whether there were any."""
        found = list(self._follower.new())
        for record in found:
            self._take(record)
        return bool(found)

    def _take(self, record: dict[str, Any]) -> None:
        if record["kind"] == "switch":
            self.switch = record
        if record["kind"] != "test":
            return
        if record["task"] != self.test.get("task"):
            self.rewards.clear()
        self.test = record
        self.rewards.append(record["reward"])

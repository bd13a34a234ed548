"""A run that learns, watched from outside: its newest numbers in a line, and for TensorBoard."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections import deque
from pathlib import Path
from typing import Any

from bennafusi.files import RunError, own_folder

TESTS = 10  # the newest ones, of which the mean is shown
AT_A_TIME = 200  # records per look: TensorBoard takes a millisecond for each, and Ctrl-C waits


class Monitor:
    """Reads along in a run's folder, and never writes to it.

    Args:
        folder: the run's.
        module: the experiment, which knows what its records mean.
        settings: of the agent.
        board: where the records also go, if anywhere.
    """

    def __init__(self, folder: Any, module: Any, settings: Any, board: Board | None) -> None:
        self.folder, self.module, self.settings, self.board = folder, module, settings, board
        self.test: dict[str, Any] = {}
        self.switch: dict[str, Any] = {}
        self.rewards: deque[float] = deque(maxlen=TESTS)
        self._bytes = self._place = self._taken = 0
        self._look()  # what earlier attempts wrote says nothing of the speed of this one
        self._first: tuple[float, int] | None = None
        self._speed: float | None = None

    def line(self) -> str:
        """The newest numbers, in a line."""
        from bennafusi.runs import progress

        rate = None
        with contextlib.suppress(RunError, OSError):
            rate = progress.read(self.folder).rate
        if self._look(AT_A_TIME) and self.test:
            now, updates = time.monotonic(), self.test["updates"]
            self._first = self._first or (now, updates)
            if now > self._first[0]:
                self._speed = (updates - self._first[1]) / (now - self._first[0])
        if not self.test:
            return "no test so far"
        awake = self.module.awake(self.settings, self.test["updates"])
        several = f"{self.test['task']}: " if len(self.settings.tasks) > 1 else ""
        parts = [
            f"{several}return {sum(self.rewards) / len(self.rewards):.1f}",
            f"loss {self.test['loss']:.3g}",
            *([f"{rate:,.0f} episodes/s"] if rate else []),
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
        if self.board:
            self.board.close()

    def _look(self, most: int | None = None) -> bool:
        """Take the records that are new, or so many of them; whether there were any."""
        from bennafusi import files

        before = self._taken
        with contextlib.suppress(OSError, ValueError), files.reading(self.folder.metrics) as file:
            # A resume cuts off lines and writes them again, to the bit.
            if os.fstat(file.fileno()).st_size < self._bytes:
                self._bytes = self._place = 0
            file.seek(self._bytes)
            for line in itertools.islice(file, most):
                if not line.endswith(b"\n"):
                    break
                self._bytes += len(line)
                self._place += 1
                if self._place > self._taken:
                    self._taken = self._place
                    self._take(files.parse(line))
        return self._taken > before

    def _take(self, record: dict[str, Any]) -> None:
        if self.board:
            self.board.add(*self.module.scalars(self.settings, record))
        if record["kind"] == "switch":
            self.switch = record
        if record["kind"] != "test":
            return
        if record["task"] != self.test.get("task"):
            self.rewards.clear()
        self.test = record
        self.rewards.append(record["reward"])


class Board:
    """The scalars of one run, for TensorBoard; made anew by each command, so that none is double.

    Args:
        path: its folder.
    """

    def __init__(self, path: Path) -> None:
        from tensorboardX import SummaryWriter

        self.path = own_folder(path)
        for old in path.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer = SummaryWriter(str(path))

    def add(self, step: int, numbers: dict[str, float]) -> None:
        """Numbers by their names, at a step."""
        for name, number in numbers.items():
            self._writer.add_scalar(name, number, step)

    def close(self) -> None:
        """Wait until all is written."""
        self._writer.close()

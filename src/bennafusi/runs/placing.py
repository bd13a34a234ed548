"""Many runs to their end, whichever engine starts them.

This is the only place that decides what becomes of a run: it is placed when there is room, placed
again if its process was lost, watched if somebody else writes to its folder, and given up if it is
lost again and again without a new checkpoint. The folder's lock, not this code, keeps out a second
writer.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from bennafusi import files
from bennafusi.files import RunError
from bennafusi.runs.attempt import DONE, FAILED, INTERRUPTED, LOCKED
from bennafusi.runs.engine import RETRIES, Ended, Engine, EngineError
from bennafusi.runs.folder import Folder
from bennafusi.runs.screen import Screen
from bennafusi.runs.signals import Stop, watching
from bennafusi.runs.status import Status, read_status

_WATCH = 0.1  # seconds between looks at the processes
_SHOW = 0.5  # seconds between looks at their status
_ELSEWHERE = 1.0  # seconds between looks at a folder that somebody else writes to


class Failure(NamedTuple):
    """A run that failed: where, how its process ended, and the end of its log."""

    folder: Folder
    how: str
    log: str


class Outcome(NamedTuple):
    """What became of all runs."""

    code: int  # 0 done, 75 interrupted and resumable, 1 failed
    done: int
    interrupted: int  # how many can be continued
    failures: list[Failure]  # the others
    note: str = ""  # what else there is to say, such as runs that go on without this command


def place_all(
    folders: Sequence[Folder],
    engine: Engine,
    console: Console | None = None,
    describe: Callable[[Folder], str] | None = None,
    retries: int = RETRIES,
    look: Callable[[Collection[Path]], None] | None = None,
) -> Outcome:
    """Run every folder to its end; the first signal stops all of them, the second kills them.

    With an engine whose runs survive, SIGHUP leaves them going and only ends this.

    Args:
        folders: prepared by :func:`bennafusi.runs.plan.prepare`; finished ones return at once.
        engine: what starts their processes; it is closed at the end.
        console: where to show progress.
        describe: what to say below the bars about a run that is going on; must not raise.
        retries: how often a run whose process was lost, by a signal or with its machine, is placed
            again without having saved a new checkpoint; after that it has failed. Each new
            checkpoint begins the count anew. An exit code of its own is never tried again.
        look: called every now and then with the paths of the runs that are going on; must not
            raise.
    """
    # A run that is described is enough by itself.
    whole = len(folders) > 1 or describe is None
    screen = Screen(console or Console(stderr=True), len(folders), whole)
    with contextlib.closing(engine), watching() as stop, screen:
        return _Placing(folders, engine, screen, stop, describe, retries, look).to_the_end()


class _Placing:
    def __init__(
        self,
        folders: Sequence[Folder],
        engine: Engine,
        screen: Screen,
        stop: Stop,
        describe: Callable[[Folder], str] | None,
        retries: int,
        look: Callable[[Collection[Path]], None] | None,
    ) -> None:
        self.engine, self.screen, self.stop = engine, screen, stop
        self.describe, self.retries, self.look = describe, retries, look
        self.waiting = deque(folders)
        self.placed: dict[Path, Folder] = {}
        self.elsewhere: dict[Path, Folder] = {}
        self.tries: dict[Path, int] = {}  # how often it had been begun when it was placed
        self.losses: dict[Path, tuple[int, int]] = {}  # in a row, and the checkpoints by then
        self.statuses = {folder.path: _status(folder) for folder in folders}
        self.done, self.interrupted, self.failures = 0, 0, list[Failure]()
        self.passed_on, self.looked, self.shown, self.note = 0, 0.0, 0.0, ""

    def to_the_end(self) -> Outcome:
        try:
            while self._more():
                self._place()
                self._pass_on()
                time.sleep(_WATCH)
                for path, how in self.engine.ended():
                    self._settle(self.placed.pop(path), how)
                self._watch()
                self._show()
        except EngineError as error:
            self.note = f"{error}\n"
        left = self._unfinished([*self.placed.values(), *self.elsewhere.values()])
        if left and self._leaves():
            self.note = f"{left} runs go on; the same command attaches to them again.\n"
        self.interrupted += left + self._unfinished(self.waiting)
        code = FAILED if self.failures else INTERRUPTED if self.interrupted else DONE
        return Outcome(code, self.done, self.interrupted, self.failures, self.note)

    def _unfinished(self, folders: Collection[Folder]) -> int:
        """How many can be continued; those that have ended, told by nobody, count as done."""
        ended = sum(_done(folder, _status(folder)) for folder in folders)
        self.done += ended
        return len(folders) - ended

    def _more(self) -> bool:
        if not self.stop.count:
            return bool(self.waiting or self.placed or self.elsewhere)
        if self._leaves():
            return False
        # Those elsewhere may be this engine's, placed by a command that was closed meanwhile.
        return bool(self.placed) or not self.elsewhere.keys().isdisjoint(self.engine.going())

    def _leaves(self) -> bool:
        return self.engine.survives and self.stop.reason == "SIGHUP"

    def _place(self) -> None:
        while self.waiting and not self.stop.count and self.engine.room() > 0:
            folder = self.waiting.popleft()
            if _done(folder, self.statuses[folder.path]):
                self.done += 1  # a process would find out the same, in a second
            elif folder.locked():
                self.elsewhere[folder.path] = folder
            else:
                try:
                    self.engine.start(folder)
                except OSError as error:  # the folder is gone, or no longer ours; others go on
                    self._fail(folder, Ended(FAILED, f"cannot be started: {error.strerror}"))
                else:
                    self.placed[folder.path] = folder
                    self.tries[folder.path] = self.statuses[folder.path].attempts

    def _pass_on(self) -> None:
        """Tell the processes, once politely and then without asking."""
        if self.stop.count > self.passed_on and not self._leaves():
            kill = self.passed_on > 0 or self.stop.count > 1
            self.engine.stop([*self.placed, *self.elsewhere], kill=kill)
            self.passed_on = self.stop.count
            self.screen.stopping()

    def _settle(self, folder: Folder, how: Ended) -> None:
        """Decide what becomes of a run whose process has ended."""
        self.statuses[folder.path] = _status(folder)
        # Taken back before it was begun, it may have ended long ago, placed by another command.
        taken_back = self.stop.count > 0 and _done(folder, self.statuses[folder.path])
        if how.code == DONE or taken_back:
            self.done += 1
        elif (how.code or 0) > 0 and how.code not in (INTERRUPTED, LOCKED):
            self._fail(folder, how)  # it says itself that it cannot go on
        elif self.stop.count:
            self.interrupted += 1  # by a signal that we passed on, or while we did
        elif how.code == LOCKED:
            self.elsewhere[folder.path] = folder
        elif how.blameless or self._never_begun(folder, how) or self._may_try_again(folder):
            self.waiting.append(folder)
        else:
            times = f"{self.retries + 1} times in a row " if self.retries else ""
            why = f"{how}, {times}without a new checkpoint; the same command tries again"
            self._fail(folder, how._replace(why=why))

    def _never_begun(self, folder: Folder, how: Ended) -> bool:
        """Whether it was lost in a queue, on a machine that something else brought down."""
        return how.code is None and self.statuses[folder.path].attempts == self.tries[folder.path]

    def _may_try_again(self, folder: Folder) -> bool:
        # The first checkpoint is made at the very start, and is no sign of progress.
        now = max(1, self.statuses[folder.path].checkpoints)
        count, before = self.losses.get(folder.path, (0, 1))
        count = 1 if now > before else count + 1
        self.losses[folder.path] = (count, now)
        return count <= self.retries

    def _fail(self, folder: Folder, how: Ended) -> None:
        self.failures.append(Failure(folder, str(how), _tail(folder)))

    def _watch(self) -> None:
        """Look at the runs that somebody else works on, and take over what is left of them."""
        if time.monotonic() - self.looked < _ELSEWHERE:
            return
        self.looked = time.monotonic()
        for path, folder in list(self.elsewhere.items()):
            status = self.statuses[path] = _status(folder)
            if folder.locked():
                continue
            del self.elsewhere[path]
            if status.state == "failed":
                self._fail(folder, Ended(FAILED, "failed elsewhere"))
            else:
                self.waiting.append(folder)

    def _show(self) -> None:
        if time.monotonic() - self.shown < _SHOW:
            return
        self.shown = time.monotonic()
        going = [path for path in self.engine.going() if path in self.placed]
        for path in going:
            self.statuses[path] = _status(self.placed[path])
        notes = {path: f"running elsewhere, {f.owner()}" for path, f in self.elsewhere.items()}
        if self.describe:  # its text has the rate, with its unit
            notes |= {path: "" for path in going if self.statuses[path].rate}
        self.screen.show(self.statuses, notes, [*going, *self.elsewhere])
        if self.look:
            self.look([*going, *self.elsewhere])
        told = [self.describe(self.placed[path]) for path in going] if self.describe else []
        self.screen.lines = (*told, *([self.engine.news] if self.engine.news else []))


def _status(folder: Folder) -> Status:
    with contextlib.suppress(RunError):
        return read_status(folder)
    return Status()


def _done(folder: Folder, status: Status) -> bool:
    return status.state == "done" and folder.final.exists()


def _tail(folder: Folder, lines: int = 12) -> str:
    try:
        with files.reading(folder.log_file) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 8000))
            text = file.read(8000).decode(errors="replace")
    except OSError as error:
        return f"no log: {error.strerror}"
    return "\n".join(map(files.printable, text.splitlines()[-lines:]))

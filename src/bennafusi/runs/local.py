"""Many runs on this machine: each in its own process, some at a time, with progress on screen."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.text import Text

from bennafusi.runs import progress
from bennafusi.runs.attempt import BAD_INPUT, DONE, FAILED, INTERRUPTED
from bennafusi.runs.disk import RunError, opener
from bennafusi.runs.folder import Folder
from bennafusi.runs.progress import Status
from bennafusi.runs.signals import PARENT, Stop, watching

_WATCH = 0.1  # seconds between looks at the processes
_SHOW = 0.5  # seconds between looks at their status


class Failure(NamedTuple):
    """A run that failed: where, how its process ended, and the end of its log."""

    folder: Folder
    code: int
    log: str


class Outcome(NamedTuple):
    """What became of all runs; ``code`` is 0 done, 75 interrupted and resumable, 1 failed."""

    code: int
    done: int
    interrupted: int
    failures: list[Failure]


def run_all(
    folders: Sequence[Folder],
    command: Sequence[str],
    workers: int = 1,
    console: Console | None = None,
    describe: Callable[[Folder], str] | None = None,
) -> Outcome:
    """Run every folder to its end; the first signal stops all of them, the second kills them.

    Args:
        folders: prepared by :func:`bennafusi.runs.plan.prepare`; finished ones return at once.
        command: what to start for one run; its folder is added as the last argument.
        workers: how many at a time.
        console: where to show progress.
        describe: what to say below the bars about a run that is going on; must not raise.

    Returns:
        What became of them.
    """
    if workers < 1:
        raise ValueError(f"workers={workers}: must be at least 1")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}", justify="right"),
        TextColumn("{task.fields[left]}", justify="right"),
    )
    screen = _Screen(*columns, console=console or Console(stderr=True), transient=True)
    # Runs that differ by a number alone share their programs; the first of them compiles.
    with tempfile.TemporaryDirectory(prefix="bennafusi-") as compiled, watching() as stop, screen:
        shared = {"JAX_COMPILATION_CACHE_DIR": compiled}
        return _Pool(folders, command, workers, screen, stop, shared, describe).to_the_end()


class _Screen(Progress):
    """Bars, and lines of text below them."""

    lines: tuple[str, ...] = ()

    def get_renderables(self) -> Iterable[RenderableType]:
        """What is on screen."""
        yield from super().get_renderables()
        yield from map(Text, self.lines)


class _Pool:
    def __init__(
        self,
        folders: Sequence[Folder],
        command: Sequence[str],
        workers: int,
        screen: _Screen,
        stop: Stop,
        environ: Mapping[str, str],
        describe: Callable[[Folder], str] | None = None,
    ) -> None:
        self.command, self.workers, self.screen, self.stop = command, workers, screen, stop
        self.environ, self.describe = environ, describe
        self.waiting, self.running = list(folders), dict[subprocess.Popen[bytes], Folder]()
        self.codes: list[tuple[Folder, int]] = []
        self.statuses = {folder.path: _status(folder) for folder in folders}
        self.done_before = sum(map(_share, self.statuses.values()))
        self.began, self.passed_on = time.monotonic(), 0
        name, total = f"{len(folders)} runs", len(folders)
        shown = total > 1 or describe is None  # a run that is described is enough by itself
        self.whole = screen.add_task(name, total=total, visible=shown, rate="", left="")
        self.bars: dict[subprocess.Popen[bytes], TaskID] = {}

    def to_the_end(self) -> Outcome:
        shown = -_SHOW
        try:
            while self.running or (self.waiting and not self.stop.count):
                while self.waiting and len(self.running) < self.workers and not self.stop.count:
                    self._next(self.waiting.pop(0))
                self._pass_on()
                time.sleep(_WATCH)
                self._collect()
                if time.monotonic() - shown >= _SHOW:
                    shown = time.monotonic()
                    self._show()
        finally:  # an error here must not leave processes behind
            for process in self.running:
                process.kill()
                process.wait()
        return self._outcome()

    def _next(self, folder: Folder) -> None:
        if self.statuses[folder.path].state == "done" and folder.final.exists():
            self.codes.append((folder, DONE))  # a process would find out the same, in a second
        else:
            self._start(folder)

    def _start(self, folder: Folder) -> None:
        environ = {**self.environ, **os.environ, "NPROC": "1", PARENT: str(os.getpid())}
        try:
            with open(folder.log_file, "ab", opener=opener) as log:
                process = subprocess.Popen(  # noqa: S603 - the command is the caller's own
                    [*self.command, str(folder.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environ,
                    start_new_session=True,  # Ctrl-C reaches us alone, and we pass it on once
                )
        except OSError:  # the folder is gone, or no longer ours; the others go on
            self.codes.append((folder, FAILED))
            return
        self.running[process] = folder
        name = f"  {folder.path.parent.name} {folder.path.name}"
        self.bars[process] = self.screen.add_task(name, total=1, rate="starting", left="")

    def _pass_on(self) -> None:
        """Tell the children, once politely and then without asking."""
        if self.stop.count > self.passed_on:
            for process in self.running:
                if self.passed_on or self.stop.count > 1:
                    process.kill()
                else:
                    process.send_signal(signal.SIGTERM)
            self.passed_on = self.stop.count
            self.screen.update(self.whole, description="stopping; once more kills", visible=True)

    def _collect(self) -> None:
        for process, folder in list(self.running.items()):
            if process.poll() is not None:
                del self.running[process]
                self.statuses[folder.path] = _status(folder)
                self.screen.remove_task(self.bars.pop(process))
                self.codes.append((folder, process.returncode))

    def _show(self) -> None:
        for process, folder in self.running.items():
            status = self.statuses[folder.path] = _status(folder)
            rate = f"{status.rate:,.1f}/s" if status.rate else "starting"
            rate = "" if self.describe and status.rate else rate  # the text has it, with its unit
            left = duration(status.left)
            self.screen.update(self.bars[process], completed=_share(status), rate=rate, left=left)
        done = sum(map(_share, self.statuses.values()))
        speed = (done - self.done_before) / (time.monotonic() - self.began + 1e-9)
        left = duration((len(self.statuses) - done) / speed if speed > 0 else None)
        self.screen.update(self.whole, completed=done, left=left)
        if self.describe:
            self.screen.lines = tuple(map(self.describe, self.running.values()))

    def _outcome(self) -> Outcome:
        stopped = len(self.waiting)
        failures, done = [], 0
        for folder, code in self.codes:
            # Whatever ends while we stop it, or by a signal we passed on, can be continued.
            if code == INTERRUPTED or (self.stop.count and code not in (DONE, FAILED, BAD_INPUT)):
                stopped += 1
            elif code == DONE:
                done += 1
            else:
                failures.append(Failure(folder, code, _tail(folder, code)))
        code = FAILED if failures else INTERRUPTED if stopped else DONE
        return Outcome(code, done, stopped, failures)


def duration(seconds: float | None) -> str:
    """Seconds as people say them.

    Example:
        >>> duration(7), duration(3725), duration(None)
        ('0:07 left', '1:02:05 left', '')
    """
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"


def _status(folder: Folder) -> Status:
    with contextlib.suppress(RunError):
        return progress.read(folder)
    return Status()


def _share(status: Status) -> float:
    return min(1.0, status.done / status.total) if status.total else 0.0


def _tail(folder: Folder, code: int, lines: int = 12) -> str:
    ended = f"killed by signal {-code}; the same command continues it\n" if code < 0 else ""
    try:
        text = folder.log_file.read_bytes()[-8000:].decode(errors="replace")
    except OSError as error:
        return f"{ended}no log: {error.strerror}"
    return ended + "\n".join(text.splitlines()[-lines:])

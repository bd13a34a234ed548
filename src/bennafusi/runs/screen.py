"""What is on screen while runs go on: a bar for each, one for the whole, and lines below them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.text import Text

from bennafusi.runs.status import Status
from bennafusi.text import duration

_BARS = 24  # runs with a bar of their own; a screen has no room for more


class Screen(Progress):
    """Bars, and lines of text below them."""

    def __init__(self, console: Console, runs: int, whole: bool) -> None:
        self.lines: tuple[str, ...] = ()
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}", justify="right"),
            TextColumn("{task.fields[left]}", justify="right"),
        )
        super().__init__(*columns, console=console, transient=True)
        self._whole = self.add_task(f"{runs} runs", total=runs, visible=whole, rate="", left="")
        self._bars: dict[Path, TaskID] = {}
        self._began = time.monotonic()
        self._before: float | None = None  # what earlier commands did says nothing of the speed

    def get_renderables(self) -> Iterable[RenderableType]:
        """What is on screen."""
        yield from super().get_renderables()
        yield from map(Text, self.lines)

    def stopping(self) -> None:
        """Say that a signal was heard."""
        self.update(self._whole, description="stopping; once more kills", visible=True)

    def show(
        self, statuses: Mapping[Path, Status], notes: Mapping[Path, str], going: Collection[Path]
    ) -> None:
        """Draw a bar for each of the runs that are going on, and one for all.

        A note says something of a run instead of its rate, also if that is nothing.
        """
        shown = list(going)[:_BARS]
        for path in self._bars.keys() - set(shown):
            self.remove_task(self._bars.pop(path))
        for path in shown:
            if path not in self._bars:
                name = f"  {path.parent.name} {path.name}"
                self._bars[path] = self.add_task(name, total=1, rate="starting", left="")
            status = statuses[path]
            rate = f"{status.rate:,.1f}/s" if status.rate else "starting"
            rate = notes.get(path, rate)
            left = left_in_words(status.left)
            self.update(self._bars[path], completed=share(status), rate=rate, left=left)
        done = sum(map(share, statuses.values()))
        self._before = done if self._before is None else self._before
        speed = (done - self._before) / (time.monotonic() - self._began + 1e-9)
        left = left_in_words((len(statuses) - done) / speed if speed > 0 else None)
        self.update(self._whole, completed=done, left=left)


def left_in_words(seconds: float | None) -> str:
    """What is left to do; nothing if that is not known.

    Example:
        >>> left_in_words(7), left_in_words(3725), left_in_words(None)
        ('7 s left', '62 min left', '')
    """
    return "" if seconds is None else f"{duration(seconds)} left"


def share(status: Status) -> float:
    """How much of a run is done, from 0 to 1."""
    return min(1.0, status.done / status.total) if status.total else 0.0

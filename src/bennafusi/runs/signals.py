"""Signals that only raise a flag, which the loop looks at when a chunk ends.

An exception out of a handler would strike while buffers are donated and nothing is left to save.
Handlers must stand before JAX is imported; this file therefore imports nothing that does.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

PARENT = "BENNAFUSI_PARENT"  # environment: the process with which a worker is to end
WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """Whether to stop, and why."""

    def __init__(self) -> None:
        self.count = 0  # how often a signal came
        self.reason: str | None = None  # name of the last signal, None as long as none came

    def after(self, seconds: float) -> None:
        """Stop by itself after so many seconds, as if a signal had come.

        Example:
            >>> stop = Stop()
            >>> stop.after(0.01)
            >>> while not stop.reason:
            ...     pass
            >>> stop.reason
            'the time is up'
        """
        timer = threading.Timer(seconds, self._time_is_up)
        timer.daemon = True  # a run that is done need not wait for it
        timer.start()

    def _time_is_up(self) -> None:
        self.count += 1
        self.reason = "the time is up"

    def __call__(self, number: int, frame: FrameType | None = None) -> None:
        """The handler."""
        self.count += 1
        self.reason = signal.Signals(number).name


@contextlib.contextmanager
def watching() -> Iterator[Stop]:
    """Handlers for SIGINT, SIGTERM and SIGHUP that set a flag, for as long as the block lasts.

    In a thread that is not the main one Python allows no handlers; the flag is then never set.

    Example:
        >>> with watching() as stop:
        ...     signal.raise_signal(signal.SIGTERM)
        ...     stop.reason
        'SIGTERM'
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    # Under nohup SIGHUP is ignored, and is to stay so.
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    watched = [n for n in WATCHED if not (ignored and n is signal.SIGHUP)]
    before = {number: signal.signal(number, stop) for number in watched}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            # None is a handler that C code had installed, which Python cannot put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextlib.contextmanager
def interrupting() -> Iterator[None]:
    """SIGTERM as a KeyboardInterrupt, for as long as the block lasts.

    For commands around runs: what they do before and after has nothing to save, and ends as after
    Ctrl-C. While runs go on, :func:`watching` takes its place.

    Example:
        >>> try:
        ...     with interrupting():
        ...         signal.raise_signal(signal.SIGTERM)
        ... except KeyboardInterrupt:
        ...     print("interrupted")
        interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def end_with_parent() -> None:
    """Ask Linux for a SIGTERM when the process that started this one dies.

    Only if that process asked for it, through the environment. Elsewhere than on Linux nothing
    happens: a worker whose supervisor was killed then runs to its end.
    """
    parent = os.environ.pop(PARENT, "")
    if not parent.isdecimal() or not sys.platform.startswith("linux"):
        return
    set_death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None, use_errno=True).prctl(set_death_signal, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != int(parent):  # it died before we could ask
        signal.raise_signal(signal.SIGTERM)

"""What an engine is: a way to start the process of a run, here or elsewhere.

An engine holds no state of ours. All there is to know about a run lies in its folder, which every
machine sees; whoever starts the run's process, the folder's lock lets one of them write.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from bennafusi.files import RunError
from bennafusi.runs.folder import Folder

RETRIES = 2  # how often a lost run is placed again as long as it saves nothing new
PATIENCE = 120.0  # seconds to wait for a scheduler that is gone


class EngineError(RunError):
    """An engine that cannot go on; what its runs have saved is not touched."""


class Ended(NamedTuple):
    """How the process of a run ended."""

    code: int | None  # its exit code, negative for a signal; None if nobody is left to tell
    why: str = ""  # what is known besides
    blameless: bool = False  # whether the run itself cannot have caused it

    def __str__(self) -> str:
        """In words.

        Example:
            >>> print(Ended(-9)), print(Ended(None, "its worker was lost")), print(Ended(1))
            killed by signal 9
            its worker was lost
            exit code 1
            (None, None, None)
        """
        if self.why:
            return self.why
        if self.code is None:
            return "its process was lost"
        return f"killed by signal {-self.code}" if self.code < 0 else f"exit code {self.code}"


class Engine(Protocol):
    """Starts runs and says how they ended; :mod:`bennafusi.runs.placing` does all the rest."""

    @property
    def survives(self) -> bool:
        """Whether runs go on when the command that placed them is closed."""

    @property
    def news(self) -> str:
        """What the user should know at this moment, such as a scheduler that does not answer."""

    def room(self) -> int:
        """How many more runs can be placed now.

        Raises:
            EngineError: if there will be none any more.
        """

    def start(self, folder: Folder) -> None:
        """Place a run.

        Raises:
            OSError: if this run cannot be started; others may.
        """

    def going(self) -> Collection[Path]:
        """The folders that a process of this engine works on, as far as is known."""

    def ended(self) -> list[tuple[Path, Ended]]:
        """Those that ended since the last call."""

    def stop(self, paths: Sequence[Path], *, kill: bool) -> None:
        """Ask the processes of these folders to stop, or kill them; start none of them any more."""

    def close(self) -> None:
        """Let go of everything; if the engine does not survive, no process is left behind."""

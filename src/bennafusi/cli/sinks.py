"""The numbers of runs, also elsewhere: TensorBoard, Weights & Biases.

They are read from the runs' own folders while those are written, whatever engine runs them, and
nothing is written there.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from bennafusi import files
from bennafusi.cli import options
from bennafusi.cli.jobs import base_settings
from bennafusi.cli.printing import say
from bennafusi.experiments import registry
from bennafusi.files import RunError, own_folder
from bennafusi.runs.config import flat
from bennafusi.runs.folder import Folder
from bennafusi.runs.metrics_file import decode
from bennafusi.runs.status import read_status

AT_A_TIME = 200  # records per look: TensorBoard takes a millisecond for each, and Ctrl-C waits

TensorBoardOption = Annotated[
    bool, typer.Option("--tensorboard", help="Also write scalars to OUT/tensorboard.")
]
WandbOption = Annotated[
    bool, typer.Option("--wandb", help="Also log scalars to Weights & Biases, a run for each.")
]


class Follower:
    """The records of a run that may be going on, each once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes = self._place = self._taken = 0

    def new(self, most: int | None = None) -> Iterator[dict[str, Any]]:
        """Those that came since the last call, or so many of them."""
        with contextlib.suppress(OSError), files.reading(self.path) as file:
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
                    # No checkpoint vouches yet for a line that was just written, so none is asked.
                    # One that is no record costs itself alone: who reads the run later names it.
                    with contextlib.suppress(RunError):
                        yield decode(self.path, self._place, line)


class TensorBoard:
    """A folder for TensorBoard; made anew by each command, so that no point is there twice."""

    def __init__(self, path: Path) -> None:
        from tensorboardX import SummaryWriter

        for old in own_folder(path).glob("events.out.tfevents.*"):
            old.unlink()
        self._writer = SummaryWriter(str(path))

    def add(self, step: int, numbers: dict[str, float]) -> None:
        """Numbers by their names, at a step."""
        for name, number in numbers.items():
            self._writer.add_scalar(name, number, step)

    def close(self) -> None:
        """Wait until all is written."""
        self._writer.close()


class WeightsAndBiases:
    """A run of wandb, whose own settings (``WANDB_MODE``, ``WANDB_PROJECT``, ...) hold.

    The first part of its name is the group that it belongs to.
    """

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        import wandb

        project = os.environ.get("WANDB_PROJECT", "bennafusi")
        group = name.partition("/")[0]
        # Several at a time, one for each run that is going on.
        self._run = wandb.init(
            project=project, name=name, group=group, config=config, reinit="create_new"
        )
        # Steps of a run's records need not grow, and wandb drops those of its own that do not.
        self._run.define_metric("*", step_metric="step")

    def add(self, step: int, numbers: dict[str, float]) -> None:
        """Numbers by their names, at a step."""
        self._run.log({**numbers, "step": step})

    def close(self) -> None:
        """Wait until all is sent."""
        self._run.finish()


class Mirror:
    """Passes the records of runs on to sinks while they are written.

    What a sink does wrong never ends a run: it gets no more, and ``problem`` says why.
    """

    def __init__(
        self, folders: Sequence[Any], root: Path, *, tensorboard: bool = False, wandb: bool = False
    ) -> None:
        self.root, self.tensorboard, self.wandb = root, tensorboard, wandb
        self.problem = ""
        self._waiting = {folder.path: folder for folder in folders} if tensorboard or wandb else {}
        self._open: dict[Path, _Copy] = {}

    def look(self, going: Collection[Path]) -> None:
        """Take what is new of the runs that are going on, and the rest of those that ended."""
        with self._harmless():
            for path in [path for path in self._open if path not in going]:
                # One that was lost is placed again, and goes on in the same copy.
                if self._open[path].over():
                    self._open.pop(path).close()
            for path in going:
                if path in self._waiting:
                    self._open[path] = self._begin(self._waiting.pop(path))
                if path in self._open:
                    self._open[path].take(AT_A_TIME)

    def close(self) -> None:
        """Take what is left of all runs."""
        with self._harmless():
            for copy in self._open.values():
                copy.close()
            for folder in self._waiting.values():
                self._begin(folder).close()

    def say(self, console: Console) -> None:
        """Where the numbers are, or why they are not."""
        if self.problem:
            sys.stderr.write(f"note: not all numbers were passed on: {self.problem}\n")
        elif self.tensorboard:
            say(console, f"tensorboard: {self.root / 'tensorboard'}")

    @contextlib.contextmanager
    def _harmless(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # a service that is down, a disk that is full
            self.problem = f"{type(error).__name__}: {error}"
            self._waiting.clear()
            self._open.clear()

    def _begin(self, folder: Any) -> _Copy:
        spec, _ = folder.read_config()
        name = folder.path.relative_to(self.root).as_posix()
        sinks: list[TensorBoard | WeightsAndBiases] = []
        if self.tensorboard:
            where = self.root
            for part in ("tensorboard", *Path(name).parts):
                where = own_folder(where / part)  # none of them may be a link
            sinks.append(TensorBoard(where))
        if self.wandb:
            names = {"experiment": spec.experiment, "variant": spec.variant, "seed": spec.seed}
            sinks.append(WeightsAndBiases(name, {**flat(spec.settings), **names}))
        experiment = registry.find(spec.experiment)
        settings = experiment.settings_of(spec.variant, base_settings(spec))
        return _Copy(folder, Follower(folder.metrics), partial(experiment.scalars, settings), sinks)


class _Copy(NamedTuple):
    """One run on its way to its sinks."""

    folder: Folder
    follower: Follower
    scalars: Callable[[dict[str, Any]], tuple[int, dict[str, float]]]
    sinks: list[TensorBoard | WeightsAndBiases]

    def over(self) -> bool:
        """Whether the run says that it has ended for good."""
        with contextlib.suppress(RunError):
            return read_status(self.folder).state in ("done", "failed")
        return False

    def take(self, most: int | None = None) -> None:
        for step, numbers in map(self.scalars, self.follower.new(most)):
            for sink in self.sinks:
                if numbers:
                    sink.add(step, numbers)

    def close(self) -> None:
        self.take()
        for sink in self.sinks:
            sink.close()


def need(tensorboard: bool, wandb: bool) -> None:
    """Refuse what is not installed."""
    if tensorboard:
        options.need("--tensorboard", "tensorboardX", "tensorboard")
    if wandb:
        options.need("--wandb", "wandb", "wandb")

"""A random walk that is a job: pure NumPy, so that its process starts in a fraction of a second.

``python -m tests.runs.toy RUNDIR`` works on a run; TOY_CHECKPOINT is the pace in seconds. With
TOY_LAZY=1 it does not wait for the disk, which no test of a killed process can tell. ``all`` and
``dask ADDRESS`` as its first words place several runs.
"""

import os
import signal
import sys
import time
import types
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[2]


class Walk(NamedTuple):
    step: np.ndarray  # int64 scalar
    place: np.ndarray  # float64[size]
    key: np.ndarray  # uint64[2]


class ToyJob:
    """Settings: steps, chunk; and, if wanted, size, sleep, blow_up, nan_record, crash, die.

    With ``hold``, the name of a file, it sleeps only as long as that file is there; it makes the
    file ``mark`` when a chunk begins.
    """

    def __init__(self, spec, chunk=None):
        self.seed, self.options = spec.seed, spec.settings
        self.chunk = chunk or self.options["chunk"]

    def initial(self):
        place = np.zeros(self.options.get("size", 3))
        return Walk(np.zeros((), np.int64), place, np.array([self.seed, 7], np.uint64))

    def advance(self, state):
        if "mark" in self.options:
            Path(self.options["mark"]).touch()
        if "hold" not in self.options or os.path.exists(self.options["hold"]):
            time.sleep(self.options.get("sleep", 0))
        first, place, records = int(state.step), state.place, []
        last = min(first + self.chunk, self.options["steps"])
        for step in range(first, last):
            bits = np.random.Philox(key=state.key, counter=step)
            place = place + np.random.Generator(bits).normal(size=place.shape)
            if step == self.options.get("die"):
                os.kill(os.getpid(), signal.SIGKILL)
            if step == self.options.get("crash"):
                raise ZeroDivisionError("the toy was told to")
            if step == self.options.get("blow_up"):
                place = place * np.nan
            x = float("nan") if step == self.options.get("nan_record") else float(place.sum())
            records.append({"step": step, "x": x})
        return Walk(np.array(last), place, state.key), records

    def progress(self, state):
        return int(state.step), self.options["steps"]

    def check(self, state):
        return None if np.isfinite(state.place).all() else "place is not finite"

    def final(self, state):
        return state._asdict()


def light():
    """Keep the package's own __init__, which imports JAX, out of this process."""
    package = types.ModuleType("bennafusi")
    package.__path__ = [str(ROOT / "src" / "bennafusi")]
    sys.modules.setdefault("bennafusi", package)


def main(path, *folders):
    light()
    if os.environ.get("TOY_LAZY") == "1":
        os.fsync = lambda descriptor: None
    from bennafusi.runs.attempt import Pace
    from bennafusi.runs.folder import Folder
    from bennafusi.runs.worker import work

    command = [sys.executable, "-m", "tests.runs.toy"]
    if path in ("all", "dask"):  # a supervisor of two workers, or the client of a cluster
        from bennafusi.runs.local import LocalEngine
        from bennafusi.runs.placing import place_all

        if path == "all":
            engine = LocalEngine(command, workers=2)
        else:
            from bennafusi.runs.dask_clusters import Cluster
            from bennafusi.runs.dask_engine import DaskEngine

            address, *folders = folders
            patience = float(os.environ.get("TOY_PATIENCE", "60"))
            engine = DaskEngine(command[1:], Cluster(address), patience)
        outcome = place_all([Folder(Path(folder)) for folder in folders], engine)
        print(outcome.done, outcome.interrupted, len(outcome.failures))
        for failure in outcome.failures:
            print(failure.how)
        print(outcome.note, file=sys.stderr)
        return outcome.code
    pace = Pace(checkpoint=float(os.environ.get("TOY_CHECKPOINT", "10")), status=0.02)
    return work(Path(path), ToyJob, pace)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

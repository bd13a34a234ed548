"""What the tests of runs share."""

import itertools
import os
import subprocess
import sys

from bennafusi.runs import plan
from bennafusi.runs.attempt import Pace
from bennafusi.runs.signals import Stop
from bennafusi.runs.worker import work
from tests.runs.toy import ROOT, ToyJob

EAGER = Pace(checkpoint=0.0, status=0.0)  # a checkpoint after every chunk
TOY = [sys.executable, "-m", "tests.runs.toy"]
_count = itertools.count()


def new_run(tmp_path, seed=0, **settings):
    """The folder of a toy run that was planned and not started."""
    root = tmp_path / f"out-{next(_count)}"
    specs = plan.plan("toy", ["walk"], [seed], {"steps": 40, "chunk": 4, **settings})
    return plan.prepare(root, specs)[0]


def finished(tmp_path, seed=0, **settings):
    """The folder of a toy run that went through without a stop."""
    folder = new_run(tmp_path, seed, **settings)
    assert work(folder.path, ToyJob, stop=Stop()) == 0
    return folder


def results(folder):
    """All bytes that a run is for."""
    return folder.metrics.read_bytes(), folder.final.read_bytes()


class After(Stop):
    """A signal that comes after so many chunks."""

    def __init__(self, chunks):
        self.chunks = chunks

    @property
    def reason(self):
        self.chunks -= 1
        return "SIGTERM" if self.chunks < 0 else None


def start(folder, pace=0.0, lazy=True):
    """A real process that works on a run."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TOY_CHECKPOINT": str(pace)}
    environ["TOY_LAZY"] = str(int(lazy))
    pipe = subprocess.PIPE
    command = [*TOY, str(folder.path)]
    return subprocess.Popen(command, env=environ, stderr=pipe, text=True)

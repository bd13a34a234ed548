"""A real Dask cluster for tests: scheduler and workers are processes, on loopback alone."""

import contextlib
import io
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import Future
from threading import Thread

from rich.console import Console

from tests.runs.common import TOY
from tests.runs.toy import ROOT

FAST = {  # what a cluster takes half a minute for by default
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "2s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "50",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
    "DASK_DISTRIBUTED__ADMIN__LOG_FORMAT": "%(message)s",
    "DASK_LOGGING__DISTRIBUTED": "error",
}


def environ(**more):
    toy = {"TOY_CHECKPOINT": "0.1", "TOY_LAZY": "1", "NPROC": "1"}
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    return {**os.environ, **FAST, **toy, "PYTHONPATH": path, **more}


def wait_for(condition, seconds=120):
    """Wait until something is so; busy machines are slow."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class TestCluster:
    """A scheduler at a fixed address, and workers that can be killed."""

    __test__ = False

    def __init__(self, *security, protocol="tcp"):
        self.port, self.security = free_port(), security
        self.address = f"{protocol}://127.0.0.1:{self.port}"
        self.processes = []
        self.start_scheduler()

    def start_scheduler(self):
        words = ("--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show")
        if self.security:
            words = ("--host", f"tls://127.0.0.1:{self.port}", *words[4:])
        self.scheduler = self._begin("dask_scheduler", *words)
        wait_for(self._listens)

    def worker(self):
        """One more worker, with room for one run."""
        words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        if self.security:
            words = (*words[:-2], "--host", "tls://127.0.0.1")
        return self._begin("dask_worker", self.address, *words)

    def place(self, folders, patience=60.0):
        """Place these runs from a thread of ours: quick to start, but deaf to signals."""
        from bennafusi.runs.dask_clusters import Cluster
        from bennafusi.runs.dask_engine import DaskEngine
        from bennafusi.runs.placing import place_all

        outcome = Future()

        def place():
            try:
                engine = DaskEngine(TOY[1:], Cluster(self.address), patience)
                outcome.set_result(place_all(folders, engine, Console(file=io.StringIO())))
            except BaseException as error:
                outcome.set_exception(error)

        Thread(target=place, daemon=True).start()
        return outcome

    def client(self, folders, **more):
        """The process of a command that places these runs."""
        command = [*TOY, "dask", self.address, *(str(folder.path) for folder in folders)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, env=environ(**more), stdout=pipe, stderr=pipe, text=True, cwd=ROOT
        )
        self.processes.append(process)
        return process

    def rest(self):
        """End all but the scheduler."""
        self.close([process for process in self.processes if process is not self.scheduler])

    def close(self, processes=None):
        for process in self.processes if processes is None else processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.communicate()

    def _begin(self, module, *words):
        command = [sys.executable, "-m", f"distributed.cli.{module}", *self.security, *words]
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(command, env=environ(), stdout=nowhere, stderr=nowhere, cwd=ROOT)
        self.processes.append(process)
        return process

    def _listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def child_of(worker):
    """The process of the run that a worker has, None if it has none."""
    path = f"/proc/{worker.pid}/task"
    with contextlib.suppress(OSError):
        for thread in os.listdir(path):
            with open(f"{path}/{thread}/children") as file:
                for word in file.read().split():
                    return int(word)
    return None

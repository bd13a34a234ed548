"""What does not fit is said before it is tried, and what fails is not waited for."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bennafusi.cli.jobs import make_job
from bennafusi.experiments import registry
from bennafusi.files import RunError
from bennafusi.runs import capacity, plan, tree
from bennafusi.runs.config import to_json, with_changes
from bennafusi.runs.signals import Stop
from bennafusi.runs.status import read_status
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, After, finished, new_run, results
from tests.runs.toy import ToyJob


def test_a_state_is_compared_with_what_is_free():
    state = {"beakers": np.zeros(1000), "replay": np.zeros(10, np.float32)}
    needed = capacity.COPIES * 8040
    capacity.check(state, needed)
    with pytest.raises(RunError, match="its state is 'beakers', 8e-06 GB"):
        capacity.check(state, needed - 1)


def test_the_system_says_how_much_is_free(monkeypatch, tmp_path):
    real = capacity.available()
    assert 2**26 < real < 2**46
    (tmp_path / "memory.max").write_text("3000\n")
    (tmp_path / "memory.current").write_text("1000\n")
    monkeypatch.setattr(capacity, "_GROUP", tmp_path)
    assert capacity.available() == 2000
    # What files left in memory is given back; the rest of memory.stat is not.
    stat = "anon 300\nfile 700\ninactive_file 400\nactive_file 200\n"
    (tmp_path / "memory.stat").write_text(stat)
    assert capacity.available() == 2600
    (tmp_path / "memory.max").write_text("max\n")
    assert capacity.available() > 2**26


@pytest.mark.parametrize("error", [MemoryError("no"), RuntimeError("RESOURCE_EXHAUSTED: Out of")])
def test_out_of_memory_is_said_in_one_line(tmp_path, error):
    class Large(ToyJob):
        def advance(self, state):
            raise error

    folder = new_run(tmp_path)
    assert work(folder.path, Large, EAGER, Stop()) == 1
    assert read_status(folder).reason.startswith("out of memory: ")


@pytest.mark.parametrize(
    ("name", "variant", "changes", "part"),
    [
        ("two-task", "benna-fusi", {"network.hidden": "300000,300000"}, "agent/"),
        ("two-task", "control-1e-3", {"schedule.replay": str(2**24)}, "replay/"),
        ("grid-switch", "benna-fusi", {"size": "1000", "chain.n": "30"}, "training/table/"),
        ("grid-switch", "control", {"episodes": str(2**30)}, "length"),
        ("memory", "chains", {"synapses": str(10**11)}, "beakers"),
        ("memory", "chains", {"repeats": str(10**9)}, "overlaps"),
        ("rivals-digits", "methods", {"hidden": str(10**6)}, "networks"),
        ("rivals-digits", "methods", {"updates": str(10**9)}, "tasks"),
    ],
)
def test_what_is_too_large_for_memory_is_refused_in_one_line(
    tmp_path, monkeypatch, name, variant, changes, part
):
    monkeypatch.setattr(capacity, "available", lambda: 2 * 10**9)
    settings = with_changes(registry.find(name).settings("smoke"), changes)
    (folder,) = plan.prepare(tmp_path, plan.plan(name, [variant], [0], to_json(settings)))
    assert work(folder.path, make_job, EAGER, Stop()) == 1
    reason = read_status(folder).reason
    assert reason.startswith("too large for this machine: the run needs about ")
    assert f"the largest part of its state is '{part}" in reason
    assert not folder.metrics.exists()


MORE = [("grid-switch", []), ("memory", ["beakers"])]
MORE += [("rivals-digits", ["batches", "networks", "tasks"])]


@pytest.mark.parametrize(("name", "more"), MORE)
def test_an_outline_is_that_of_the_state(name, more):
    """That of a deep run comes from its start by itself."""
    experiment = registry.find(name)
    job = experiment.job_of(next(iter(experiment.variants)), 0, experiment.settings("smoke"))
    state, outline = (dict(tree.flatten(part)) for part in (job.initial(), job.outline()))
    assert [key for key in outline if key not in state] == more
    for key, leaf in state.items():
        assert (leaf.shape, leaf.dtype) == (outline[key].shape, outline[key].dtype), key


def test_the_state_of_a_job_without_an_outline_is_looked_at_when_it_is_there(tmp_path, monkeypatch):
    folder = new_run(tmp_path, size=10**6)
    monkeypatch.setattr(capacity, "available", lambda: 10**7)
    assert work(folder.path, ToyJob, EAGER, Stop()) == 1
    assert "the largest part of its state is 'place'" in read_status(folder).reason
    assert not folder.metrics.exists()


def test_a_checkpoint_that_does_not_fit_into_memory_now_is_not_bad(tmp_path, monkeypatch):
    folder = new_run(tmp_path)
    assert work(folder.path, ToyJob, EAGER, After(5)) == 75
    before = sorted(folder.checkpoints.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(capacity, "readable", lambda: 10)
        texts = [problem.text for problem in verify(folder.path).problems]
        assert len([text for text in texts if "with the memory that is free" in text]) == 2, texts
        assert not any("is bad" in text for text in texts)
        assert work(folder.path, ToyJob, EAGER, Stop()) == 1
        assert "at most 10 can be read with the memory that is free" in read_status(folder).reason
    assert sorted(folder.checkpoints.iterdir()) == before, "nothing is set aside"
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    assert results(folder) == results(finished(tmp_path))


def test_an_array_that_there_was_no_memory_for_is_not_waited_for():
    """The estimate may be wrong; asking NumPy for such an array used to take for ever."""
    program = """
import jax
from bennafusi.experiments.on_host import on_host
from bennafusi.runs import tree
for convert in (on_host, tree.to_numpy):
    try:
        convert(jax.jit(lambda: jax.numpy.zeros(10**12, "float32"))())
    except jax.errors.JaxRuntimeError as error:
        print(str(error)[:18])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.splitlines() == ["RESOURCE_EXHAUSTED"] * 2, done.stderr


def test_jax_is_asked_before_numpy():
    """JAX of today raises by itself where that of yesterday let NumPy wait for ever."""

    class Failed:
        dtype = np.dtype(np.float32)

        def block_until_ready(self):
            raise MemoryError("no")

        def __array__(self, *args, **kwargs):
            pytest.fail("NumPy would wait")

    with pytest.raises(MemoryError):
        tree.to_numpy(Failed())


def test_limits_of_the_shell_count(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (12345, 99999))
    assert capacity.available() == 12345
    monkeypatch.setattr(capacity, "_text", lambda path: "")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY,) * 2)
    assert capacity.available() is None
    capacity.check({"x": np.zeros(10**6)})
    assert Path("/proc").exists()

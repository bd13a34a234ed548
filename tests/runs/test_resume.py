"""The resume law, in one process: however a run is cut up, its bytes are those of one in one go."""

import os
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bennafusi.runs import checkpoint
from bennafusi.runs.attempt import Pace
from bennafusi.runs.manifest import numbers
from bennafusi.runs.signals import Stop
from bennafusi.runs.status import actual_status, read_status
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, After, finished, new_run, results
from tests.runs.toy import ToyJob


@given(
    cuts=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 13)), max_size=6),
    last=st.integers(1, 50),
    seed=st.integers(0, 2**32),
)
def test_any_split_gives_the_same_bytes(tmp_path_factory, cuts, last, seed):
    tmp_path = tmp_path_factory.mktemp("split")
    folder = new_run(tmp_path, seed)
    for chunks, chunk in cuts:
        code = work(folder.path, lambda s, c=chunk: ToyJob(s, c), EAGER, After(chunks))
        assert code == (0 if folder.final.exists() else 75)
    assert work(folder.path, lambda spec: ToyJob(spec, last), EAGER, Stop()) == 0
    assert results(folder) == results(finished(tmp_path, seed))


class Killed(BaseException):
    """What no handler in the code under test may catch."""


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "ftruncate", "unlink"])
def test_a_kill_at_every_system_call(tmp_path, monkeypatch, call):
    """Die at the first call, resume and die at the second, and so on, until it gets through."""
    want, folder, real, deaths = results(finished(tmp_path)), new_run(tmp_path), {}, 0
    for name in ("write", "fsync", "replace", "ftruncate", "unlink"):
        real[name] = getattr(os, name)
    while True:
        left = 3 + deaths  # the first calls report the attempt, and would be all it ever does

        def counted(*args, **kwargs):
            nonlocal left
            left -= 1
            if left < 0:
                if call == "write":  # half of it, as a torn line
                    real["write"](args[0], bytes(args[1])[: len(args[1]) // 2])
                raise Killed
            return real[call](*args, **kwargs)

        monkeypatch.setattr(os, call, counted)
        try:
            assert work(folder.path, ToyJob, EAGER, Stop()) == 0
            break
        except Killed:
            deaths += 1
        finally:
            monkeypatch.undo()
        assert verify(folder.path).problems == []
    assert results(folder) == want
    assert deaths > 2 or call in ("ftruncate", "unlink")


def test_a_signal_saves_what_was_done_since_the_last_checkpoint(tmp_path):
    folder = new_run(tmp_path)
    assert work(folder.path, ToyJob, Pace(checkpoint=1e9), After(3)) == 75
    assert numbers(folder.checkpoints) == [0, 1]
    manifest, _ = checkpoint.read(folder.checkpoints, 1)
    assert (manifest.counters["done"], manifest.metrics["lines"]) == (12, 12)


def test_a_finished_run_returns_at_once_and_changes_nothing(tmp_path):
    folder = finished(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in folder.path.rglob("*") if path.is_file()}

    def never(spec):
        raise AssertionError

    assert work(folder.path, never, EAGER, Stop()) == 0
    before.pop(folder.lock_file)
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_the_status_tells_what_happened(tmp_path):
    folder = new_run(tmp_path)
    assert actual_status(folder).state == "planned"
    assert work(folder.path, ToyJob, EAGER, After(3)) == 75
    status = actual_status(folder)
    assert (status.state, status.done, status.total) == ("interrupted", 12, 40)
    assert (status.reason, status.attempts) == ("SIGTERM", 1)
    assert len(numbers(folder.checkpoints)) == 2


def test_a_spoilt_status_is_no_loss(tmp_path):
    folder = new_run(tmp_path)
    work(folder.path, ToyJob, EAGER, After(3))
    folder.status.write_text("{")
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    assert results(folder) == results(finished(tmp_path))


def test_another_environment_is_a_warning(tmp_path, monkeypatch):
    folder = new_run(tmp_path)
    work(folder.path, ToyJob, EAGER, After(3))
    monkeypatch.setenv("NPROC", "7")
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    (warning,) = read_status(folder).warnings
    assert "NPROC was" in warning
    assert "'7'" in warning
    assert warning in folder.log_file.read_text()


class Net(NamedTuple):
    params: dict
    half: jax.Array
    key: jax.Array
    count: jax.Array


class JaxJob:
    """A state of every kind of leaf, advanced by a compiled step that donates it."""

    def __init__(self, spec):
        self.seed = spec.seed
        self.step = jax.jit(self._step, donate_argnums=0)

    def initial(self):
        params = {"w": jnp.ones((4, 3)), "b": [jnp.zeros(3), None]}
        half, count = jnp.ones(5, jnp.bfloat16), jnp.zeros((), jnp.int32)
        return Net(params, half, jax.random.key(self.seed), count)

    @staticmethod
    def _step(state):
        key, use = jax.random.split(state.key)
        noise = jax.random.normal(use, (4, 3))
        params = jax.tree.map(lambda p: p * 0.9 + noise.sum(0, keepdims=p.ndim == 2), state.params)
        return Net(params, state.half * jnp.bfloat16(1.01), key, state.count + 1)

    def advance(self, state):
        state = self.step(state)
        return state, [{"step": int(state.count), "w": float(state.params["w"][0, 0])}]

    def progress(self, state):
        return int(state.count), 9

    def check(self, state):
        return None

    def final(self, state):
        return {
            "w": np.asarray(state.params["w"]),
            "key": np.asarray(jax.random.key_data(state.key)),
        }


def test_a_jax_tree_with_keys_and_bfloat16_resumes_to_the_bit(tmp_path):
    whole, cut = new_run(tmp_path), new_run(tmp_path)
    assert work(whole.path, JaxJob, EAGER, Stop()) == 0
    for _ in range(4):
        assert work(cut.path, JaxJob, EAGER, After(2)) == 75
    assert work(cut.path, JaxJob, EAGER, Stop()) == 0
    assert results(cut) == results(whole)
    stores = [
        checkpoint.Store(f.checkpoints, JaxJob(f.read_config()[0]).initial()) for f in (cut, whole)
    ]
    one, other = (store.load()[0].state for store in stores)
    assert one.half.dtype == jnp.bfloat16
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert isinstance(a, jax.Array)
        assert (a == b).all()

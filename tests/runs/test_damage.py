"""Spoilt files and sick jobs: noticed, said, and nothing good is lost."""

import errno
import json
import os
import re
import shutil

import numpy as np
import pytest

from bennafusi import files
from bennafusi.runs import checkpoint
from bennafusi.runs.manifest import CheckpointError, numbers
from bennafusi.runs.signals import Stop
from bennafusi.runs.status import read_status
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, After, finished, new_run, results
from tests.runs.toy import ToyJob


@pytest.fixture
def halfway(tmp_path):
    folder = new_run(tmp_path)
    assert work(folder.path, ToyJob, EAGER, After(5)) == 75
    return folder


def newest(folder, ending):
    return folder.checkpoints / f"{numbers(folder.checkpoints)[-1]:08}.{ending}"


def flip(path, position, bit=0):
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_every_flipped_bit_is_found(halfway, ending):
    path, number = newest(halfway, ending), numbers(halfway.checkpoints)[-1]
    checkpoint.read(halfway.checkpoints, number)
    for position in range(0, path.stat().st_size, 2):
        flip(path, position, bit=position % 8)
        with pytest.raises(CheckpointError):
            checkpoint.read(halfway.checkpoints, number)
        flip(path, position, bit=position % 8)
    checkpoint.read(halfway.checkpoints, number)


@pytest.mark.parametrize("ending", ["npz", "json"])
@pytest.mark.parametrize("how", ["flip", "cut", "empty", "remove"])
def test_a_bad_checkpoint_falls_back_to_the_one_before_and_says_so(tmp_path, halfway, ending, how):
    path, size = newest(halfway, ending), newest(halfway, ending).stat().st_size
    if how == "flip":
        flip(path, size // 2)
    elif how == "remove":
        path.unlink()
    else:
        os.truncate(path, size // 2 if how == "cut" else 0)
    silent = (ending, how) == ("json", "remove")  # without its manifest it never was one
    assert bool(verify(halfway.path).problems) is not silent
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 0
    assert results(halfway) == results(finished(tmp_path))
    warnings = read_status(halfway).warnings
    assert len(warnings) == (not silent)
    for warning in warnings:
        assert warning.startswith("checkpoint 5 is bad: ")
        assert warning in halfway.log_file.read_text()
    assert "resumes from checkpoint 4" in halfway.log_file.read_text()
    assert verify(halfway.path).problems == []


def test_without_a_good_checkpoint_there_is_an_error_and_no_restart(halfway):
    for path in halfway.checkpoints.iterdir():
        flip(path, 200)
    before = halfway.metrics.read_bytes(), sorted(os.listdir(halfway.checkpoints))
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 1
    assert (halfway.metrics.read_bytes(), sorted(os.listdir(halfway.checkpoints))) == before
    status = read_status(halfway)
    assert status.state == "failed"
    assert "checkpoint 5 is bad" in status.reason
    assert "checkpoint 4 is bad" in status.reason
    assert "remove the folder to start anew" in status.reason


@pytest.mark.parametrize("status_too", [False, True])
def test_lost_checkpoints_are_an_error_too(halfway, status_too):
    for path in halfway.checkpoints.iterdir():
        path.unlink()
    if status_too:
        halfway.status.unlink()
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 1
    assert "is empty, and this run had checkpoints" in read_status(halfway).reason


def test_spoilt_metrics_fall_back_as_far_as_they_are_good(tmp_path, halfway):
    size = halfway.metrics.stat().st_size
    flip(halfway.metrics, size - 10)  # in the last chunk, so that checkpoint 4 still has its lines
    assert "no longer what it was" in verify(halfway.path).problems[0].text
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 0
    assert results(halfway) == results(finished(tmp_path))
    assert "checkpoint 5 is bad: metrics.jsonl is no longer" in read_status(halfway).warnings[0]


def test_lost_metrics_are_an_error(halfway):
    halfway.metrics.unlink()
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 1
    assert "metrics.jsonl" in read_status(halfway).reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: {**w._asdict(), "more": w.step}, "'more' is missing"),
        (lambda w: {"step": w.step, "key": w.key}, "'place' is one too many"),
        (lambda w: w._replace(place=np.zeros(4)), r"'place' is float64[3] where the job has"),
        (lambda w: w._replace(place=np.zeros(3, "f4")), "has float32[3]"),
    ],
)
def test_a_state_of_another_form_is_named_by_its_leaf(halfway, change, message):
    class Changed(ToyJob):
        def initial(self):
            return change(super().initial())

    assert work(halfway.path, Changed, EAGER, Stop()) == 1
    assert message in read_status(halfway).reason


def test_a_nan_fails_the_run_keeps_the_last_good_state_and_says_where(tmp_path):
    folder = new_run(tmp_path, blow_up=18)
    assert work(folder.path, ToyJob, EAGER, Stop()) == 1
    status = read_status(folder)
    assert (status.state, status.done) == ("failed", 16)
    assert status.reason == "place is not finite; see postmortem.json"
    found = json.loads(folder.postmortem.read_text())
    assert found["state"]["place"] == {"size": 3, "not_finite": 3, "largest": None}
    assert found["last_good_checkpoint"] == 4
    _, (_, place, _) = checkpoint.read(folder.checkpoints, 4)
    assert np.isfinite(place).all()
    assert len(folder.metrics.read_text().splitlines()) == 16


def test_a_nan_in_a_record_fails_the_run_too(tmp_path):
    folder = new_run(tmp_path, nan_record=18)
    assert work(folder.path, ToyJob, EAGER, Stop()) == 1
    assert read_status(folder).reason.startswith("record.x is nan: ")
    assert folder.postmortem.exists()


def test_an_error_of_the_job_is_in_the_log_and_the_post_mortem(tmp_path):
    folder = new_run(tmp_path, crash=18)
    assert work(folder.path, ToyJob, EAGER, Stop()) == 1
    assert read_status(folder).reason == "ZeroDivisionError: the toy was told to"
    assert "in advance" in folder.log_file.read_text()
    assert "Traceback" in json.loads(folder.postmortem.read_text())["traceback"][0]


@pytest.mark.parametrize(
    ("number", "cause"), [(errno.ENOSPC, "disk is full"), (errno.EROFS, "disk is read-only")]
)
def test_what_the_disk_refuses_is_said_plainly(tmp_path, monkeypatch, number, cause):
    folder, real = new_run(tmp_path), os.open

    def refuse(path, flags, *rest, **more):
        if "00000003" in str(path) and flags & os.O_CREAT:
            raise OSError(number, os.strerror(number))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    assert work(folder.path, ToyJob, EAGER, Stop()) == 1
    assert cause in read_status(folder).reason
    monkeypatch.undo()
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    assert results(folder) == results(finished(tmp_path))


def test_a_job_that_stands_still_is_not_waited_for(tmp_path):
    class Still(ToyJob):
        def advance(self, state):
            return state, []

    folder = new_run(tmp_path)
    assert work(folder.path, Still, EAGER, Stop()) == 1
    assert "does not get on" in read_status(folder).reason


def test_a_chunk_that_only_tests_may_stand_still_once(tmp_path):
    class Pausing(ToyJob):
        paused = False

        def advance(self, state):
            self.paused = not self.paused
            return (state, []) if self.paused else super().advance(state)

    folder = new_run(tmp_path)
    assert work(folder.path, Pausing, EAGER, Stop()) == 0
    assert results(folder) == results(finished(tmp_path))


def test_a_folder_without_a_run_is_bad_input(tmp_path, capsys):
    assert work(tmp_path, ToyJob, EAGER, Stop()) == 2
    assert "not the folder of a run" in capsys.readouterr().err


def test_half_a_file_is_not_left_behind(tmp_path, monkeypatch):
    path = tmp_path / "file"
    files.replace(path, b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(files.StorageError, match="the disk is full"):
        files.replace(path, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


def test_a_copied_folder_continues(tmp_path, halfway):
    copy = tmp_path / "copy"
    shutil.copytree(halfway.path, copy)
    assert work(copy, ToyJob, EAGER, Stop()) == 0
    assert (copy / "final.npz").read_bytes() == results(finished(tmp_path))[1]


def test_a_bad_checkpoint_does_not_push_out_the_good_one(tmp_path, halfway):
    flip(newest(halfway, "npz"), 300)
    assert work(halfway.path, ToyJob, EAGER, After(1)) == 75
    assert numbers(halfway.checkpoints) == [4, 6]
    flip(newest(halfway, "npz"), 300)
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 0
    assert results(halfway) == results(finished(tmp_path))
    assert len(list(halfway.checkpoints.glob("*.npz.bad"))) == 2


def test_everything_reaches_the_disk_in_order(halfway, monkeypatch):
    """What a power cut can tell and a kill cannot: metrics, arrays, manifest, then status."""
    seen, replace = [], os.replace

    def fsync(descriptor):
        name = os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))
        seen.append(f"sync {re.sub('[.][0-9a-f]{8}[.]part.*', '', name)}")

    def named(source, target):
        seen.append(f"name {os.path.basename(target)}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", named)
    assert work(halfway.path, ToyJob, EAGER, After(1)) == 75
    first = seen.index("name 00000006.npz") - 2
    assert seen[first : first + 10] == [
        "sync metrics.jsonl",
        "sync .00000006.npz",
        "name 00000006.npz",
        "sync checkpoints",
        "sync .00000006.json",
        "name 00000006.json",
        "sync checkpoints",
        "sync .status.json",
        "name status.json",
        "sync seed-0",
    ]

"""What a reader gets: a run as it was sealed, or a problem."""

import json
import os
import shutil
from dataclasses import replace

import pytest

from bennafusi import files
from bennafusi.files import RunError
from bennafusi.runs.attempt import Pace
from bennafusi.runs.export import export_csv
from bennafusi.runs.load import load, load_all
from bennafusi.runs.manifest import numbers
from bennafusi.runs.signals import Stop
from bennafusi.runs.status import read_status, write_status
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, After, finished, new_run
from tests.runs.toy import ToyJob


@pytest.fixture
def done(tmp_path):
    return finished(tmp_path)


@pytest.fixture
def halfway(tmp_path):
    folder = new_run(tmp_path)
    assert work(folder.path, ToyJob, EAGER, After(5)) == 75
    return folder


def test_a_run_comes_with_everything(done):
    run = load(done)
    assert (run.spec.variant, run.spec.seed, run.over) == ("walk", 0, True)
    assert run.environment["NPROC"] == os.environ.get("NPROC")
    assert [record["step"] for record in run.records] == list(range(40))
    assert run.status == read_status(done)


def test_a_run_that_was_only_planned_has_no_records(tmp_path):
    run = load(new_run(tmp_path))
    assert (run.records, run.environment, run.over) == ([], None, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda lines: [lines[0].replace(b"step", b"stop"), *lines[1:]],
            "is no longer what it was",
        ),
        (lambda lines: [*lines, b'{"step":40,"x":0}\n'], "has grown since the run was done"),
        (lambda lines: lines * 1000, "has grown since"),
        (lambda lines: lines[:-1], "bytes, and its checkpoint says"),
        (lambda lines: [], "has 0 bytes"),
        (lambda lines: [*lines, b'{"st'], "has grown"),
    ],
)
def test_a_finished_run_is_what_was_sealed_to_the_byte(done, change, message):
    lines = done.metrics.read_bytes().splitlines(keepends=True)
    done.metrics.write_bytes(b"".join(change(lines)))
    with pytest.raises(RunError, match=message):
        load(done)


def test_lines_beyond_the_checkpoint_count_while_the_run_goes_on_and_a_torn_one_does_not(halfway):
    with halfway.metrics.open("ab") as file:
        file.write(b'{"step":20,"x":0.5}\n{"step":21')
    assert [record["step"] for record in load(halfway).records] == list(range(20))
    write_status(halfway, replace(read_status(halfway), state="running"))
    with halfway.lock():
        assert [record["step"] for record in load(halfway).records] == list(range(21))
    content = halfway.metrics.read_bytes()
    halfway.metrics.write_bytes(content.replace(b'"step":3,', b'"step":4,'))
    with pytest.raises(RunError, match="no longer what it was"):
        load(halfway)


def test_the_lines_of_a_failed_run_are_those_that_it_had_when_it_failed(tmp_path):
    """Its claims count on them: a run that diverged is over, and has no checkpoint of its end."""
    folder = new_run(tmp_path, crash=17)
    assert work(folder.path, ToyJob, Pace(checkpoint=99.0), Stop()) == 1
    assert [record["step"] for record in load(folder).records] == list(range(16))
    with folder.metrics.open("ab") as file:
        file.write(b'{"step":16,"x":0.5}\n')
    with pytest.raises(RunError, match="no longer what it was when the run failed"):
        load(folder)
    assert verify(folder.path).problems


@pytest.mark.parametrize("name", ["metrics.jsonl", "final.npz", "checkpoints/00000001.npz"])
def test_terabytes_that_are_not_there_are_refused_by_their_number(done, name):
    os.truncate(done.path / name, 2**43)
    problems = "\n".join(problem.text for problem in verify(done.path).problems)
    assert "has 8,796,093,022,208 bytes, and at most" in problems
    shutil.rmtree(done.path)  # before something else tries to read it


def test_a_spoilt_manifest_vouches_for_nothing(done):
    newest = numbers(done.checkpoints)[-1]
    path = done.checkpoints / f"{newest:08}.json"
    path.write_bytes(path.read_bytes().replace(b'"lines":40', b'"lines":41'))
    with pytest.raises(RunError, match="manifest is not what was written"):
        load(done)


@pytest.mark.parametrize("status_too", [False, True])
def test_without_a_checkpoint_nothing_is_vouched_for(done, status_too):
    shutil.rmtree(done.checkpoints)
    done.checkpoints.mkdir()
    if status_too:
        done.status.unlink()
    with pytest.raises(RunError, match=r"no checkpoint is left|has grown"):
        load(done)


@pytest.mark.parametrize("name", ["config.json", "status.json", "metrics.jsonl", "checkpoints"])
@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_anything_but_a_plain_file_is_a_problem_and_not_waited_for(done, tmp_path, name, kind):
    path, copy = done.path / name, tmp_path / "copy"
    if kind == "folder" and name in ("checkpoints", "config.json"):
        pytest.skip("a folder there is no run, or no fault")
    path.rename(copy)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(copy)
    else:
        path.mkdir()
    with pytest.raises(RunError):
        load(done)


def test_each_file_of_metrics_is_opened_once_whoever_looks(done, tmp_path, monkeypatch):
    opened, real = [], files.descriptor
    monkeypatch.setattr(
        files, "descriptor", lambda path, how: opened.append(path) or real(path, how)
    )
    for look in (verify, load_all, lambda root: export_csv(root, tmp_path / "all.csv")):
        opened.clear()
        look(done.path)
        assert opened.count(done.metrics) == 1, look


def test_one_bad_run_does_not_hide_the_others(tmp_path):
    good, bad = (finished(tmp_path, seed) for seed in (0, 1))
    text = json.loads(bad.status.read_text())
    bad.status.write_text(json.dumps(text).replace('"attempts": 1', f'"attempts": 1{"0" * 400}'))
    runs, problems = load_all(tmp_path)
    assert [run.folder.path for run in runs] == [good.path]
    assert [problem.folder for problem in problems] == [bad.path]
    assert "status.json: attempts: a number beyond" in problems[0].text
    assert load_all(tmp_path, lambda spec: spec.seed == 5) == ([], [])


def test_reading_while_a_run_writes_never_finds_a_problem(tmp_path):
    folder = new_run(tmp_path, steps=200)
    seen = []

    class Looked(ToyJob):
        def advance(self, state):
            seen.append(len(load(folder).records))
            return super().advance(state)

    assert work(folder.path, Looked, EAGER, Stop()) == 0
    assert seen == sorted(seen)
    assert seen[-1] > 100

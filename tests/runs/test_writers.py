"""Two writers: one of them stops, and nothing they wrote is taken for a result."""

import errno
import fcntl
import threading

import pytest

from bennafusi.files import StorageError
from bennafusi.runs.lock import LockedError
from bennafusi.runs.plan import plan, prepare
from bennafusi.runs.signals import Stop
from bennafusi.runs.status import read_status
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, finished, new_run, results
from tests.runs.toy import ToyJob


def meanwhile(action, at=3):
    """A job during one chunk of which something happens."""

    class Job(ToyJob):
        def advance(self, state):
            if int(state.step) == at * self.chunk:
                action()
            return super().advance(state)

    return Job


@pytest.mark.parametrize("replaced", [False, True])
def test_a_lock_that_was_removed_ends_its_holder(tmp_path, replaced):
    folder = new_run(tmp_path)

    def remove():
        folder.lock_file.unlink()
        if replaced:
            folder.lock_file.touch()

    assert work(folder.path, meanwhile(remove), EAGER, Stop()) == 69
    assert "was removed or replaced while" in folder.log_file.read_text()
    assert len(folder.metrics.read_bytes().splitlines()) == 12, "nothing was written after that"
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    assert results(folder) == results(finished(tmp_path))


def test_a_second_writer_takes_over_and_the_first_one_stops(tmp_path):
    folder, codes = new_run(tmp_path), []

    def second():
        folder.lock_file.unlink()
        codes.append(work(folder.path, ToyJob, EAGER, Stop()))

    codes.append(work(folder.path, meanwhile(second), EAGER, Stop()))
    assert codes == [0, 69]
    assert read_status(folder).state == "done"
    assert results(folder) == results(finished(tmp_path))
    assert verify(folder.path).problems == []


def test_lines_of_somebody_else_in_the_metrics_end_the_run(tmp_path):
    folder = new_run(tmp_path)

    def append():
        with folder.metrics.open("ab") as file:
            file.write(b'{"step":12,"x":0.0}\n')

    assert work(folder.path, meanwhile(append), EAGER, Stop()) == 1
    assert "somebody else writes to it" in read_status(folder).reason
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    assert results(folder) == results(finished(tmp_path))


def test_a_lock_removed_before_it_was_had_is_not_had(tmp_path, monkeypatch):
    folder, real = new_run(tmp_path), fcntl.flock

    def flock(descriptor, how):
        folder.lock_file.unlink()
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(LockedError, match="removed or replaced"), folder.lock():
        pass


def test_a_file_system_without_locks_is_explained(tmp_path, monkeypatch, capsys):
    folder = new_run(tmp_path)

    def flock(descriptor, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(StorageError, match="gives no locks"), folder.lock():
        pass
    assert work(folder.path, ToyJob, EAGER, Stop()) == 1
    assert "mount it with locks" in capsys.readouterr().err
    assert not folder.locked()


def test_two_planners_of_one_folder(tmp_path):
    specs, errors = plan("toy", ["a", "b"], range(10), {"steps": 4, "chunk": 4}), []

    def planner():
        try:
            prepare(tmp_path, specs)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=planner) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    found = verify(tmp_path)
    assert (found.runs, found.problems) == (20, [])
    assert not list(tmp_path.rglob("*.part*"))


def test_a_folder_that_another_planner_makes_while_we_look(tmp_path, monkeypatch):
    (spec,) = plan("toy", ["a"], [0], {"steps": 4, "chunk": 4})

    def foreign(folder):
        folder.create(spec)  # it was empty when we began to look
        return True

    (tmp_path / "toy" / "a" / "seed-0").mkdir(parents=True)
    monkeypatch.setattr("bennafusi.runs.plan._foreign", foreign)
    (folder,) = prepare(tmp_path, [spec])
    assert verify(folder.path).problems == []

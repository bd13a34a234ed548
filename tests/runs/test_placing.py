"""What becomes of runs, whichever engine has them: with an engine that does what it is told."""

import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from bennafusi.runs import placing
from bennafusi.runs.child import begin
from bennafusi.runs.engine import Ended, EngineError
from bennafusi.runs.local import run_all
from bennafusi.runs.placing import place_all
from bennafusi.runs.plan import plan, prepare
from bennafusi.runs.signals import Stop
from bennafusi.runs.status import Status, read_status, write_status
from bennafusi.runs.worker import work
from tests.runs.common import TOY, finished, new_run, results
from tests.runs.toy import ROOT, ToyJob

QUIET = Console(quiet=True)


class Puppet:
    """An engine; ``plays[path]`` are functions that return how an attempt at a run ended."""

    news = ""

    def __init__(self, plays, survives=False):
        self.plays, self.survives = plays, survives
        self.begun, self.stopped, self.closed, self.over = [], [], False, []

    def room(self):
        return 1

    def start(self, folder):
        self.begun.append(folder)
        play = self.plays[folder.path].pop(0)
        if play is not None:
            self.over.append((folder.path, play()))

    def going(self):
        return []

    def ended(self):
        over, self.over = self.over, []
        return over

    def stop(self, paths, *, kill):
        self.stopped.append((list(paths), kill))
        self.over += [(path, Ended(75)) for path in paths]

    def close(self):
        self.closed = True


def play(*endings):
    """A play that goes through these."""
    return [lambda ending=ending: ending for ending in endings]


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    for name in ("_WATCH", "_SHOW", "_ELSEWHERE"):
        monkeypatch.setattr(placing, name, 0.005)


def saves(folder, checkpoints, ended):
    def act():
        attempts = read_status(folder).attempts + 1
        write_status(folder, Status(state="running", checkpoints=checkpoints, attempts=attempts))
        return ended

    return act


def test_a_lost_run_is_tried_again_as_long_as_it_gets_on(tmp_path):
    folder, lost = new_run(tmp_path), Ended(None, "its worker was lost")
    acts = [saves(folder, n, Ended(-9)) for n in (1, 2, 3, 4, 5, 6)]  # one more each time
    acts += [saves(folder, 6, lost), saves(folder, 6, lost)]
    outcome = place_all([folder], Puppet({folder.path: acts}), QUIET)
    assert acts == []
    (failure,) = outcome.failures
    why = "its worker was lost, 3 times in a row without a new checkpoint"
    assert failure.how.startswith(why)
    assert outcome.code == 1


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (1, 2), (4, 5)])
def test_how_often_is_said_by_retries(tmp_path, retries, attempts):
    folder = new_run(tmp_path)
    engine = Puppet({folder.path: play(*[Ended(-11)] * 9)})
    outcome = place_all([folder], engine, QUIET, retries=retries)
    assert len(engine.begun) == attempts
    assert "killed by signal 11" in outcome.failures[0].how
    assert engine.closed


def test_what_the_run_cannot_help_is_not_counted(tmp_path):
    folder, away = new_run(tmp_path), Ended(None, "the scheduler was lost", blameless=True)
    engine = Puppet({folder.path: play(*[away] * 20, Ended(0))})
    assert place_all([folder], engine, QUIET) == (0, 1, 0, [], "")


def test_a_run_that_was_lost_in_a_queue_is_not_blamed(tmp_path):
    folder, lost = new_run(tmp_path), Ended(None, "its worker was lost 4 times")
    engine = Puppet({folder.path: play(*[lost] * 9, Ended(0))})
    assert place_all([folder], engine, QUIET) == (0, 1, 0, [], "")


@pytest.mark.parametrize("code", [1, 2, 3, 127])
def test_an_exit_code_of_its_own_is_final_and_the_others_go_on(tmp_path, code):
    bad, good = new_run(tmp_path), new_run(tmp_path)
    engine = Puppet({bad.path: play(Ended(code)), good.path: play(Ended(0))})
    outcome = place_all([bad, good], engine, QUIET)
    assert outcome[:3] == (1, 1, 0)
    assert outcome.failures[0].how == f"exit code {code}"


def test_an_engine_that_cannot_go_on_leaves_all_to_the_same_command(tmp_path):
    folders = [new_run(tmp_path) for _ in range(3)]
    engine = Puppet({folder.path: [None] for folder in folders})
    rooms = iter([1, 1])

    def room():
        for room in rooms:
            return room
        raise EngineError("the scheduler is gone")

    engine.room = room
    outcome = place_all(folders, engine, QUIET)
    assert outcome == (75, 0, 3, [], "the scheduler is gone\n")


def test_hanging_up_leaves_what_survives(tmp_path):
    folders = [new_run(tmp_path) for _ in range(2)]
    engine = Puppet({folder.path: [None] for folder in folders}, survives=True)
    threading.Timer(0.1, signal.raise_signal, [signal.SIGHUP]).start()
    outcome = place_all(folders, engine, QUIET)
    assert outcome[:4] == (75, 0, 2, [])
    assert outcome.note == "2 runs go on; the same command attaches to them again.\n"
    assert engine.stopped == []


def test_hanging_up_leaves_no_run_that_has_ended(tmp_path):
    folders = [new_run(tmp_path, seed) for seed in range(3)]
    engine = Puppet({folder.path: [None] for folder in folders}, survives=True)

    def hang_up():
        work(folders[0].path, ToyJob, stop=Stop())
        signal.raise_signal(signal.SIGHUP)

    threading.Timer(0.1, hang_up).start()
    outcome = place_all(folders, engine, QUIET)
    assert outcome[:4] == (75, 1, 2, [])
    assert outcome.note == "2 runs go on; the same command attaches to them again.\n"


def test_what_ended_unheard_counts_as_done_when_all_is_stopped(tmp_path):
    """As when another command placed it and was closed, and the cluster has forgotten it since."""
    folders = [new_run(tmp_path, seed) for seed in range(3)]
    ended, going, queued = folders
    engine = Puppet({ended.path: [None], going.path: [None]})
    engine.room = lambda: 2 - len(engine.begun)

    def stop():
        for folder in (ended, queued):
            work(folder.path, ToyJob, stop=Stop())
        signal.raise_signal(signal.SIGTERM)

    threading.Timer(0.1, stop).start()
    assert place_all(folders, engine, QUIET) == (75, 2, 1, [], "")


def test_a_folder_that_somebody_writes_to_is_watched_and_then_continued(tmp_path):
    """Never started while it is locked, and taken over as soon as it is not."""
    folder, other = new_run(tmp_path), new_run(tmp_path, seed=1)
    engine = Puppet({folder.path: [lambda: Ended(work(folder.path, ToyJob, stop=Stop()))]})
    free = threading.Event()

    def write():
        with folder.lock():
            free.wait(10)

    writer = threading.Thread(target=write)
    writer.start()
    while not folder.locked():
        time.sleep(0.01)
    shown = threading.Timer(0.3, free.set)
    shown.start()
    engine.plays[other.path] = play(Ended(0))
    outcome = place_all([folder, other], engine, QUIET)
    writer.join()
    assert outcome == (0, 2, 0, [], "")
    assert [begun.path for begun in engine.begun] == [other.path, folder.path]
    assert results(folder) == results(finished(tmp_path))


def test_locked_when_its_process_began_is_no_failure(tmp_path):
    folder = new_run(tmp_path)
    engine = Puppet({folder.path: play(Ended(69), Ended(69), Ended(69), Ended(69), Ended(0))})
    assert place_all([folder], engine, QUIET) == (0, 1, 0, [], "")


def test_a_run_that_is_killed_each_time_is_reported_by_the_local_engine(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    good, poison = new_run(tmp_path), new_run(tmp_path, die=9)
    outcome = run_all([poison, good], TOY, 2, QUIET, retries=1)
    assert outcome[:3] == (1, 1, 0)
    assert outcome.failures[0].how.startswith("killed by signal 9, 2 times in a row without")
    assert "attempt 2" in outcome.failures[0].log
    assert read_status(poison).attempts == 2


def test_a_folder_whose_name_begins_with_a_dash(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    specs = plan("toy", ["walk"], [0], {"steps": 4, "chunk": 4})
    folders = prepare(Path("-x"), specs)
    assert run_all(folders, TOY, console=QUIET).code == 0
    assert read_status(folders[0]).state == "done"
    program = "import sys; sys.exit(sys.argv[1].startswith('-'))"
    assert begin([sys.executable, "-c", program], folders[0], {}).wait() == 0

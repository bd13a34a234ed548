"""Every fault a cluster can have, on a real one, with the bits of a run that had none."""

import contextlib
import os
import random
import re
import signal
import threading
import time

import pytest

from bennafusi.runs.status import read_status
from tests.runs.cluster import TestCluster, child_of, wait_for
from tests.runs.common import TOY, finished, new_run, results
from tests.runs.toy import ROOT

ROUNDS = int(os.environ.get("BENNAFUSI_FAULT_ROUNDS", "6"))
RUN = {"steps": 300, "chunk": 4, "sleep": 0.02}  # one and a half seconds
ENDLESS = {**RUN, "steps": 100_000}


@pytest.fixture(scope="module")
def scheduler():
    cluster = TestCluster()
    yield cluster
    cluster.close()


@pytest.fixture
def cluster(scheduler):
    yield scheduler
    scheduler.rest()


def begun(folder):
    return read_status(folder).checkpoints > 2 and folder.locked()


def ends(client, code=0, said=None):
    out, errors = client.communicate(timeout=120)
    assert client.returncode == code, (out, errors)
    assert said is None or re.search(said, out + errors), (out, errors)
    return out


def check(tmp_path, folders, settings):
    """All are done, by one writer at a time, with the bits of a run that nothing happened to."""
    for seed, folder in enumerate(folders):
        whole = finished(tmp_path, seed, **{**settings, "sleep": 0})
        assert results(folder) == results(whole)
        one_writer_at_a_time(folder)


def one_writer_at_a_time(folder):
    """In the log, no process speaks up again once another one has begun its attempt."""
    owner, former = None, set()
    for line in folder.log_file.read_text().splitlines():
        if match := re.match(r"\d{4}-.*? \[(\d+)\] (attempt )?", line):
            if match[2]:
                former |= {owner} - {match[1]}
                owner = match[1]
            assert match[1] not in former, line


def test_killed_workers_killed_children_poison_and_a_worker_that_joins_late(tmp_path, cluster):
    first, second = cluster.worker(), cluster.worker()
    hold = tmp_path / "hold"
    hold.touch()  # no run ends before everything has happened, however slow the machine is
    held = {"steps": 12_000, "chunk": 20, "sleep": 0.1, "hold": str(hold)}
    folders = [new_run(tmp_path, seed, **held) for seed in range(3)]
    poison = new_run(tmp_path, **RUN, die=9)
    outcome = cluster.place([*folders, poison])
    child = wait_for(lambda: child_of(first))
    wait_for(lambda: sum(map(begun, folders)) >= 2)
    first.kill()
    wait_for(lambda: not alive(child))  # it saves what it has and ends with its worker
    late = cluster.worker()
    wait_for(lambda: child_of(second) and sum(map(begun, folders)) >= 1)
    os.kill(child_of(second), signal.SIGKILL)
    wait_for(lambda: child_of(late))
    hold.unlink()
    found = outcome.result(timeout=120)
    assert (found.code, found.done, found.interrupted) == (1, 3, 0)
    (failure,) = found.failures
    assert failure.folder is poison
    assert failure.how.startswith("killed by signal 9, 3 times in a row without a new checkpoint")
    # An attempt that is lost with its worker, or with one so slow that it is given up, is no blame.
    attempts = read_status(poison).attempts
    assert attempts >= 3
    assert f"attempt {attempts}" in failure.log
    check(tmp_path, folders, held)
    assert max(read_status(folder).attempts for folder in folders) > 1


def test_a_worker_without_a_network_keeps_its_run(tmp_path, cluster):
    lonely = cluster.worker()
    settings = {**RUN, "steps": 2000}
    folder = new_run(tmp_path, **settings)
    outcome = cluster.place([folder])
    wait_for(lambda: begun(folder))
    cluster.worker()
    lonely.send_signal(signal.SIGSTOP)
    # Another worker is given the run, finds it locked, and leaves it alone.
    wait_for(lambda: "is being written to by process" in folder.log_file.read_text())
    assert read_status(folder).attempts == 1
    lonely.send_signal(signal.SIGCONT)
    assert outcome.result(timeout=120)[:4] == (0, 1, 0, [])
    check(tmp_path, [folder], settings)


def test_a_client_that_is_closed_leaves_runs_going_and_another_stops_them(tmp_path, cluster):
    cluster.worker()
    folders = [new_run(tmp_path, seed, **RUN) for seed in range(2)]
    folders += [new_run(tmp_path, 2, **ENDLESS), new_run(tmp_path, 3, **RUN)]
    closed = cluster.client(folders)
    wait_for(lambda: begun(folders[0]))
    closed.send_signal(signal.SIGHUP)
    ends(closed, 75, "4 runs go on; the same command attaches to them again")
    client = cluster.client(folders)
    wait_for(lambda: begun(folders[2]))  # which the first one had placed, and nobody had begun
    assert [read_status(folder).attempts for folder in folders[:3]] == [1, 1, 1]
    client.send_signal(signal.SIGTERM)
    assert ends(client, 75).startswith("2 2 0")
    wait_for(lambda: not any(folder.locked() for folder in folders))
    time.sleep(0.5)  # nothing is left in a queue
    states = ["done", "done", "interrupted", "planned"]
    assert [read_status(folder).state for folder in folders] == states
    check(tmp_path, folders[:2], RUN)


def test_a_second_signal_kills(tmp_path, cluster):
    worker = cluster.worker()
    mark = tmp_path / "chunk"
    folder = new_run(tmp_path, steps=100, chunk=1, sleep=600, mark=str(mark))
    client = cluster.client([folder])
    wait_for(mark.exists)
    client.send_signal(signal.SIGINT)
    time.sleep(1.5)
    assert client.poll() is None, "it waits for the chunk to end"
    client.send_signal(signal.SIGINT)
    assert ends(client, 75).startswith("0 1 0")
    wait_for(lambda: child_of(worker) is None)


@pytest.mark.skipif(ROUNDS < 20, reason="make faults: minutes of random faults")
@pytest.mark.timeout(120 + 30 * ROUNDS)
def test_random_faults(tmp_path, cluster):
    """A dozen runs at a time, while whatever can be killed or frozen is, at random."""
    chance, faults, settings = random.Random(5), [], {**RUN, "steps": 4000}
    workers = [cluster.worker() for _ in range(3)]
    while len(faults) < ROUNDS:
        folders = [new_run(tmp_path, seed, **settings) for seed in range(12)]
        outcome = cluster.place(folders, patience=120)
        while not outcome.done():
            workers = [w if w.poll() is None else cluster.worker() for w in workers]
            time.sleep(chance.uniform(0.0, 2.0))
            if len(faults) < ROUNDS:
                faults += strike(cluster, workers, chance)
        assert outcome.result()[:4] == (0, 12, 0, []), faults
        check(tmp_path, folders, settings)
    assert len(set(faults)) == 5


def strike(cluster, workers, chance):
    """One fault, or none if what was to suffer it is not there; its name in a list."""
    fault = chance.choice(["worker", "child", "child", "ask", "freeze", "freeze", "scheduler"])
    worker = chance.choice(workers)
    if fault in ("child", "ask"):
        child = child_of(worker)
        if child is None:
            return []
        send(child, signal.SIGKILL if fault == "child" else signal.SIGTERM)
    elif fault == "freeze":
        worker.send_signal(signal.SIGSTOP)
        time.sleep(chance.uniform(0.0, 9.0))
        worker.send_signal(signal.SIGCONT)
    elif fault == "worker":
        worker.kill()
        worker.wait()
    else:
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        cluster.start_scheduler()
    return [fault]


def test_a_scheduler_that_is_lost_comes_back_and_is_lost_again(tmp_path, cluster):
    cluster.worker()
    folders = [new_run(tmp_path, 0, **RUN), new_run(tmp_path, 1, **ENDLESS)]
    client = cluster.client(folders)
    wait_for(lambda: any(map(begun, folders)))
    cluster.scheduler.kill()
    cluster.scheduler.wait()
    cluster.start_scheduler()
    for _ in folders:  # one each: the endless run may come first, and would keep the other out
        cluster.worker()
    wait_for(lambda: read_status(folders[0]).state == "done" and begun(folders[1]))
    check(tmp_path, folders[:1], RUN)
    cluster.scheduler.kill()
    client.send_signal(signal.SIGTERM)
    ends(client, 75, "is gone: its workers end without it")
    wait_for(lambda: not folders[1].locked())
    assert read_status(folders[1]).state == "interrupted"


def test_patience_has_an_end(monkeypatch):
    from bennafusi.runs.dask_engine import DaskEngine
    from bennafusi.runs.engine import EngineError

    class Gone:
        address, survives = "tcp://127.0.0.1:1", True

        def client(self, timeout):
            if hasattr(self, "status"):
                raise EngineError("no")
            self.status = "closed"
            return self

        def close(self, timeout):
            pass

    engine = DaskEngine(["true"], Gone(), patience=0.2)
    assert engine.room() == 0
    assert "waiting 0 s for it" in engine.news
    wait_for(lambda: raises(engine.room, EngineError, "did not come back within 0 s: start it"))
    engine.close()


def raises(call, kind, text):
    try:
        call()
    except kind as error:
        return text in str(error)
    return False


def alive(number):
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def send(number, name):
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, name)


@pytest.mark.parametrize("lasting", [True, False])
def test_a_child_lives_as_long_as_the_thread_that_started_it(tmp_path, monkeypatch, lasting):
    """Linux sends the death signal of a thread; why dask_side has one that starts all children."""
    from bennafusi.runs import child, dask_side

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TOY_CHECKPOINT", "0.1")
    folder, begun_by = new_run(tmp_path, **RUN), []

    def begin():
        words = (TOY, folder, {})
        start = dask_side._starter().submit(child.begin, *words).result if lasting else None
        begun_by.append(start() if start else child.begin(*words))
        wait_for(lambda: begun(folder))

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    assert begun_by[0].wait(60) == (0 if lasting else 75)

"""The resume law with real processes, killed at random moments."""

import io
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from bennafusi.runs.signals import Stop, watching
from bennafusi.runs.status import actual_status, read_status
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, TOY, finished, new_run, results, start
from tests.runs.toy import ROOT, ToyJob

ROUNDS = int(os.environ.get("BENNAFUSI_FAULT_ROUNDS", "10"))
SLOW = {"steps": 800, "chunk": 4, "sleep": 0.004}


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def completed(folder):
    process = start(folder, pace=0.02)
    process.communicate(timeout=120)
    return process.returncode == 0


@pytest.mark.timeout(300 + 20 * ROUNDS)
def test_kills_at_random_moments_leave_no_trace(tmp_path):
    chance, killed, seed = random.Random(3), [], 0
    while len(killed) < ROUNDS:
        folder, code = new_run(tmp_path, seed, **SLOW), None
        while code != 0 and len(killed) < ROUNDS:
            process = start(folder, pace=0.02, lazy=False)
            if chance.random() < 0.7:  # on a busy machine most would be killed before they begin
                wait_for(lambda p=process, f=folder: f.locked() or p.poll() is not None)
            time.sleep(chance.uniform(0.05, 0.7))
            number = chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            process.send_signal(number)
            _, errors = process.communicate(timeout=120)
            code = process.returncode
            # Ctrl-C before Python is there, or before it has begun with our file.
            unborn = errors.startswith(("Fatal Python error: init", "Could not import runpy"))
            assert code in (0, 75, -number) or unborn, errors
            killed.append((number.name, code, read_status(folder).done))
        assert completed(folder)
        assert results(folder) == results(finished(tmp_path, seed, **{**SLOW, "sleep": 0})), killed
        assert verify(folder.path).problems == []
        assert not list(folder.checkpoints.glob("*.bad"))
        seed += 1
    assert any(done for _, code, done in killed if code == 75), "no signal was ever waited for"
    assert any(done for _, code, done in killed if code == -9), "nothing was ever lost"


def test_a_second_writer_is_kept_out(tmp_path, capsys):
    folder = new_run(tmp_path, **SLOW)
    process = start(folder)
    wait_for(lambda: read_status(folder).done > 0)
    assert work(folder.path, ToyJob, EAGER, Stop()) == 69
    message = capsys.readouterr().err
    assert f"is being written to by process {process.pid} on " in message
    assert "wait for it, or stop it" in message
    process.terminate()
    process.communicate(timeout=120)
    assert process.returncode == 75


def test_a_full_disk_ends_the_run_and_spoils_nothing(tmp_path):
    folder = new_run(tmp_path, steps=1200)
    limited = ["bash", "-c", 'ulimit -f 8; exec "$@"', "-", *TOY, str(folder.path)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TOY_CHECKPOINT": "0", "TOY_LAZY": "1"}
    assert subprocess.run(limited, env=environ, timeout=120).returncode == 1
    status = read_status(folder)
    assert status.state == "failed"
    assert "metrics.jsonl: the file may not grow any further" in status.reason
    assert status.checkpoints > 10
    assert completed(folder)
    assert results(folder) == results(finished(tmp_path, steps=1200))


@pytest.mark.parametrize("way", ["vanished", "a file in the way", "checkpoints gone"])
def test_a_folder_taken_away_under_the_run(tmp_path, way):
    folder = new_run(tmp_path, **SLOW)
    process = start(folder, pace=0.02)
    wait_for(lambda: read_status(folder).done > 20)
    if way == "vanished":
        folder.path.rename(tmp_path / "elsewhere")
    else:
        folder.checkpoints.rename(tmp_path / "elsewhere")
        if way == "a file in the way":
            folder.checkpoints.touch()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    if way == "vanished":  # there is no log to write to
        assert "is gone, or its folder is; put it back and repeat the command" in errors
        (tmp_path / "elsewhere").rename(folder.path)
    else:
        assert "cannot write" in read_status(folder).reason
        folder.checkpoints.unlink(missing_ok=True)
        shutil.move(tmp_path / "elsewhere", folder.checkpoints)
    assert completed(folder)
    assert results(folder) == results(finished(tmp_path, **{**SLOW, "sleep": 0}))


def supervise(folders):
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TOY_CHECKPOINT": "0.05", "TOY_LAZY": "1"}
    command, pipe = [*TOY, "all", *(str(folder.path) for folder in folders)], subprocess.PIPE
    return subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True)


def test_one_signal_stops_all_runs_and_the_same_command_continues(tmp_path):
    folders = [new_run(tmp_path, seed, **SLOW) for seed in range(3)]
    process = supervise(folders)
    wait_for(lambda: all(read_status(folder).done for folder in folders[:2]))
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (75, "0 3 0\n"), errors
    assert [read_status(f).state for f in folders] == ["interrupted", "interrupted", "planned"]
    process = supervise(folders)
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "3 0 0\n"), errors
    for seed, folder in enumerate(folders):
        assert results(folder) == results(finished(tmp_path, seed, **{**SLOW, "sleep": 0}))


def test_a_second_signal_kills(tmp_path):
    mark = tmp_path / "chunk"
    folders = [new_run(tmp_path, steps=100, chunk=1, sleep=600, mark=str(mark))]
    process = supervise(folders)
    wait_for(mark.exists)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert process.poll() is None, "it waits for the chunk to end"
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (75, "0 1 0\n"), errors
    assert not folders[0].locked()


def test_workers_do_not_outlive_their_supervisor(tmp_path):
    folders = [new_run(tmp_path, seed, **SLOW) for seed in range(2)]
    process = supervise(folders)
    wait_for(lambda: all(read_status(folder).done for folder in folders))
    process.kill()
    process.communicate(timeout=120)
    wait_for(lambda: not any(folder.locked() for folder in folders))
    assert [actual_status(folder).state for folder in folders] == ["interrupted"] * 2


def test_a_failed_run_is_named_and_the_others_go_on(tmp_path, monkeypatch):
    from rich.console import Console

    from bennafusi.runs.local import run_all

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    good, bad, gone = new_run(tmp_path), new_run(tmp_path, crash=9), new_run(tmp_path)
    shutil.rmtree(gone.path)
    outcome = run_all([gone, bad, good], TOY, workers=2, console=Console(quiet=True))
    assert (outcome.code, outcome.done, outcome.interrupted) == (1, 1, 0)
    first, second = outcome.failures
    assert (first.folder, first.log) == (gone, "no log: No such file or directory")
    assert second.folder is bad
    assert "ZeroDivisionError: the toy was told to" in second.log


def test_finished_runs_start_no_process(tmp_path):
    from rich.console import Console

    from bennafusi.runs.local import run_all

    folders = [finished(tmp_path), finished(tmp_path, 1)]
    outcome = run_all(folders, ["/bin/false"], console=Console(quiet=True))
    assert outcome == (0, 2, 0, [], "")


def test_progress_shows_rate_and_time_left_for_each_run_and_the_whole(tmp_path, monkeypatch):
    from rich.console import Console

    from bennafusi.runs.local import run_all

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    folder = new_run(tmp_path, steps=1000, chunk=4, sleep=0.004)
    assert run_all([folder], TOY, console=console).code == 0
    assert re.search(r"walk seed-0.*%.*/s.* left", screen.getvalue())
    assert re.search(r"1 runs.*%.* left", screen.getvalue())


def test_nohup_stays_in_force():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with watching() as stop:
            signal.raise_signal(signal.SIGHUP)
            assert stop.reason is None
            signal.raise_signal(signal.SIGINT)
            assert (stop.reason, stop.count) == ("SIGINT", 1)
    finally:
        signal.signal(signal.SIGHUP, before)

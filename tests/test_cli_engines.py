"""``--engine``, ``slurm-script`` and ``status``: what they refuse, and what they do."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from bennafusi.cli import engines, run_command
from bennafusi.runs import plan
from bennafusi.runs.status import Status, actual_status, write_status
from tests.runs.toy import ToyJob

SMOKE = ["grid-switch", "--scale", "smoke", "--out", "there"]
SCRIPT = ["slurm-script", *SMOKE, "--partition", "short", "--walltime", "1:00:00"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--engine slurm", "--engine"),
        ("--address tcp://h:1", "--address tcp://h:1: only with --engine dask"),
        ("--slurm partition=a", "--slurm partition=a: only with --engine dask"),
        ("--tls-ca ca.pem", "--tls-ca ca.pem: only with --engine dask"),
        ("--engine dask --address here", "--address here: must be tcp://HOST:PORT"),
        ("--engine dask --address tcp://h:1 --slurm partition=a", "not together with --address"),
        ("--engine dask --slurm a", "--slurm a: must be partition=NAME,walltime=TIME"),
        ("--engine dask --slurm partition=a;b", "--slurm partition='a;b': must be letters"),
        ("--engine dask --slurm partition=a", "--slurm partition=a: add walltime=TIME"),
        ("--engine dask --slurm walltime=1:00", "walltime=1:00: must be at least 6 minutes"),
        (
            "--engine dask --slurm qos=a,walltime=9:00:00,qos=b",
            "--slurm qos=a,walltime=9:00:00,qos=b: qos is given twice",
        ),
        ("--engine dask --slurm queue=a,walltime=9:00:00", "queue=a: must be one of partition"),
        ("--engine dask --address tcp://h:1 --tls-ca x", "only with --address tls://HOST:PORT"),
        ("--engine dask --address tls://h:1 --tls-ca x", "--tls-ca x: there is no such file"),
        ("--engine dask --address tcp://h:1 --workers 3", "--workers 3: the cluster at --address"),
        ("--retries -1", "--retries"),
        ("--patience -1", "--patience"),
    ],
)
def test_bad_engines_are_refused_before_anything_is_made(call, tmp_path, words, message):
    result = call("run", *SMOKE, *words.split())
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_scheduler_that_is_not_there(call, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "CONNECT", 0.3)
    with socket.socket() as taken:  # a port that refuses
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        result = call("run", *SMOKE, "--engine", "dask", "--address", address)
    assert result.exit_code == 2
    assert f"--address {address}: no Dask scheduler at {address}" in result.stderr
    assert not list(tmp_path.iterdir())


def test_no_scripts_for_train(call, tmp_path):
    result = call("slurm-script", "train", *SCRIPT[2:])
    assert result.exit_code == 2
    assert "train: has a command of its own" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--partition", "a b"], "--partition='a b': must be letters"),
        (["--walltime", "later"], "--walltime='later': must be as Slurm writes it"),
        (["--account", "$HOME"], "--account='$HOME': must be letters"),
        (["--max-array", "0"], "--max-array"),
        (["--set", "epochs=0"], "--set epochs=0"),
        (["--out", "a%b"], "must be a full path without line breaks and %"),
    ],
)
def test_bad_scripts_are_refused_before_anything_is_made(call, tmp_path, words, message):
    result = call(*SCRIPT, *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("where", ["check", "_all"])
def test_a_signal_before_or_after_the_runs_is_an_interruption_too(call, monkeypatch, where):
    monkeypatch.setattr(run_command, where, lambda *words: signal.raise_signal(signal.SIGTERM))
    result = call("run", *SMOKE)
    assert result.exit_code == 75
    assert "interrupted; the same command continues" in result.stderr


def test_scripts_name_the_folders_that_run_would_use(call, tmp_path):
    words = ["--seeds", "2", "--variants", "control,modified", "--max-array", "3"]
    result = call(*SCRIPT, *words)
    assert result.exit_code == 0, result.stderr
    where = tmp_path / "there/slurm"
    scripts = [tmp_path / line.removeprefix("sbatch ") for line in result.stdout.splitlines()]
    for number, path in enumerate(scripts):
        assert re.fullmatch(rf"grid-switch-{number}-[0-9a-f]{{8}}\.sh", path.name)
    lines = [path.with_suffix(".list").read_text().splitlines() for path in scripts]
    assert list(map(len, lines)) == [3, 1]
    planned = sorted(tmp_path.glob("there/grid-switch/*/seed-*"))
    assert sorted(lines[0] + lines[1]) == list(map(str, planned))
    script = scripts[0].read_text()
    assert "-m bennafusi.cli work --stop-after 3480 " in script
    again = call(*SCRIPT, *words)
    assert again.stdout == result.stdout
    assert scripts[0].read_text() == script

    # Jobs of the first command may still be queued, and read their list when they start.
    before = {path: path.read_bytes() for path in where.iterdir()}
    assert call(*SCRIPT, *words, "--seed", "2").exit_code == 0
    assert len(list(where.iterdir())) == 2 * len(before)
    assert {path: path.read_bytes() for path in before} == before


def test_a_run_stops_by_itself_before_its_time_is_up(call, tmp_path):
    assert call(*SCRIPT, "--seeds", "1", "--variants", "control").exit_code == 0
    folder = tmp_path / "there/grid-switch/control/seed-0"
    command = [sys.executable, "-m", "bennafusi.cli", "work", "--stop-after", "0.01", str(folder)]
    assert subprocess.run(command, check=False).returncode == 75
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["reason"]) == ("interrupted", "the time is up")


@pytest.fixture
def many(tmp_path):
    specs = plan.plan("toy", ["walk"], range(30), {"steps": 40, "chunk": 4})
    folders = plan.prepare(tmp_path / "there", specs)
    write_status(folders[29], Status(state="failed", reason="it broke", attempts=3))
    return folders


def test_status_of_many_runs_shows_what_matters(call, many):
    with many[28].lock():
        write_status(many[28], Status(state="running", done=10, total=40, rate=2.0))
        result = call("status", "there")
        plain = json.loads(call("status", "there", "--json").stdout)
        everything = call("status", "there", "--all").stdout.splitlines()
    lines = result.stdout.splitlines()
    assert len(lines) == 1 + 20 + 1
    assert re.search("^walk 29 .*it broke", lines[1])
    assert re.search(rf"^walk 28 .* 25% .*:{os.getpid()}", lines[2])
    assert lines[-1].startswith("1 failed, 1 running, 28 queued, 20 of 30 shown")
    assert plain["counts"] == {"failed": 1, "running": 1, "planned": 28}
    assert len(plain["runs"]) == 30
    assert len(everything) == 1 + 30 + 1


@pytest.mark.parametrize(
    ("places", "experiments", "names"),
    [
        (["one"], ["toy"], ["walk 0"]),
        (["one"], ["other", "toy"], ["other walk 0", "toy walk 0"]),
        (["all/n-3", "all/n-5"], ["toy"], ["n-3 walk 0", "n-5 walk 0"]),
        (["one", "two/n-3"], ["other"], ["one walk 0", "two/n-3 walk 0"]),
    ],
)
def test_runs_are_told_apart(call, tmp_path, places, experiments, names):
    """The same agent and seed in several folders, as a sweep has it."""
    for place in places:
        for experiment in experiments:
            plan.prepare(tmp_path / place, plan.plan(experiment, ["walk"], [0], {}))
    lines = call("status", ".").stdout.splitlines()
    assert sorted(line.split("  ")[0] for line in lines[1:-1]) == names
    alone = call("status", f"{places[0]}/{experiments[0]}/walk/seed-0").stdout
    assert alone.splitlines()[1].startswith("walk 0 ")


def test_a_run_of_another_machine_counts_as_running_while_it_speaks(many):
    folder = many[0]
    folder.lock_file.write_text("process 12 on elsewhere")
    write_status(folder, Status(state="running"))
    assert actual_status(folder).state == "running"
    old = json.loads(folder.status.read_text())
    for seconds in (-600, 600):  # long ago, or a clock that was set back since
        folder.status.write_text(json.dumps({**old, "updated": time.time() + seconds}))
        assert actual_status(folder).state == "interrupted"


def test_watching_ends_with_the_runs_or_with_ctrl_c(call, many, tmp_path):
    words = [sys.executable, "-m", "bennafusi.cli", "status", str(tmp_path / "there"), "--watch"]
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        watching = subprocess.Popen(words, stdout=theirs)
        os.close(theirs)
        assert screen.read(1), "it shows something at once"
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=60) == 0
    for folder in many:
        write_status(folder, Status(state="done", done=4, total=4))
    assert "30 done" in call("status", "there", "--watch").stdout


def test_looking_again_reads_only_what_changed(many, tmp_path, monkeypatch):
    from bennafusi.runs import overview
    from bennafusi.runs.signals import Stop
    from bennafusi.runs.worker import work

    seen, read = overview.Overview(tmp_path / "there"), []
    seen.rows()
    real = overview.row_of
    monkeypatch.setattr(overview, "row_of", lambda folder: read.append(folder) or real(folder))
    assert work(many[3].path, ToyJob, stop=Stop()) == 0
    states = [row.state for row in seen.rows()]
    assert states.count("done") == 1
    assert [folder.path for folder in read] == [many[3].path]

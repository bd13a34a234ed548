"""``bennafusi train``: what it says, what it refuses, and that its runs survive."""

import json
import signal
import subprocess
import sys
import time

import pytest

from bennafusi.cli import options
from tests.test_cli_sinks import scalars_in

TINY = ["--set", "network.hidden=4", "--set", "chain.n=2", "--set", "max_steps=10"]


def test_help(call):
    result = call("train", "--help")
    assert result.exit_code == 0
    for text in ("--task", "--schedule", "--agent", "--tensorboard", "--set", "bennafusi train"):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--task cartpol", "unknown task 'cartpol': did you mean 'cartpole'?"),
        ("--task cartpole,catch", "unknown task 'catch': did you mean 'catcher'?"),
        ("--task cartpole --task cartpole", "--task cartpole,cartpole: one is there twice"),
        ("--task ,", "--task: names none"),
        ("--agent bena-fusi", "unknown agent 'bena-fusi': did you mean 'benna-fusi'?"),
        ("--schedule on-line", "unknown schedule 'on-line': did you mean 'online'?"),
        ("--episodes 0", "--episodes=0: choose a whole number from 1"),
        ("--epochs -1", "--epochs=-1: choose a whole number from 1"),
        ("--task cartpole,catcher --epochs 1", "epochs=1 with 2 tasks: catcher would not be"),
        ("--set network.hidden=8,0", "--set network.hidden=0: choose a whole number from 1"),
        ("--set gammas=1.5", "--set gammas=(1.5,): a discount is a number from 0 to 1"),
        ("--set gamma=0.9", "--set gamma: unknown; did you mean 'gammas'?"),
        (
            "--schedule episodic --set schedule.replay=9",
            "schedule.replay=9 with batch=64: a batch is drawn",
        ),
        ("--set chain.dt=200", "--set chain.dt=200 with g12=0.01: dt * g12 = 2"),
        (
            "--set optimizer.learning_rate=nan",
            "--set optimizer.learning_rate=nan: must be a finite number",
        ),
        ("--set optimizer.learning_rate=0", "--set optimizer.learning_rate=0: must be above 0"),
        ("--set tasks=catcher", "--set tasks: use --task for it"),
        ("--set episodes=3 --episodes 3", "--set episodes: is also given by --episodes"),
        (
            "--agent control --set chain.n=5",
            "--set chain.n=5: --agent control has one beaker; choose",
        ),
        ("--set chain.n=1", "choose --agent control"),
        ("--set n", "--set n: must be FIELD=VALUE"),
        ("--set n=5", "--set n: unknown; did you mean 'chain.n'?"),
        ("--set beta1=0", "--set beta1: unknown; did you mean 'optimizer.b1'?"),
        ("--depths --agent control", "--depths: --agent control has one beaker"),
        ("--set schedule.kind=online", "--set schedule.kind: use --schedule for it"),
        ("--set chain=5", "--set chain='5': name a field in it: chain.n, chain.g12"),
        ("--seed 2147483648", "--seed"),
        ("--episodes 9 --steps 9", "--episodes and --steps: either says how long an epoch is"),
        ("--episodes 20 --set steps=9", "--episodes and --set steps: either says how long"),
        ("--steps 9 --set episodes=20", "--steps and --set episodes: either says how long"),
        (
            "--task gymnax/Breakout-MinAtar --set episodes=9",
            "--set episodes=9: would not be heard, an epoch here has steps=500000; add --set",
        ),
        ("--depths --set depths.games=0", "--set depths.games: is also given by --depths"),
        (
            "--agent control --set depths.games=2",
            "--set depths.games=2: --agent control has one beaker",
        ),
        ("--episodes 9 --set steps=none", "episodes=9 with test_every=10: there would be no test"),
        ("--steps 0", "--steps=0: choose a whole number from 1"),
        ("--task gymnax/Pong-v7", "--task: unknown task 'gymnax/Pong-v7': gymnax has no 'Pong-v7'"),
        ("--task gymnax/Breakot-MinAtar", "; did you mean 'gymnax/Breakout-MinAtar'?"),
        ("--task gymnax/Pendulum-v1", "--task: gymnax/Pendulum-v1: its actions are continuous"),
        (
            "--task gymnax/Acrobot-v1,gymnax/Breakout-MinAtar",
            "--task: observations of shape (6,) and (10, 10, 4) cannot be padded to one shape",
        ),
        (
            "--task gymnax/Acrobot-v1 --set network.filters=16",
            "--set network.filters=16 with observations of shape (6,): filters of 3 x 3 need",
        ),
        ("--set sticky=0.1", "--task: sticky=0.1 with task 'cartpole': only gymnax's tasks"),
    ],
)
def test_bad_input_leaves_nothing_behind(call, tmp_path, words, message):
    result = call("train", *words.split())
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "--task: gymnax is needed for gymnax/... and not there: pip install"),
        ("0.0.9", "--task: gymnax 0.0.9 is installed, and gymnax/... needs 1.0.1"),
    ],
)
def test_gymnax_that_is_missing_or_too_old(call, tmp_path, monkeypatch, version, message):
    from bennafusi.envs import gymnax_tasks

    def found(name):
        if version is None:
            raise gymnax_tasks.metadata.PackageNotFoundError(name)
        return version

    gymnax_tasks._made.cache_clear()
    monkeypatch.setattr(gymnax_tasks.metadata, "version", found)
    result = call("train", "--task", "gymnax/Acrobot-v1")
    gymnax_tasks._made.cache_clear()
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_missing_extra_is_named_up_front(call, tmp_path, monkeypatch):
    monkeypatch.setattr(options.importlib.util, "find_spec", lambda name: None)
    result = call("train", "--tensorboard")
    assert result.exit_code == 2
    assert "pip install 'bennafusi[tensorboard]'" in result.stderr
    assert not list(tmp_path.iterdir())


def test_run_points_to_train(call, tmp_path):
    result = call("run", "train", "--out", "there")
    assert result.exit_code == 2
    assert "see bennafusi train --help" in result.stderr
    assert not list(tmp_path.iterdir())


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_interrupted_and_continued(tmp_path, call):
    """Ctrl-C, the same command again, and the bytes of a run that was never stopped."""
    words = ["train", "--task", "cartpole", "--episodes", "36000", *TINY]  # several chunks
    where = "train/benna-fusi/seed-0"
    with subprocess.Popen(
        [sys.executable, "-m", "bennafusi.cli", *words, "--out", "stopped", "--tensorboard"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        metrics = tmp_path / "stopped" / where / "metrics.jsonl"
        until = time.monotonic() + 120
        while not (metrics.exists() and metrics.stat().st_size) and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 75, said
    assert "The same command continues" in said
    status = json.loads((metrics.parent / "status.json").read_text())
    assert 0 < status["done"] < status["total"]

    continued = call(*words, "--out", "stopped", "--tensorboard")
    assert continued.exit_code == 0, continued.stderr
    whole = call(*words, "--out", "whole")
    assert whole.exit_code == 0, whole.stderr
    assert metrics.read_bytes() == (tmp_path / "whole" / where / "metrics.jsonl").read_bytes()

    lines = whole.stdout.splitlines()
    assert lines[0] == "benna-fusi on cartpole, online: 36,000 episodes, seed 0"
    switches = [line for line in records(metrics) if line["kind"] == "switch"]
    final = switches[-1]["tests"]["cartpole"]
    assert f"cartpole: {sum(final) / 10:.1f} on average over 10 final tests" in lines
    assert lines[-1] == f"next: bennafusi watch whole/{where}"

    found = list(scalars_in(tmp_path / "stopped/tensorboard/train/benna-fusi/seed-0"))
    assert len({(name, step) for name, step, _ in found}) == len(found), "a point is there twice"
    rewards = [(step, value) for name, step, value in found if name == "reward/cartpole"]
    tests = [line for line in records(metrics) if line["kind"] == "test"]
    assert rewards == [(line["episode"], line["reward"]) for line in tests]
    assert {"switch/cartpole", "awake", "loss", "distance/weights/02"} <= {f[0] for f in found}

    other = call(*words, "--set", "agent.tau=0.5", "--out", "whole")
    assert other.exit_code == 2
    assert "settings.agent.tau is 0.01 in that run and 0.5 in this command" in other.stderr


def test_divergence_ends_a_run_and_says_where(tmp_path, call):
    words = [
        "--agent",
        "control",
        "--episodes",
        "500",
        "--set",
        "network.hidden=4",
        "--out",
        "there",
    ]
    result = call("train", *words, "--set", "optimizer.learning_rate=1e6")
    assert result.exit_code == 1
    assert "diverged in epoch 1, episode 1 " in result.stderr
    assert "next:" not in result.stdout
    folder = tmp_path / "there/train/control/seed-0"
    text = (folder / "postmortem.json").read_text()
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert "episode 1" in found["reason"]
    assert any(group in found["reason"] for group in ("weights of", "gains of", "biases of"))
    assert found["last_good_checkpoint"] == 0
    assert json.loads((folder / "status.json").read_text())["state"] == "failed"


def test_depths_are_looked_at_on_request(tmp_path, call):
    words = ["--task", "cartpole,catcher", "--schedule", "online", "--depths", *TINY]
    words += ["--epochs", "2", "--episodes", "20", "--set", "chain.g12=0.5", "--out", "there"]
    result = call("train", *words)
    assert result.exit_code == 0, result.stderr
    looks = [
        line
        for line in records(tmp_path / "there/train/benna-fusi/seed-0/metrics.jsonl")
        if line["kind"] == "depths"
    ]
    assert [(look["epoch"], look["depths"]) for look in looks] == [
        (0, [1]),
        (1, [1, 2]),
        (2, [1, 2]),
    ]
    assert [len(games) for games in looks[-1]["rewards"]["catcher"]] == [10, 10]


def test_the_line_on_screen(tmp_path):
    """The monitor reads along: torn lines are left, cut-back ones are not taken twice."""
    from bennafusi.cli.monitor import Monitor
    from bennafusi.experiments.deep import train
    from bennafusi.runs.folder import Folder

    settings = train.choose(["cartpole", "catcher"], "episodic")
    assert (settings.epochs, settings.chain.n) == (40, 30)
    test = {"kind": "test", "epoch": 1, "task": "cartpole", "loss": 0.5, "updates": 3000}
    lines = [json.dumps({**test, "episode": i, "reward": float(i)}) + "\n" for i in range(12)]
    folder = Folder(tmp_path)
    monitor = Monitor(folder, settings)
    assert monitor.line() == "no test so far"
    folder.metrics.write_text("".join(lines[:3]) + lines[3][:9])
    assert monitor.line() == "cartpole: return 1.0  loss 0.5  awake 3/30"
    folder.metrics.write_text(lines[0])
    assert "return 1.0" in monitor.line()
    folder.metrics.write_text("".join(lines))
    assert "return 6.5  loss 0.5" in monitor.line(), "the mean of the last ten"
    with open(folder.metrics, "a") as file:
        file.write(lines[4].replace("cartpole", "catcher"))
    assert monitor.line().startswith("catcher: return 4.0"), "of one task alone"

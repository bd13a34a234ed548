"""``bennafusi watch``: what it shows, what it refuses, and that it changes nothing."""

import hashlib
import re

import jax
import numpy as np
from PIL import Image

from bennafusi.cli import options
from bennafusi.cli.jobs import make_job
from bennafusi.runs import checkpoint, plan, worker
from bennafusi.runs.config import to_json, with_changes
from bennafusi.runs.signals import Stop
from bennafusi.synapse.readout import beakers

SIZES = {"epochs": "2", "episodes": "20", "max_steps": "40"}
SIZES |= {"network.hidden": "4", "chain.n": "2"}


def make(root, seeds=(0,), work=True):
    """Runs of a tiny agent on two tasks."""
    from bennafusi.experiments.deep import train

    settings = with_changes(train.choose(["cartpole", "catcher"], "online"), SIZES)
    specs = plan.plan("train", ["benna-fusi"], seeds, to_json(settings))
    folders = plan.prepare(root, specs)
    for folder in folders if work else ():
        assert worker.work(folder.path, make_job, stop=Stop()) == 0
    return folders


def content(root):
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_help(call):
    result = call("watch", "--help")
    assert result.exit_code == 0
    for text in ("--out", "--episodes", "--task", "--fps", "--seed", "bennafusi watch"):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_an_agent_at_play(call, tmp_path):
    from bennafusi.training.rollout import evaluate

    folder = make(tmp_path / "there")[0]
    before = content(tmp_path)
    result = call("watch", "there", "--episodes", "2", "--seed", "5")
    assert result.exit_code == 0, result.stderr
    assert "benna-fusi, seed 0, after 40 of 40 episodes" in result.stdout
    after = content(tmp_path)
    gif = tmp_path / "there/watch.gif"
    assert after.pop(gif)
    assert after == before, "the run itself must not change"

    # The same episodes, as training evaluates them.
    job = make_job(folder.read_config()[0])
    saved, _ = checkpoint.Store(folder.checkpoints, job.initial()).newest()
    params, steps = jax.tree.map(jax.numpy.asarray, saved.state.agent.params), 0
    for index, task in enumerate(("cartpole", "catcher")):
        key = jax.random.fold_in(jax.random.key(5), index)
        rewards = evaluate(job.settings, params, jax.numpy.int32(index), key, 2)
        shown = re.search(rf"{task}: returns (.*)", result.stdout)[1]
        assert [float(word) for word in shown.split(", ")] == np.asarray(rewards).tolist()
        steps += int(np.sum(rewards)) if task == "cartpole" else 0

    with Image.open(gif) as film:
        frames = film.n_frames
        assert film.info["duration"] == 30
        assert film.info["loop"] == 0
        assert f"{frames} frames" in result.stdout
    only = call("watch", "there", "--episodes", "2", "--seed", "5", "--task", "cartpole")
    assert only.exit_code == 0, only.stderr
    assert "catcher" not in only.stdout
    with Image.open(gif) as film:
        assert film.n_frames == steps + 2 < frames, "a frame for each step, and one for each start"

    deeper = call("watch", "there", "--episodes", "2", "--seed", "5", "--depth", "2")
    assert deeper.exit_code == 0, deeper.stderr
    assert "after 40 of 40 episodes, beaker 2" in deeper.stdout
    held = jax.tree.map(lambda u: u[1], beakers(saved.state.agent.optimizer))
    key = jax.random.fold_in(jax.random.key(5), 0)
    rewards = evaluate(job.settings, held, jax.numpy.int32(0), key, 2)
    shown = re.search(r"cartpole: returns (.*)", deeper.stdout)[1]
    assert [float(word) for word in shown.split(", ")] == np.asarray(rewards).tolist()

    newest = max(folder.checkpoints.glob("*.npz"))
    newest.write_bytes(newest.read_bytes()[:-7])
    before = content(tmp_path / "there/train")
    older = call("watch", str(folder.path), "--episodes", "1", "--out", "other.gif")
    assert older.exit_code == 0, older.stderr
    after = re.search(r"after (\d+) of 40 episodes", older.stdout)
    assert int(after[1]) < 40, "an older checkpoint"
    assert content(tmp_path / "there/train") == before, "nothing is set aside"
    assert (tmp_path / "other.gif").exists()

    for words, message in (
        (["--task", "cartpol"], "--task cartpol: this run has no such task; did you mean 'cartp"),
        (["--depth", "3"], "--depth 3: this run's chains have 2 beakers"),
        (["--out", "film.avi"], "--out film.avi: must end in .gif or .mp4"),
        (["--out", "no/film.gif"], "there is no folder no; make it first"),
    ):
        refused = call("watch", "there", *words)
        assert refused.exit_code == 2
        assert message in refused.stderr


def test_long_episodes_are_thinned():
    from bennafusi.cli.watch import MOST_FRAMES, thinned

    assert [len(places) for places in thinned([501, 501, 501])] == [251] * 3
    assert thinned([4, 1]) == [[0, 1, 2, 3], [0]]
    many = thinned([500] * 100)
    assert sum(map(len, many)) <= MOST_FRAMES + 200
    assert all(places[-1] == 499 for places in many), "the end of an episode is always there"


def test_films_need_their_extra(call, tmp_path, monkeypatch):
    monkeypatch.setattr(options.importlib.util, "find_spec", lambda name: None)
    result = call("watch", "there", "--out", "film.mp4")
    assert result.exit_code == 2
    assert "pip install 'bennafusi[video]'" in result.stderr
    assert not list(tmp_path.iterdir())


def test_runs_that_cannot_be_watched(call, tmp_path):
    from bennafusi.experiments import grid_switch

    nothing = call("watch", "nowhere")
    assert nothing.exit_code == 2
    assert "there is no such folder" in nothing.stderr

    make(tmp_path / "planned", work=False)
    planned = call("watch", "planned")
    assert planned.exit_code == 2
    assert "has no checkpoint yet" in planned.stderr

    make(tmp_path / "two", seeds=(0, 1), work=False)
    two = call("watch", "two")
    assert two.exit_code == 2
    assert "two holds 2 runs; name one of them:" in two.stderr
    assert "\n  bennafusi watch two/train/benna-fusi/seed-1" in two.stderr

    grid = to_json(grid_switch.settings("smoke"))
    plan.prepare(tmp_path / "grid", plan.plan("grid-switch", ["control"], [0], grid))
    refused = call("watch", "grid")
    assert refused.exit_code == 2
    assert "is a run of grid-switch, which has no deep agent to watch" in refused.stderr

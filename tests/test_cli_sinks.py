"""Numbers of runs for TensorBoard and Weights & Biases: all, once, and never at the runs' cost."""

import json
import struct
import sys
import types

import pytest

from bennafusi.cli import options
from bennafusi.cli.sinks import AT_A_TIME, Follower, Mirror
from bennafusi.experiments.deep import train
from bennafusi.runs import plan
from bennafusi.runs.config import to_json
from bennafusi.runs.status import Status, write_status


def scalars_in(folder):
    """Names, steps and values of all scalars in a folder of TensorBoard's."""
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    for path in folder.iterdir():
        content, place = path.read_bytes(), 0
        while place < len(content):
            (size,) = struct.unpack_from("<Q", content, place)
            event = event_pb2.Event.FromString(content[place + 12 : place + 12 + size])
            for value in event.summary.value:
                yield value.tag, event.step, value.simple_value
            place += size + 16


class Wandb(types.ModuleType):
    """What we call of wandb, and what it was told."""

    def __init__(self):
        super().__init__("wandb")
        self.runs = []

    def init(self, **words):
        run = types.SimpleNamespace(words=words, logged=[], metrics=[], finished=False)
        run.log = run.logged.append
        run.define_metric = lambda name, step_metric: run.metrics.append((name, step_metric))
        run.finish = lambda: setattr(run, "finished", True)
        self.runs.append(run)
        return run


@pytest.fixture
def wandb(monkeypatch):
    module = Wandb()
    module.__spec__ = types.SimpleNamespace(name="wandb")
    monkeypatch.setitem(sys.modules, "wandb", module)
    return module


@pytest.mark.parametrize(("command", "option"), [("run", "wandb"), ("train", "tensorboard")])
def test_a_missing_extra_is_named_before_anything_is_made(
    call, tmp_path, monkeypatch, command, option
):
    monkeypatch.setattr(options.importlib.util, "find_spec", lambda name: None)
    result = call(*([command, "memory"] if command == "run" else [command]), f"--{option}")
    assert result.exit_code == 2
    assert f"pip install 'bennafusi[{option}]'" in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_line_that_is_no_record_costs_itself_alone(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":\n[1]\n{"a":2}\n{"a":')
    follower = Follower(path)
    assert list(follower.new()) == [{"a": 1}, {"a": 2}]
    with path.open("ab") as file:
        file.write(b"3}\n")
    assert list(follower.new()) == [{"a": 3}]


def test_every_run_of_an_experiment_goes_to_both(call, tmp_path, wandb):
    words = ["run", "grid-switch", "--scale", "smoke", "--seeds", "1", "--variants"]
    result = call(*words, "control,modified", "--out", "there", "--tensorboard", "--wandb")
    assert result.exit_code == 0, result.stderr
    assert "tensorboard: there/tensorboard" in result.stdout
    assert len(wandb.runs) == 2
    for run in wandb.runs:
        name = run.words["name"]
        lines = (tmp_path / "there" / name / "metrics.jsonl").read_text().splitlines()
        epochs = [r for r in map(json.loads, lines) if r["kind"] == "epoch"]
        wanted = [(r["epoch"], r["mean_length"]) for r in epochs]
        logged = [row for row in run.logged if "epoch/mean_length" in row]
        assert [(row["step"], row["epoch/mean_length"]) for row in logged] == wanted
        drawn = list(scalars_in(tmp_path / "there/tensorboard" / name))
        values = [(step, value) for tag, step, value in drawn if tag == "epoch/mean_length"]
        assert values == [(step, pytest.approx(value)) for step, value in wanted]
        assert run.finished
        assert run.metrics == [("*", "step")]
        assert run.words["group"] == "grid-switch"
        assert run.words["reinit"] == "create_new"
        assert run.words["config"]["seed"] == 0
        assert run.words["config"]["epochs"] == len(epochs)
    again = call(*words, "control,modified", "--out", "there", "--tensorboard")
    assert again.exit_code == 0, again.stderr
    assert len(list(scalars_in(tmp_path / "there/tensorboard" / name))) == len(drawn), "not twice"


@pytest.fixture
def flooded(tmp_path):
    """A run with more records than are taken at a time; none of them by a process."""
    settings = train.choose(["cartpole"], "online")
    (folder,) = plan.prepare(tmp_path, plan.plan("train", ["control"], [0], to_json(settings)))
    record = {"kind": "test", "epoch": 1, "task": "cartpole", "length": 3, "loss": 0.5}
    record |= {"training_reward": 1.0, "training_length": 1.0}
    count = 2 * AT_A_TIME + 5
    lines = [json.dumps({**record, "episode": i, "reward": float(i)}) + "\n" for i in range(count)]
    folder.metrics.write_text("".join(lines))
    return folder, count


def test_a_flood_of_records_is_taken_in_portions(tmp_path, wandb, flooded):
    """Or Ctrl-C would have to wait until all of them are passed on."""
    folder, count = flooded
    mirror = Mirror([folder], tmp_path, wandb=True)
    taken = []
    for _ in range(2):
        mirror.look([folder.path])
        taken.append(len(wandb.runs[0].logged))
    assert taken == [AT_A_TIME, 2 * AT_A_TIME]
    mirror.close()
    rewards = [row["reward/cartpole"] for row in wandb.runs[0].logged]
    assert rewards == [float(i) for i in range(count)]
    assert wandb.runs[0].finished


def test_a_run_that_was_lost_and_placed_again_is_passed_on(tmp_path, wandb, flooded):
    folder, count = flooded
    lines = folder.metrics.read_text().splitlines(keepends=True)
    folder.metrics.write_text("".join(lines[:10]))
    mirror = Mirror([folder], tmp_path, wandb=True)
    write_status(folder, Status(state="running"))
    mirror.look([folder.path])
    mirror.look([])  # its process was killed, and waits for a place
    folder.metrics.write_text("".join(lines))
    mirror.look([folder.path])
    write_status(folder, Status(state="done"))
    mirror.look([])
    (run,) = wandb.runs
    assert [row["reward/cartpole"] for row in run.logged] == [float(i) for i in range(count)]
    assert run.finished, "what is done need not stay open until all runs are"
    mirror.close()
    assert len(wandb.runs) == 1


def test_a_sink_that_breaks_does_not_end_the_runs(tmp_path, wandb, flooded, capsys, monkeypatch):
    def down(**words):
        raise ConnectionError("the service is down")

    monkeypatch.setattr(wandb, "init", down)
    folder, _ = flooded
    mirror = Mirror([folder], tmp_path, wandb=True)
    mirror.look([folder.path])
    mirror.close()
    mirror.say(None)
    assert "not all numbers were passed on: ConnectionError: the service is down" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("link", ["tensorboard", "tensorboard/train/control"])
def test_nothing_goes_into_a_linked_folder(tmp_path, flooded, capsys, link):
    pytest.importorskip("tensorboardX")
    folder, _ = flooded
    outside = tmp_path / "outside"
    kept = outside / "seed-0" / "events.out.tfevents.1"
    kept.parent.mkdir(parents=True)
    kept.touch()
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(outside)
    mirror = Mirror([folder], tmp_path, tensorboard=True)
    mirror.close()
    mirror.say(None)
    assert "symbolic link" in capsys.readouterr().err
    assert [path for path in outside.rglob("*") if path.is_file()] == [kept]

import json
import os
import re

import pytest

from bennafusi.runs.config import ConfigError
from bennafusi.runs.folder import Folder, FolderError, check_name
from bennafusi.runs.job import RunSpec
from bennafusi.runs.lock import LockedError
from bennafusi.runs.plan import plan, prepare
from bennafusi.runs.signals import Stop
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, new_run
from tests.runs.toy import ToyJob

HOSTILE = ["../x", "..", ".", "a/b", "/etc", "", "con\n", "con", "nul.txt", "x" * 65, "x" * 10**6]
HOSTILE += ["-rf", "a b", "a\0b", "é", "A", "a..b", "a.", "\\x", "a\\b", "~", "$HOME", None, 3]


@pytest.mark.parametrize("name", HOSTILE, ids=lambda n: repr(n)[:12])
def test_hostile_names_are_refused(tmp_path, name):
    for spec in (RunSpec(name, "v", 0, {}), RunSpec("e", name, 0, {})):
        with pytest.raises(FolderError, match="must be 1 to 64 of a-z") as error:
            Folder.of(tmp_path, spec)
        assert len(str(error.value)) < 300
    with pytest.raises(FolderError):
        plan("e", [name], [0], {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a", "grid-switch", "fig2", "n3_g1e-5", "v1.2", "x" * 64])
def test_plain_names_pass(name):
    assert check_name("variant", name) == name


@pytest.mark.parametrize("seed", [-1, True, 1.0, "1", None])
def test_a_seed_is_a_natural_number(tmp_path, seed):
    with pytest.raises(FolderError, match="must be a whole number, 0 or more"):
        Folder.of(tmp_path, RunSpec("e", "v", seed, {}))


@pytest.mark.parametrize("depth", range(3))
def test_a_link_does_not_lead_out_of_the_output_folder(tmp_path, depth):
    root, outside = tmp_path / "out", tmp_path / "outside"
    outside.mkdir()
    place = root.joinpath(*["toy", "walk", "seed-0"][: depth + 1])
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    with pytest.raises(FolderError, match="is a symbolic link"):
        prepare(root, plan("toy", ["walk"], [0], {}))
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["metrics.jsonl", "lock", "log.txt", "status.json", "final.npz"])
def test_no_file_is_written_through_a_link(tmp_path, name, capsys):
    folder, outside = new_run(tmp_path), tmp_path / "outside"
    outside.write_text("mine")
    (folder.path / name).unlink(missing_ok=True)
    (folder.path / name).symlink_to(outside)
    code = work(folder.path, ToyJob, EAGER, Stop())
    assert outside.read_text() == "mine"
    # A log goes to stderr instead; a link is replaced where a whole file takes its place.
    assert code == (1 if name in ("metrics.jsonl", "lock") else 0)


def test_the_same_command_continues_and_another_is_refused(tmp_path):
    settings = {"chain": {"n": 3}, "epochs": 24}
    specs = plan("toy", ["a", "b"], [0, 1], settings)
    folders = prepare(tmp_path, specs)
    assert [f.path.relative_to(tmp_path).as_posix() for f in folders] == [
        "toy/a/seed-0",
        "toy/b/seed-0",
        "toy/a/seed-1",
        "toy/b/seed-1",
    ]
    before = [f.config.stat().st_mtime_ns for f in folders]
    again = prepare(tmp_path, plan("toy", ["a", "b", "c"], [0, 1], settings))
    assert len(again) == 6
    assert [f.config.stat().st_mtime_ns for f in folders] == before
    for changed, message in [
        ({"chain": {"n": 4}, "epochs": 24}, "settings.chain.n is 3 in that run and 4 in this"),
        ({"chain": {"n": 3}}, "settings.epochs is 24 in that run and 'not there' in this"),
    ]:
        with pytest.raises(ConfigError, match=re.escape(message)):
            prepare(tmp_path, plan("toy", ["d", "a"], [0], changed))
    assert not (tmp_path / "toy" / "d").exists(), "nothing is made if anything is refused"


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "toy" / "a" / "seed-0").mkdir(parents=True)
    (tmp_path / "toy" / "a" / "seed-0" / "thesis.tex").touch()
    with pytest.raises(FolderError, match=r"no config\.json"):
        prepare(tmp_path, plan("toy", ["a"], [0], {}))


def test_many_folders_wait_for_the_disk_once(tmp_path, monkeypatch):
    waited = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: waited.append("file"))
    monkeypatch.setattr(os, "sync", lambda: waited.append("all"))
    folders = prepare(tmp_path, plan("toy", ["walk"], range(150), {"steps": 4, "chunk": 4}))
    assert waited == ["all"]
    assert all(folder.made() for folder in folders)
    prepare(tmp_path, plan("toy", ["walk"], range(151), {"steps": 4, "chunk": 4}))
    assert waited == ["all", *["file"] * 4]


def test_what_a_power_cut_left_of_planning_is_made_anew(tmp_path):
    specs = plan("toy", ["walk"], [0], {"steps": 4, "chunk": 4})
    (folder,) = prepare(tmp_path, specs)
    folder.config.write_bytes(b"")
    folder.status.write_bytes(b"")
    (again,) = prepare(tmp_path, specs)
    assert work(again.path, ToyJob, EAGER, Stop()) == 0
    folder.config.write_bytes(b"")  # of a run that has results nobody knows what it was
    with pytest.raises(FolderError, match="remove it"):
        prepare(tmp_path, specs)


@pytest.mark.parametrize(("variants", "seeds"), [([], [0]), (["a"], []), (["a", "a"], [0])])
def test_a_plan_has_each_run_once(variants, seeds):
    with pytest.raises(FolderError, match="at least one, and none twice"):
        plan("toy", variants, seeds, {})


def test_settings_of_a_plan_are_plain_json():
    with pytest.raises(ConfigError, match="to_json"):
        plan("toy", ["a"], [0], {"x": object()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 99}, "schema=99: made by a newer bennafusi"),
        ({"schema": 0}, "schema=0: must be a whole number"),
        ({"sede": 1}, "sede: unknown; it has schema, experiment"),
        ({"seed": "0"}, "seed='0': must be a whole number"),
        ({"seed": -1}, "seed=-1: must be at least 0"),
        ({"variant": "../x"}, "variant='../x': must be 1 to 64"),
        ({"settings": []}, "settings=[]: must be an object"),
    ],
)
def test_a_config_that_is_not_ours_is_bad_input(tmp_path, change, message, capsys):
    folder = new_run(tmp_path)
    folder.config.write_text(json.dumps({**json.loads(folder.config.read_text()), **change}))
    assert work(folder.path, ToyJob, EAGER, Stop()) == 2
    assert message in capsys.readouterr().err
    assert not folder.metrics.exists()


def test_a_key_missing_from_the_config_is_named(tmp_path, capsys):
    folder = new_run(tmp_path)
    document = json.loads(folder.config.read_text())
    del document["settings"]
    folder.config.write_text(json.dumps(document))
    assert work(folder.path, ToyJob, EAGER, Stop()) == 2
    assert "settings: missing" in capsys.readouterr().err


def test_settings_that_the_job_refuses_are_bad_input(tmp_path):
    def refuse(spec):
        raise ConfigError("chain.n=0: a chain needs at least one beaker")

    folder = new_run(tmp_path)
    assert work(folder.path, refuse, EAGER, Stop()) == 2
    assert "chain.n=0" in folder.status.read_text()


def test_the_lock_is_exclusive_and_its_file_stays(tmp_path):
    folder = new_run(tmp_path)
    assert not folder.locked()
    with folder.lock():
        assert folder.locked()
        with pytest.raises(LockedError, match=f"process {os.getpid()} on "), folder.lock():
            pass
    assert not folder.locked()
    assert folder.lock_file.exists()
    with folder.lock():
        pass

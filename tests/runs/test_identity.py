"""A run is bound to what it is: what was changed or mixed up is refused, or listed as a problem."""

import json
import os
import shutil
from pathlib import Path

import pytest

from bennafusi.files import RunError
from bennafusi.runs import manifest
from bennafusi.runs.export import export_csv
from bennafusi.runs.folder import Folder
from bennafusi.runs.load import find, load, load_all
from bennafusi.runs.overview import Overview
from bennafusi.runs.plan import plan, prepare
from bennafusi.runs.signals import Stop
from bennafusi.runs.status import read_status
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, After, finished, new_run, results
from tests.runs.toy import ToyJob

OLD = Path(__file__).parent / "old"  # made by 0.1.0, before checkpoints knew their run


@pytest.fixture
def halfway(tmp_path):
    folder = new_run(tmp_path)
    assert work(folder.path, ToyJob, EAGER, After(5)) == 75
    return folder


def edit(folder, **changes):
    config = json.loads(folder.config.read_text())
    config["settings"] |= changes.pop("settings", {})
    folder.config.write_text(json.dumps({**config, **changes}))


CHANGES = [
    {"settings": {"steps": 80}},
    {"settings": {"size": 3}},
    {"seed": 1},
    {"variant": "other"},
    {"experiment": "other"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_an_edited_config_is_refused_by_a_resume_and_by_all_readers(halfway, change):
    before = results_so_far(halfway)
    edit(halfway, **change)
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 1
    assert results_so_far(halfway) == before
    assert "is of another run than config.json says" in read_status(halfway).reason
    texts = [problem.text for problem in verify(halfway.path).problems]
    assert any("of another run than config.json" in text for text in texts)
    assert [row.state for row in Overview(halfway.path).rows()] == ["unreadable"]
    with pytest.raises(RunError, match=r"another run|says seed 1, its folder seed-0"):
        load(halfway)


def results_so_far(folder):
    names = sorted(path.name for path in folder.checkpoints.iterdir())
    return folder.metrics.read_bytes(), names


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_finished_run_with_another_config_is_not_judged(tmp_path, change):
    folder = finished(tmp_path)
    edit(folder, **change)
    assert load_all(tmp_path).runs == []
    assert len(verify(tmp_path).problems) >= 1
    assert [row.state for row in Overview(tmp_path).rows()] == ["unreadable"]
    assert export_csv(tmp_path, tmp_path / "all.csv")[0] == 0


def test_words_that_mean_the_same_are_the_same(halfway):
    config = json.loads(halfway.config.read_text())
    halfway.config.write_text(json.dumps(dict(reversed(config.items()))))
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 0


def test_the_checkpoints_of_another_seed_are_refused(tmp_path, halfway):
    other = new_run(tmp_path, seed=1)
    assert work(other.path, ToyJob, EAGER, After(6)) == 75
    for name in ("checkpoints", "metrics.jsonl"):
        path = halfway.path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        (shutil.copytree if name == "checkpoints" else shutil.copy)(other.path / name, path)
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 1
    assert "checkpoint 6 is of another run" in read_status(halfway).reason


def test_one_foreign_checkpoint_is_no_reason_to_believe_the_others(tmp_path, halfway):
    other = new_run(tmp_path, seed=1)
    assert work(other.path, ToyJob, EAGER, After(6)) == 75
    for ending in ("npz", "json"):
        shutil.copy(other.checkpoints / f"00000006.{ending}", halfway.checkpoints)
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 1
    (halfway.checkpoints / "00000006.json").unlink()
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 0
    assert results(halfway) == results(finished(tmp_path))


def test_the_status_of_another_run_is_noticed(tmp_path):
    folder, other = finished(tmp_path), finished(tmp_path, seed=1)
    for name in ("status.json", "final.npz"):
        shutil.copy(other.path / name, folder.path / name)
    with pytest.raises(RunError, match=r"status\.json: is that of another run"):
        load(folder)


def test_a_copy_under_another_seed_does_not_count(tmp_path):
    (folder,) = prepare(tmp_path, plan("toy", ["walk"], [0], {"steps": 8, "chunk": 4}))
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    copy = folder.path.with_name("seed-1")
    shutil.copytree(folder.path, copy)
    assert [run.folder.path for run in load_all(tmp_path).runs] == [folder.path]
    assert "says seed 0, its folder seed-1" in verify(tmp_path).problems[0].text
    edit(Folder(copy), seed=1)
    assert [run.folder.path for run in load_all(tmp_path).runs] == [folder.path]


def test_equal_arrays_under_different_seeds_are_reported(tmp_path):
    """Also of old runs, which say nothing of what they are."""
    for seed in (0, 1):
        shutil.copytree(OLD / "done", tmp_path / f"seed-{seed}")
        edit(Folder(tmp_path / f"seed-{seed}"), seed=seed)
    runs, problems = load_all(tmp_path)
    assert runs == []
    assert len(problems) == 2
    assert "to the bit those of seeds [0, 1]" in problems[0].text
    assert [p.text for p in verify(tmp_path).problems] == [p.text for p in problems]
    lines, told = export_csv(tmp_path, tmp_path / "a.csv")
    assert told == problems
    assert lines == 0, "what is said to be left out is"
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 1


def test_runs_that_keep_equal_arrays_and_found_other_numbers_are_no_copies(tmp_path):
    class Forgetful(ToyJob):
        def final(self, state):
            return {}

    for folder in prepare(tmp_path, plan("toy", ["a"], [0, 1], {"steps": 4, "chunk": 4})):
        assert work(folder.path, Forgetful, EAGER, Stop()) == 0
    runs, problems = load_all(tmp_path)
    assert (len(runs), problems, verify(tmp_path).problems) == (2, [], [])
    assert export_csv(tmp_path, tmp_path / "a.csv") == (8, [])


def test_old_runs_are_read_continued_and_noted(tmp_path):
    for name in ("done", "halfway"):
        shutil.copytree(OLD / name, tmp_path / name)
    done, halfway = (Folder(tmp_path / name) for name in ("done", "halfway"))
    assert [len(load(folder).records) for folder in (done, halfway)] == [40, 20]
    assert verify(tmp_path).problems == []
    assert work(halfway.path, ToyJob, EAGER, Stop()) == 0
    assert results(halfway) == results(done) == results(finished(tmp_path / "new"))
    notes = [w for w in read_status(halfway).warnings if "was not checked" in w]
    assert len(notes) == 1
    assert notes[0].startswith("checkpoint 5 was made before")
    newest = manifest.newest_manifest(halfway.checkpoints)
    assert (newest.schema, newest.run) == (2, halfway.identity())
    edit(halfway, seed=3)
    with pytest.raises(RunError, match="another run"):
        load(halfway)


def test_a_run_that_was_planned_and_is_gone_is_missed(tmp_path):
    specs = plan("toy", ["a", "b"], [0, 1], {"steps": 4, "chunk": 4})
    folders = prepare(tmp_path, specs)
    prepare(tmp_path, specs)
    lines = (tmp_path / "toy" / "plan.jsonl").read_text().splitlines()
    assert lines == ['["a",0]', '["b",0]', '["a",1]', '["b",1]']
    gone, empty, strange, _ = folders
    shutil.rmtree(gone.path)
    empty.config.unlink()
    strange.config.unlink()
    strange.config.mkdir()
    for root in (tmp_path, tmp_path / "toy"):
        assert {p.folder for p in verify(root).problems} == {
            gone.path,
            empty.path,
            strange.path,
        }
        assert [row.state for row in Overview(root).rows()].count("unreadable") == 3
        assert len(load_all(root).runs) == 1
    assert [f.path for f in find(tmp_path / "toy" / "b")] == [empty.path, folders[3].path]
    assert len(verify(gone.path).problems) == 1
    strange.config.rmdir()
    with pytest.raises(RunError, match=r"no config\.json"):  # its results are of nobody knows what
        prepare(tmp_path, specs)
    shutil.rmtree(strange.path)
    shutil.rmtree(empty.path)
    prepare(tmp_path, specs)
    assert verify(tmp_path).problems == []


def test_a_run_that_is_gone_is_missed_from_inside_its_folders_too(tmp_path, monkeypatch):
    """A path that is relative has fewer parents than its folder."""
    gone, kept = prepare(tmp_path, plan("toy", ["a"], [0, 1], {"steps": 4, "chunk": 4}))
    shutil.rmtree(gone.path)
    for place, root in (
        ("", "toy/a"),
        ("toy", "."),
        ("toy/a", "."),
        ("toy/a", "../../toy/a"),
        ("toy/a/seed-1", ".."),
    ):
        monkeypatch.chdir(tmp_path / place)
        (problem,) = verify(Path(root)).problems
        assert not problem.folder.is_absolute()
        assert problem.folder.resolve() == gone.path, (place, root)
    assert [folder.path for folder in find(Path("."))] == [Path(".")], "that of others is not there"
    assert kept.path.is_dir()
    with (tmp_path / "toy/plan.jsonl").open("a") as file:
        file.write("7\n")
    told = verify(Path(".")).problems[-1].text
    assert told.startswith("../../plan.jsonl, line 3: "), "as short as the user's own words"


def test_what_is_left_of_a_run_is_missed_without_a_plan_too(tmp_path):
    (folder,) = prepare(tmp_path, plan("toy", ["a"], [0], {"steps": 4, "chunk": 4}))
    assert work(folder.path, ToyJob, EAGER, Stop()) == 0
    (tmp_path / "toy" / "plan.jsonl").unlink()
    folder.config.unlink()
    for path in sorted(folder.path.iterdir()):
        assert len(verify(tmp_path).problems) > 0, path
        if path.name in ("lock", "log.txt"):
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(RunError, match="there is no run in it"):
        verify(tmp_path)


def test_a_plan_that_was_spoilt_is_a_problem_of_its_own(tmp_path):
    prepare(tmp_path, plan("toy", ["a"], [0], {"steps": 4, "chunk": 4}))
    path = tmp_path / "toy" / "plan.jsonl"
    with path.open("a") as file:
        file.write('["../../x",0]\n["a",-1]\n7\n["a",')
    problems = verify(tmp_path).problems
    assert [problem.text.split(": ")[0] for problem in problems] == [
        f"{path}, line {number}" for number in (2, 3, 4)
    ]
    assert len(Overview(tmp_path).rows()) == 1


def test_a_torn_line_of_a_plan_does_not_spoil_the_next(tmp_path):
    settings = {"steps": 4, "chunk": 4}
    prepare(tmp_path, plan("toy", ["a"], [0, 1], settings))
    path = tmp_path / "toy" / "plan.jsonl"
    os.truncate(path, path.stat().st_size - 3)  # a power cut
    assert len(Overview(tmp_path).rows()) == 2
    prepare(tmp_path, plan("toy", ["a"], [1, 2], settings))
    assert path.read_text().splitlines() == ['["a",0]', '["a",1]', '["a",2]']
    assert verify(tmp_path).problems == []
    path.write_text('["a"')  # nothing is left of it but a torn line
    prepare(tmp_path, plan("toy", ["a"], [0], settings))
    assert path.read_text() == '["a",0]\n'

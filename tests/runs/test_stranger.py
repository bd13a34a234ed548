"""A folder from a stranger: whatever is in it, nothing outside is touched, and no command hangs."""

import json
import os
import shutil

import pytest
from typer.testing import CliRunner

from bennafusi.cli import app
from bennafusi.experiments import figure_style
from bennafusi.files import RunError, StorageError
from bennafusi.report import results_folder
from bennafusi.results import Finding, Section, Table
from bennafusi.runs.export import export_csv
from bennafusi.runs.overview import Overview
from bennafusi.runs.signals import Stop
from bennafusi.runs.status import read_status
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, After, finished, new_run
from tests.runs.test_identity import OLD
from tests.runs.toy import ToyJob

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b1m\nall done \ud800"


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def outside(tmp_path):
    path = tmp_path / "outside" / "thesis.tex"
    path.parent.mkdir()
    path.write_text("mine")
    yield path
    assert path.read_text() == "mine"
    assert [p.name for p in path.parent.iterdir()] == ["thesis.tex"]


RUNS = Table("runs", "Runs", ("agent", "text"), [("a", "=HYPERLINK(1)"), ("b", -0.5)])
SECTION = Section("t", "l", [Finding("s", "e", "m", True)], tables=[RUNS])


@pytest.mark.parametrize("name", ["README.md", "claims.json", "numbers/runs.csv"])
def test_results_do_not_go_through_a_link(tmp_path, outside, name):
    folder = tmp_path / "results"
    (folder / "numbers").mkdir(parents=True)
    for ending in ("", ".part"):
        (folder / f"{name}{ending}").symlink_to(outside)
    results_folder.write(folder, SECTION)
    assert not (folder / name).is_symlink()


@pytest.mark.parametrize("name", ["results", "results/numbers"])
def test_results_do_not_go_into_a_linked_folder(tmp_path, outside, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to(outside.parent)
    with pytest.raises(StorageError, match="symbolic link"):
        results_folder.write(tmp_path / "results", SECTION)


def test_figures_do_not_go_through_a_link(tmp_path, outside):
    from matplotlib.figure import Figure

    folder = tmp_path / "figures"
    folder.mkdir()
    for ending in ("png", "svg", "pdf"):
        (folder / f"a.{ending}").symlink_to(outside)
    figure_style.save(folder / "a", Figure(figsize=(1, 1)), "t", "c")
    assert sorted(p.name for p in folder.iterdir()) == ["a.pdf", "a.png", "a.svg"]
    assert not (folder / "a.png").is_symlink()
    shutil.rmtree(folder)
    folder.symlink_to(outside.parent)
    with pytest.raises(StorageError, match="symbolic link"):
        figure_style.save(folder / "a", Figure(figsize=(1, 1)), "t", "c")


def test_linked_checkpoints_are_refused_and_nothing_is_deleted_there(tmp_path, outside):
    folder = new_run(tmp_path)
    assert work(folder.path, ToyJob, EAGER, After(3)) == 75
    copy = tmp_path / "copy"
    folder.checkpoints.rename(copy)
    folder.checkpoints.symlink_to(copy)
    (copy / ".mine.part").touch()
    before = sorted(copy.iterdir())
    assert work(folder.path, ToyJob, EAGER, Stop()) == 1
    assert sorted(copy.iterdir()) == before
    assert "symbolic link" in read_status(folder).reason
    assert "symbolic link" in verify(folder.path).problems[0].text


@pytest.mark.parametrize(
    "name", ["config.json", "status.json", "metrics.jsonl", "log.txt", "lock", "final.npz"]
)
def test_nobody_waits_for_a_pipe(tmp_path, name):
    folder = finished(tmp_path)
    (folder.path / name).unlink(missing_ok=True)
    os.mkfifo(folder.path / name)
    assert call("status", folder.path).exit_code in (0, 2)
    assert bool(verify(folder.path).problems) is (name not in ("lock", "log.txt"))
    export_csv(folder.path, tmp_path / "all.csv")
    Overview(folder.path).rows()
    assert work(folder.path, ToyJob, EAGER, Stop()) in (0, 1, 2)


def test_escape_sequences_are_shown_and_not_obeyed(tmp_path):
    folder = new_run(tmp_path)
    text = json.loads(folder.status.read_text())
    text |= {"state": "failed", "reason": HOSTILE, "warnings": [HOSTILE], "schema": 2}
    folder.status.write_text(json.dumps(text))
    strange = tmp_path / "a\x1b[2Jb"
    strange.mkdir()
    (strange / "config.json").write_text(f'{{"{HOSTILE.encode("unicode_escape").decode()}": 1')
    for words in (["status"], ["status", "--json"], ["verify"], ["claims"], ["verify", "--json"]):
        result = call(*words, tmp_path)
        for sign in "\x1b\x07\x9b\ud800":
            assert sign not in result.output, words
    assert "owned" in call("status", tmp_path).output


def test_text_in_a_table_is_no_formula(tmp_path):
    class Sly(ToyJob):
        def advance(self, state):
            state, records = super().advance(state)
            return state, [
                {**r, "=name": "=cmd|' /C calc'!A0", "n": "-1", "m": -1} for r in records
            ]

    folder = new_run(tmp_path)
    assert work(folder.path, Sly, EAGER, Stop()) == 0
    export_csv(folder.path, tmp_path / "all.csv")
    header, first, *_ = (tmp_path / "all.csv").read_text().splitlines()
    assert header.endswith(",'=name,n,m")
    assert first.endswith(",'=cmd|' /C calc'!A0,-1,-1")
    assert results_folder.as_csv(RUNS) == "agent,text\na,'=HYPERLINK(1)\nb,-0.5\n"


@pytest.mark.parametrize("number", [f"1{'0' * 400}", "1e400", str(2**63 - 1), "-5"])
def test_no_number_of_one_run_stops_a_command_on_all(tmp_path, number):
    names = ["seconds", "updated", "rate", "done", "attempts"]
    for name in ["good", *names]:
        folder = shutil.copytree(OLD / "done", tmp_path / name)
        text = json.loads((folder / "status.json").read_text())
        text[name if name in names else "reason"] = "THERE"
        spoilt = json.dumps(text).replace('"THERE"', number) if name in names else json.dumps(text)
        (folder / "status.json").write_text(spoilt)
    for words in (["status"], ["status", "--json"], ["verify"]):
        result = call(*words, tmp_path)
        assert not result.exception or isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code in (0, 1), result.output
    assert len(Overview(tmp_path).rows()) == 6
    if len(number) > 300 or "e" in number:
        texts = [problem.text for problem in verify(tmp_path).problems]
        assert len(texts) == 5
        for name in names:
            assert any(f"status.json: {name}: a number beyond" in text for text in texts)


def test_a_run_error_has_the_files_name(tmp_path):
    folder = finished(tmp_path)
    folder.config.write_text(folder.config.read_text().replace('"seed": 0', '"seed": 1e999'))
    with pytest.raises(RunError, match=r"config\.json: seed: a number beyond"):
        folder.read_config()

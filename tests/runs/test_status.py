import csv

import pytest

from bennafusi.runs.export import export_csv
from bennafusi.runs.folder import FolderError
from bennafusi.runs.overview import Overview
from bennafusi.runs.plan import plan, prepare
from bennafusi.runs.signals import Stop
from bennafusi.runs.verify import verify
from bennafusi.runs.worker import work
from tests.runs.common import EAGER, After
from tests.runs.toy import ToyJob


@pytest.fixture
def root(tmp_path):
    """Four runs: done, interrupted, failed, planned."""
    good = {"steps": 20, "chunk": 4}
    done, cut, _ = prepare(tmp_path, plan("toy", ["done", "cut", "planned"], [0], good))
    (bad,) = prepare(tmp_path, plan("toy", ["bad"], [0], {**good, "blow_up": 9}))
    work(done.path, ToyJob, EAGER, Stop())
    work(cut.path, ToyJob, EAGER, After(3))
    work(bad.path, ToyJob, EAGER, Stop())
    return tmp_path


def test_the_summary_has_a_row_for_each_run(root):
    rows = {row.variant: row for row in Overview(root).rows()}
    assert {name: row.state for name, row in rows.items()} == {
        "bad": "failed",
        "cut": "interrupted",
        "done": "done",
        "planned": "planned",
    }
    assert (rows["cut"].done, rows["cut"].total, rows["cut"].attempts) == (12, 20, 1)
    assert rows["cut"].left > 0
    assert rows["done"].left == 0
    assert "place is not finite" in rows["bad"].reason


def test_a_spoilt_config_is_a_row_too(root):
    (root / "toy" / "cut" / "seed-0" / "config.json").write_text("{")
    row = Overview(root).rows()[1]
    assert row.state == "unreadable"
    assert "config.json" in row.reason


def test_sound_runs_have_no_problems_and_one_run_can_be_looked_at(root):
    found = verify(root)
    assert (found.runs, found.lines, found.problems) == (4, 20 + 12 + 8, [])
    assert found.checkpoints == 6
    assert verify(root / "toy" / "done" / "seed-0").lines == 20


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.json", "config.json"),
        ("status.json", "status.json"),
        ("metrics.jsonl", "metrics.jsonl"),
        ("final.npz", "is not what was written"),
    ],
)
def test_a_spoilt_file_is_a_problem(root, name, message):
    path = root / "toy" / "done" / "seed-0" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x80
    path.write_bytes(content)
    problems = verify(root).problems
    assert problems
    assert all(problem.folder == path.parent for problem in problems)
    assert message in problems[0].text


def test_lines_added_to_a_finished_run_are_a_problem(root):
    path = root / "toy" / "done" / "seed-0" / "metrics.jsonl"
    path.write_bytes(path.read_bytes() + b'{"step":20}\n{"x')
    texts = [problem.text for problem in verify(root).problems]
    assert len(texts) == 1
    assert "has grown since" in texts[0]


def test_the_table_holds_every_record(root):
    path = root / "all.csv"
    assert export_csv(root, path) == (40, [])
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert list(rows[0]) == ["experiment", "variant", "seed", "step", "x"]
    assert [row["step"] for row in rows if row["variant"] == "cut"] == [str(i) for i in range(12)]
    assert float(rows[0]["x"])


def test_a_status_of_a_newer_version_is_refused_and_not_touched(root, capsys):
    path = root / "toy" / "cut" / "seed-0"
    content = (path / "status.json").read_text().replace('"schema": 3', '"schema": 4')
    (path / "status.json").write_text(content)
    assert "made by a newer bennafusi" in Overview(root).rows()[1].reason
    assert work(path, ToyJob, EAGER, Stop()) == 2
    assert "made by a newer bennafusi" in capsys.readouterr().err
    assert (path / "status.json").read_text() == content


def test_a_folder_without_runs_is_an_error(tmp_path):
    with pytest.raises(FolderError, match="there is no run in it"):
        Overview(tmp_path).rows()

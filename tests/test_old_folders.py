"""Folders that an older version left unfinished: they are read, judged and run to their end.

``tests/stored/schema-1`` holds two such runs as they were written, stopped after a first chunk.
"""

import json
import shutil
from pathlib import Path

import pytest

from bennafusi.cli.jobs import make_job
from bennafusi.runs import plan, worker
from bennafusi.runs.config import flat, from_json, to_json
from bennafusi.runs.folder import Folder
from bennafusi.runs.migrations import DEEP, MIGRATIONS, SINCE, TABULAR
from bennafusi.runs.signals import Stop
from bennafusi.training.deep_settings import DeepSettings
from bennafusi.training.tabular_settings import TabularSettings

STORED = Path(__file__).parent / "stored" / "schema-1"
RUNS = {
    "two-task/benna-fusi/seed-0": (DeepSettings, DEEP),
    "grid-switch/modified/seed-0": (TabularSettings, TABULAR),
}


@pytest.fixture
def old(tmp_path):
    shutil.copytree(STORED, tmp_path / "old")
    return tmp_path / "old"


@pytest.mark.parametrize("run", RUNS)
def test_flat_settings_are_read_into_their_parts(old, run):
    kind, places = RUNS[run]
    written = json.loads((old / run / "config.json").read_bytes())
    assert written["schema"] == 1
    settings = Folder(old / run).read_config()[0].settings
    assert to_json(from_json(kind, settings)) == settings
    moved = {places[name]: value for name, value in written["settings"].items()}
    since = {path: value for path, value in flat(settings).items() if path not in moved}
    assert {**moved, **since} == flat(settings)
    grown = SINCE.values() if kind is DeepSettings else ()
    added = {path: value for part in grown for path, value in flat(part).items()}
    later = {path: value for path, value in since.items() if path in added}
    assert later == added, "what came later is as it was before"
    assert {path.partition(".")[0] for path in since if path not in later} <= {"depths", "recall"}
    assert not since.get("depths.games", since.get("depths")), "nobody looks at the depths"
    assert since.get("recall.kind", "none") == "none", "and nothing is recalled"


@pytest.mark.parametrize(("kind", "places"), RUNS.values())
def test_every_old_setting_has_a_place(kind, places):
    assert set(places.values()) <= set(flat(to_json(kind())))


def test_settings_of_other_experiments_stay_as_they_are():
    for settings in ({"updates": 3, "g12": 0.1}, {"n": 3}, {}, None):
        for migration in MIGRATIONS.values():
            assert migration({"settings": settings}) == {"settings": settings}


@pytest.mark.parametrize("run", RUNS)
def test_an_unfinished_run_goes_on(old, run):
    folder = Folder(old / run)
    spec, _ = folder.read_config()
    before = folder.metrics.read_bytes()
    assert plan.prepare(old, [spec])[0].path == folder.path  # the same command continues it
    assert worker.work(folder.path, make_job, stop=Stop()) == 0
    assert folder.metrics.read_bytes().startswith(before)
    records = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
    epochs = {"two-task": (0, 1, 2), "grid-switch": (1, 2, 3)}[spec.experiment]
    ends = [r["epoch"] for r in records if r["kind"] in ("switch", "epoch")]
    assert tuple(ends) == epochs
    assert folder.read_config()[0] == spec


def test_claims_and_reports_of_old_runs(old, call):
    for command in (["claims"], ["status"], ["report", "--out", "page.html"]):
        result = call(*command, str(old))
        assert result.exit_code == 0, result.stderr
    page = Path("page.html").read_text()
    assert "chain.n" in page
    assert "modified" in page

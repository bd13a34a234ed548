"""Experiments of other packages: one that is broken or ambiguous is named, and stops nobody."""

import sys
from importlib.metadata import EntryPoint

import pytest

from bennafusi.cli import gather
from bennafusi.experiments import registry
from bennafusi.runs import plan

BROKEN = {
    "no-module": "bennafusi_nowhere:EXPERIMENT",
    "no-name": "json:EXPERIMENT",
    "no-experiment": "json:dumps",
    "other-name": "bennafusi.experiments.grid_switch:EXPERIMENT",
    "memory": "json:dumps",
    "fails": "tests_of_a_package_that_fails:EXPERIMENT",
}


@pytest.fixture
def others(monkeypatch, tmp_path):
    (tmp_path / "tests_of_a_package_that_fails.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    points = [EntryPoint(name, value, registry.GROUP) for name, value in BROKEN.items()]
    points += [EntryPoint("twice", f"{name}:EXPERIMENT", registry.GROUP) for name in "ab"]
    monkeypatch.setattr(registry, "_installed", lambda: points)
    yield
    sys.modules.pop("tests_of_a_package_that_fails", None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-module", "cannot be loaded: ModuleNotFoundError"),
        ("no-name", "cannot be loaded: AttributeError"),
        ("no-experiment", "is no Experiment of that name"),
        ("other-name", "is no Experiment of that name"),
        ("fails", r"\(tests_of_a.*\) cannot be loaded: ZeroDivisionError: division by zero"),
        ("memory", "is there more than once: bennafusi, json:dumps; remove one"),
        ("twice", "is there more than once: a:EXPERIMENT, b:EXPERIMENT"),
    ],
)
def test_a_broken_or_ambiguous_one_is_refused_by_its_name(others, name, message):
    with pytest.raises(registry.UnknownError, match=f"experiment '{name}' .*{message}"):
        registry.find(name)


def test_it_stops_no_command_on_the_others(others, call, tmp_path):
    result = call("list")
    assert result.exit_code == 0
    assert "grid-switch" in result.stdout
    assert result.stderr.count("left out: ") == len(BROKEN) + 1
    assert registry.find("fig2").name == "grid-switch"
    for name in ("fails", "grid-switch"):
        plan.prepare(tmp_path / "out", plan.plan(name, ["control"], [0], {}))
    found = gather.gather(tmp_path / "out")
    assert [group.experiment.name for group in found.groups] == ["grid-switch"]
    assert len(found.problems) == 1
    assert "ZeroDivisionError" in found.problems[0]
    assert call("run", "fails").exit_code == 2


def test_a_spoilt_plan_is_said_by_every_command(tmp_path):
    plan.prepare(tmp_path, plan.plan("grid-switch", ["control"], [0], {}))
    with (tmp_path / "grid-switch" / "plan.jsonl").open("a") as file:
        file.write('["modified",0\n')
    (problem,) = gather.gather(tmp_path).problems
    assert "plan.jsonl, line 2" in problem

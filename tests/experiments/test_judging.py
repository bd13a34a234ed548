"""Which part of an experiment a verdict rests on, and why one failed."""

import re
from pathlib import Path

import pytest

from bennafusi.experiments.deep import rivals_online
from bennafusi.experiments.experiment import UNKNOWN, Experiment, Extent, Reason
from bennafusi.experiments.registry import experiments, find
from bennafusi.results import TOO_SMALL, Finding
from bennafusi.training.changes import changed

LENGTHS = {"smoke": 9, "quick": 50, "paper": 1000}
FOUND = [
    Finding("Up", "rule", "1", True),
    Finding("Down", "rule", "2", False),
    Finding("Sideways", "rule", "3", False),
    Finding("On", "rule", "4", None),
]
TRIAL = Experiment(
    name="trial",
    title="?",
    lead="",
    summary="",
    settings=LENGTHS.__getitem__,
    job=lambda settings, seed: None,
    paper=("fig1",),
    claims=lambda runs: list(FOUND),
    reasons={
        "Down": Reason("it is light", "docs/results.md#weight"),
        "Up": Reason("no", ""),
        "Sideways": lambda episodes: UNKNOWN if episodes < 1000 else Reason("it is long", ""),
    },
    extent=lambda episodes: Extent(episodes, f"{episodes:,} episodes"),
)


def test_a_verdict_says_how_much_it_rests_on_and_why_it_failed():
    found = TRIAL.judge([], 50)
    scale = "5% of the paper's scale: 50 episodes (full: 1,000 episodes)"
    assert [f.scale for f in found] == [scale] * 4
    assert [(f.why, f.see) for f in found] == [
        ("", ""),
        ("it is light", "docs/results.md#weight"),
        UNKNOWN,
        ("", ""),
    ]
    assert [f[:4] for f in found] == [f[:4] for f in FOUND]
    full = TRIAL.judge([], 1000)
    assert full[0].scale == "the paper's scale: 1,000 episodes"
    assert full[2].why == "it is long", "another setting may fail for another reason"


@pytest.mark.parametrize(("episodes", "judged"), [(9, False), (10, True)])
def test_less_than_a_hundredth_is_too_small_to_judge(episodes, judged):
    found = TRIAL.judge([], episodes)
    assert (found[0].holds is True) is judged
    if not judged:
        assert all(f.holds is None and not f.why for f in found)
        assert {f.measured for f in found} == {f"{TOO_SMALL}: 9 episodes"}


def test_every_experiment_that_claims_something_says_how_much_of_it_there_is():
    for one in experiments([]):
        if one.extent is None:
            assert not one.paper, one.name
            continue
        full, quick, smoke = (one.extent(one.settings(s)) for s in ("paper", "quick", "smoke"))
        assert smoke.amount < 0.01 * full.amount <= quick.amount, one.name
        assert full.words
        assert set(one.reasons) <= {f.statement for f in one.claims([])}


def test_a_reason_points_at_a_heading_that_is_there():
    root = Path(__file__).parents[2]
    for one in experiments([]):
        other = [reason for found in rivals_online.WHY.values() for reason in found.values()]
        at = [one.settings(scale) for scale in ("quick", "paper")]
        known = [one.reason(name, settings) for name in one.reasons for settings in at]
        for reason in (*known, *other):
            if reason == UNKNOWN:  # with these settings
                continue
            page, _, anchor = reason.see.partition("#")
            lines = (root / page).read_text(encoding="utf-8").splitlines()
            heads = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
            slugs = {re.sub(r"[^a-z0-9 -]", "", head).replace(" ", "-") for head in heads}
            assert anchor in slugs, (one.name, reason.see)


def test_an_experiment_says_what_of_its_chains_matters():
    grid = find("grid-switch")
    base, other = grid.settings("paper"), changed(grid.settings("paper"), {"chain.g12": 1e-3})
    assert grid.effective("control", base) == grid.effective("control", other)
    assert grid.effective("benna-fusi", base) != grid.effective("benna-fusi", other)
    assert grid.timescales("benna-fusi", other) == [1e3, 4e3, 1.6e4]
    memory = find("memory")
    assert memory.timescales("chains", memory.settings("paper")) == []
    assert memory.effective("chains", memory.settings("paper"))
    deep = find("two-task")
    base = deep.settings("smoke")
    for field, value in (("method.strength", 3.0), ("stream.kappa", 3.0), ("recall.epsilon", 0.5)):
        other = changed(base, {field: value})
        assert deep.effective("benna-fusi", base) == deep.effective("benna-fusi", other), field
    other = changed(base, {"agent.tau": 0.5})
    assert deep.effective("benna-fusi", base) != deep.effective("benna-fusi", other)

"""Runs over a grid of settings, from the command line."""

import csv
import dataclasses

import pytest

from bennafusi.cli import gather, sweep
from bennafusi.experiments import registry
from bennafusi.experiments.experiment import Experiment
from bennafusi.runs import plan
from bennafusi.runs.folder import check_name
from tests.report import made

SMALL = ["run", "fig2", "--scale", "smoke", "--set", "episodes=40", "--set", "size=5"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["n"], "--sweep n: must be FIELD=VALUE, such as --sweep chain.n=3,10,30"),
        (["chain.g12=1e-3,0.001"], "--sweep two points have the same settings"),
        (["n=3,,4"], "--sweep n=3,,4: needs values with commas between, none empty or twice"),
        (["n=3,3"], "--sweep n=3,3: needs values"),
        (["chain.n=3", "chain.n=4"], "--sweep chain.n=4: chain.n is given twice"),
        (["m=3"], "--sweep m: unknown; there is: epochs"),
        (["n=3"], "--sweep n: unknown; did you mean 'chain.n'?"),
        (["chain.n=2,many"], "--sweep chain.n='many': must be"),
        (["chain.n=2,0"], "--sweep chain.n=0"),
    ],
)
def test_bad_grids_are_refused_before_anything_is_made(call, tmp_path, words, message):
    options = [part for word in words for part in ("--sweep", word)]
    result = call(*SMALL, *options, "--out", "there")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_swept(call, tmp_path):
    several = call("run", "fig2", "two-task", "--sweep", "chain.n=2,3", "--out", "there")
    assert "--sweep: name one experiment" in several.stderr
    memory = call("run", "memory", "--sweep", "repeat=2,3", "--out", "there")
    assert "--sweep repeat: unknown; did you mean 'repeats'?" in memory.stderr
    nothing = call("run", "epsilon-floor", "--sweep", "chain.g12=0.1,0.2", "--out", "there")
    assert "no variant of epsilon-floor depends on chain.g12" in nothing.stderr
    many = ",".join(map(str, range(49)))
    huge = [part for field in "xyz" for part in ("--sweep", f"{field}={many}")]
    assert "117,649 points; at most 100,000" in call(*SMALL, *huge).stderr
    assert not list(tmp_path.iterdir())


def test_an_experiment_without_scores_is_not_swept(call, tmp_path, monkeypatch):
    plain = dataclasses.replace(registry.find("memory"), scores=Experiment.scores)
    monkeypatch.setattr(registry, "find", lambda name: plain)
    result = call("run", "memory", "--sweep", "repeats=2,3", "--out", "there")
    assert "--sweep: memory has no scores to compare" in result.stderr
    assert not list(tmp_path.iterdir())


def test_names_of_points_are_folders_and_all_different():
    odd = ("1", "1.0", "A", "a", "1,2", "1-2", "../..", "ä", "." * 99)
    points = [{"x": value} for value in odd]
    names = [sweep.folder_name(point) for point in points]
    assert len(set(names)) == len(names)
    for name in names:
        check_name("point", name)
    longest = {f"field_{place}": "0.123456789" for place in range(9)}
    check_name("point", sweep.folder_name(longest))


def test_a_grid_is_run_summed_up_and_extended(call, tmp_path):
    words = [*SMALL, "--seeds", "1", "--out", "there", "--sweep", "chain.g12=1e-4"]
    first = call(*words, "--variants", "benna-fusi", "--sweep", "chain.n=2,3")
    assert first.exit_code == 0, first.stderr
    assert "2 points, 2 runs" in first.stdout
    with (tmp_path / "there/sweep/numbers/sweep.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["chain.g12"], row["chain.n"]) for row in rows[::3]] == [
        ("1e-4", "2"),
        ("1e-4", "3"),
    ]
    assert float(rows[0]["mean"]) > 0
    assert (tmp_path / "there/sweep/figures/heat-map.png").exists()
    before = {p: p.read_bytes() for p in (tmp_path / "there").rglob("metrics.jsonl")}
    assert len(set(before.values())) == 2, "the points must differ"

    # Control and modified have not been run there: what is asked for is what is summed up.
    wider = call(*words, "--variants", "benna-fusi", "--sweep", "chain.n=2,3,4")
    assert "3 points, 3 runs" in wider.stdout
    assert {p: p.read_bytes() for p in before} == before
    assert wider.stdout.count("benna-fusi") == 3
    judged = call("claims", "there")
    assert judged.exit_code == 2
    assert "different settings and cannot be judged together" in judged.stderr
    assert (
        call(
            "claims", f"there/{sweep.folder_name({'chain.g12': '1e-4', 'chain.n': '2'})}"
        ).exit_code
        == 0
    )


def test_a_grid_of_which_a_point_diverges_is_summed_up_all_the_same(call, tmp_path):
    """With a bound of 0 on its values a run has diverged at its first update."""
    words = ["run", "rivals-online", "--scale", "smoke", "--seeds", "1", "--out", "there"]
    swept = call(*words, "--variants", "try-control", "--sweep", "largest_value=1e-9,1e5")
    assert swept.exit_code == 1
    assert "diverged in epoch 1" in swept.stderr
    with (tmp_path / "there/sweep/numbers/sweep.csv").open(newline="") as file:
        rows = {row["largest_value"]: row for row in csv.DictReader(file) if row["mean"]}
    assert set(rows) == {"1e-9", "1e5"}
    page = (tmp_path / "there/sweep/README.md").read_text()
    assert "largest_value-1e-9 | 1 | 0" in page
    assert "largest_value-1e5 | 1 | 1" in page
    assert "| 1e-9 | try-control | -∞ |" in page


def test_runs_of_other_settings_nearby_do_not_cost_a_command_its_results(call, tmp_path):
    """They had: it ended in an error, after all of its own runs."""
    there = tmp_path / "there"
    for g12 in ("0.1", "0.2", "0.3"):  # as of a sweep
        specs = made.specs("memory", ["chains"], [0], {"g12": g12})
        (nearby,) = plan.prepare(there / f"g12-{g12}", specs)
    nearby.config.write_bytes(b"{")
    result = call("run", "memory", "--scale", "smoke", "--seeds", "1", "--out", "there")
    assert (there / "memory/claims.json").exists()
    page = (there / "report.html").read_text(encoding="utf-8")
    for text in ("memory (here)", "memory (g12-0.1)", "memory (g12-0.2)"):
        assert text in page
    assert "memory: summary" not in page, "a single set of settings sums up nothing"
    assert result.exit_code == 1
    assert result.stderr.count("left out: g12-0.3/memory/chains/seed-0: ") == 1, result.stderr


def test_a_point_is_summed_up_without_other_experiments(tmp_path):
    for name, variant in (("grid-switch", "control"), ("memory", "chains")):
        plan.prepare(tmp_path / "g12-0.1", made.specs(name, [variant], [0], {}))
    plan.prepare(tmp_path / "g12-0.1/memory/more", made.specs("memory", ["chains"], [1], {}))
    group, problems = gather.own(tmp_path, tmp_path / "g12-0.1", registry.find("memory"))
    assert problems == []
    assert list(group.folders) == [("chains", 0)]

"""``bennafusi report``: whatever there is becomes a page, and what cannot be read is named."""

import csv
import dataclasses
import itertools
import json
import re
from pathlib import Path

import pytest

from bennafusi import files
from bennafusi.cli import gather, playing
from bennafusi.cli import report_command as report
from bennafusi.runs import plan
from bennafusi.runs.folder import Folder
from bennafusi.runs.status import Status, write_status
from tests.report import made
from tests.report.test_html import HOSTILE, Page


def read(path):
    text = path.read_text(encoding="utf-8")
    return text, Page(text)


def exhibits(page):
    kinds = [attrs["data-kind"] for _, attrs in page.tags if "data-kind" in attrs]
    return sorted(kinds)


def data(page):
    return [json.loads(part) for _, attrs, part in page.inside if "type" in attrs]


def words(text):
    return " ".join(re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<script.*?</script>", "", text)).split())


def test_help(call):
    result = call("report", "--help")
    assert result.exit_code == 0
    for text in ("--out", "--watch", "--no-play", "bennafusi report runs/two-task"):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_several_experiments(call, tmp_path):
    made.grid(tmp_path / "there")
    made.deep(tmp_path / "there")
    before = set((tmp_path / "there").rglob("*"))
    result = call("report", "there")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("there/report.html: 10 of 10 runs finished, 0.")
    new = set((tmp_path / "there").rglob("*")) - before
    assert new == {tmp_path / "there/report.html"}, "nothing else is written there"
    text, page = read(tmp_path / "there/report.html")
    several = ["profiles", "profiles", "seeds", "seeds"]
    assert exhibits(page) == ["beakers", "depths", "play", *several, "values"]
    assert "Figure 2: finding the goal again" in text
    assert "Figure 4: relearning two tasks in turn" in text
    assert text.count("bennafusi run grid-switch --scale smoke --seeds 2") == 1
    assert "--variants benna-fusi,control-1e-3" in text
    assert str(tmp_path) not in text, "a page may be handed on"
    assert "cpu: cpu, x86_64" in words(text)
    played = next(part for part in data(page) if "episodes" in part)["episodes"]
    assert [(one["agent"], one["task"]) for one in played] == [
        (agent, task)
        for agent in ("benna-fusi", "control-1e-3")
        for _ in (0, 1)  # seeds
        for task in ("Cart-Pole", "Catcher")
    ]
    assert played[0]["when"] == "after 80 episodes, the last on Catcher"
    assert len(played[0]["x"]) == len(played[0]["totals"]) == played[0]["totals"][-1] + 1

    kept = call("results", "there", "--to", "kept")
    assert kept.exit_code == 0, kept.stderr
    files = {part["name"]: part["csv"] for part in data(page) if "csv" in part}
    for name in ("switches.csv", "beakers.csv", "curve.csv"):
        assert files[name] == (tmp_path / "kept/two-task/numbers" / name).read_text()


def test_three_seeds_have_profiles_among_the_files(call, tmp_path):
    made.grid(tmp_path / "there", seeds=(0, 1, 2))
    assert call("results", "there", "--to", "kept").exit_code == 0
    numbers = tmp_path / "kept/grid-switch/numbers"
    with (numbers / "profiles.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (numbers / "summary.csv").open(newline="") as file:
        measures = {(row["variant"], row["measure"]) for row in csv.DictReader(file)}
    assert {(row["variant"], row["measure"]) for row in rows} == measures
    assert {row["seeds"] for row in rows} == {"3"}
    last = {(row["variant"], row["measure"]): row["share above"] for row in rows}
    assert set(last.values()) == {"0.0"}, "none is above the highest"
    assert "[numbers/profiles.csv]" in (numbers.parent / "README.md").read_text(encoding="utf-8")


def test_partial_results(call, tmp_path):
    """Begun, planned, failed, damaged and unknown runs, side by side."""
    made.deep(tmp_path / "there", finished=False)
    first = tmp_path / "there/two-task/benna-fusi/seed-0"
    lines = (first / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (first / "metrics.jsonl").write_bytes(b"".join(lines[:3]))
    made.seal(Folder(first))
    (first / "metrics.jsonl").write_bytes(b"".join(lines[:3]) + b'{"kind":"te')
    write_status(Folder(first), Status(state="failed", reason=f"diverged {HOSTILE}"))
    second = tmp_path / "there/two-task/benna-fusi/seed-1"
    (second / "config.json").write_text("{")
    third = tmp_path / "there/two-task/control-1e-3/seed-1"
    (third / "metrics.jsonl").write_text("nonsense\n")
    planned = made.specs("grid-switch", ["control"], [0], made.GRID)
    plan.prepare(tmp_path / "there", planned)
    other = made.specs("grid-switch", ["control"], [1], made.GRID)[0]
    strange = Folder(tmp_path / "there/other/control/seed-0")
    strange.path.mkdir(parents=True)
    config = {
        "schema": 1,
        "experiment": "other",
        "variant": "a",
        "seed": 0,
        "settings": other.settings,
        "environment": None,
    }
    files.replace(strange.config, files.dump(config))

    result = call("report", "there", "--no-play")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("left out: ") == 3
    text, page = read(tmp_path / "there/report.html")
    assert "two-task/benna-fusi/seed-1" in text
    assert "unknown experiment &#39;other&#39;" in text
    assert "No run has written anything yet." in text
    assert "benna-fusi, seed 0, failed: diverged &#34;" in text
    assert [attrs.get("type") for tag, attrs in page.tags if tag == "script"].count(None) == 1
    assert "play" not in exhibits(page)


def test_a_verdict_says_how_far_its_runs_are(call, tmp_path):
    made.deep(tmp_path)
    whole = json.loads(call("claims", ".", "--json").stdout)["two-task"][0]["scale"]
    assert whole.endswith("network 4 (full: 40 epochs of 20,000 episodes, network 400-200)")
    for seed, done in ((0, 60), (1, 50)):  # of 80
        far = Status(state="interrupted", done=done, total=80, seconds=9.0)
        write_status(Folder(tmp_path / f"two-task/benna-fusi/seed-{seed}"), far)
    failed = Status(state="failed", reason="diverged", done=10, total=80)
    write_status(Folder(tmp_path / "two-task/control-1e-3/seed-0"), failed)
    said = {c["scale"] for c in json.loads(call("claims", ".", "--json").stdout)["two-task"]}
    assert said == {f"{whole}; 2 of 4 runs unfinished, the least far at 62%"}


def test_records_that_no_experiment_writes(call, tmp_path):
    made.deep(tmp_path / "there", seeds=(0,))
    run = Folder(tmp_path / "there/two-task/benna-fusi/seed-0")
    hostile = made.test(1, 2, HOSTILE, 0)
    lines = [{"kind": "switch"}, {"kind": "levels", "parts": 3}, hostile, {"kind": HOSTILE}]
    run.metrics.write_bytes(b"".join(files.dump(line) for line in lines))
    made.seal(run)
    spec, _ = run.read_config()
    run.write_config(spec, {"jax": HOSTILE, "device": "\ud800", HOSTILE: [HOSTILE]})
    result = call("report", "there")
    assert result.exit_code == 0, result.stderr
    text, page = read(tmp_path / "there/report.html")
    assert "the claims: KeyError" in text
    assert "the beakers: " in text
    assert exhibits(page) == ["play"], "what else there is is shown"
    assert [attrs.get("type") for tag, attrs in page.tags if tag == "script"].count(None) == 1
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]


def test_numbers_that_no_page_can_hold(call, tmp_path):
    """Python reads 1e999 as infinity, and JSON has none."""
    made.grid(tmp_path / "there", seeds=(0,))
    run = tmp_path / "there/grid-switch/benna-fusi/seed-0/metrics.jsonl"
    run.write_text(run.read_text().replace('"steps":5000', '"steps":{"a":1e999}'))
    other = tmp_path / "there/grid-switch/modified/seed-0/metrics.jsonl"
    other.write_text(other.read_text().replace("0.125", "1e999"))
    made.seal(Folder(run.parent))
    made.seal(Folder(other.parent))
    result = call("report", "there")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("a number beyond what 64 bits can hold") == 2
    text, _ = read(tmp_path / "there/report.html")
    assert "line 2: steps.a: a number beyond" in text


def test_a_section_that_cannot_be_written(call, tmp_path, monkeypatch):
    from bennafusi.experiments import registry

    two = dataclasses.replace(registry.find("two-task"), lead=Unprintable())
    found = registry.find
    monkeypatch.setattr(registry, "find", lambda name: two if name == "two-task" else found(name))
    made.grid(tmp_path / "there", seeds=(0,))
    made.deep(tmp_path / "there", seeds=(0,), finished=False)
    result = call("report", "there", "--no-play")
    assert result.exit_code == 0, result.stderr
    text, _ = read(tmp_path / "there/report.html")
    assert "two-task: RuntimeError: no words" in text
    assert "Figure 2" in text


class Unprintable:
    def __str__(self):
        raise RuntimeError("no words")


def test_the_same_experiment_twice(call, tmp_path):
    made.grid(tmp_path / "there/a", seeds=(0,))
    made.grid(tmp_path / "there/b", seeds=(0,))
    result = call("report", "there", "--out", "page.html", "--quiet")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    text, _ = read(tmp_path / "page.html")
    assert "grid-switch (a)" in text
    assert "grid-switch (b)" in text


def test_a_report_from_inside_judges_runs_together(call, tmp_path, monkeypatch):
    """A path that is relative has fewer parents than its folder."""
    made.grid(tmp_path / "there", seeds=(0, 1))
    for place in ("there", "there/grid-switch", "there/grid-switch/control"):
        monkeypatch.chdir(tmp_path / place)
        (group,) = gather.gather(Path(".")).groups
        assert group.where == ""
        assert len(group.rows) == (2 if place.endswith("control") else 6)


def test_very_many_settings(call, tmp_path, monkeypatch):
    """A sweep: what does not fit is named, and its summary comes first."""
    from bennafusi.cli import sections
    from bennafusi.results import Section

    monkeypatch.setattr(sections, "MOST_ALIKE", 1)
    for name in "abc":
        made.grid(tmp_path / "there" / name, seeds=(0,))
    path, summary = tmp_path / "page.html", Section("All of them", "Lead.")
    found = sections.write_page(path, tmp_path / "there", None, {"grid-switch": summary})
    assert found.problems == []  # a command that made them all has not failed
    assert found.too_many == [
        "grid-switch: 2 more sets of settings; name the folder of one to see it"
    ]
    text, _ = read(path)
    assert text.index("grid-switch: summary") < text.index("grid-switch (a)")
    assert "grid-switch (b)" not in text
    assert "2 more sets of settings" in text


def test_a_run_that_kept_its_last_games_need_not_play(tmp_path, monkeypatch):
    made.deep(tmp_path, seeds=(0,))
    (group,) = gather.gather(tmp_path).groups
    runs = gather.load(tmp_path, group, [])
    asked = []
    monkeypatch.setattr(playing, "_by_depth", lambda *words: asked.append(words) or {"time": 80})
    assert playing.EpisodeCache().depths(group, runs) == {("benna-fusi", 0): {"time": 80}}
    assert len(asked) == 1, "of its last look there is no game"
    whole = [run._replace(records=[*run.records, made.games(4)]) for run in runs]
    assert playing.EpisodeCache().depths(group, whole) == {}
    assert len(asked) == 1


def test_nothing_there(call, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder, said in (("nowhere", "no such folder"), ("empty", "no run in it")):
        result = call("report", folder)
        assert result.exit_code == 2
        assert f"{folder}: there is {said}" in result.stderr
    made.grid(tmp_path / "there", seeds=(0,))
    for out, message in (("empty", "is a folder"), ("no/page.html", "there is no folder no")):
        result = call("report", "there", "--out", out)
        assert result.exit_code == 2
        assert message in result.stderr


def test_watching(call, tmp_path, monkeypatch):
    """A new page when a run has gone on, none when nothing has changed; Ctrl-C is no error."""
    made.grid(tmp_path / "there", seeds=(0,))
    metrics = tmp_path / "there/grid-switch/control/seed-0/metrics.jsonl"
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 2:
            with metrics.open("ab") as file:
                file.write(files.dump(made.values(1, 4, 3)))
            made.seal(Folder(metrics.parent))
        if len(looks) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(report.time, "sleep", sleep)
    result = call("report", "there", "--watch")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("3 of 3 runs finished") == 2


def test_an_interrupted_report(call, tmp_path, monkeypatch):
    made.grid(tmp_path / "there", seeds=(0,))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "_write", interrupt)
    assert call("report", "there").exit_code == 130


@pytest.mark.parametrize("agent", ["benna-fusi", "control"])
def test_trained_agents_are_repeated_by_train(agent):
    from bennafusi.cli.gather import Group
    from bennafusi.cli.provenance import trained
    from bennafusi.experiments.deep import train
    from bennafusi.runs.config import to_json, with_changes

    changes = {"network.hidden": "8,4", "chain.n": "7"}
    settings = to_json(with_changes(train.choose(["catcher"], "online"), changes))

    class Row:
        variant, seed = agent, 3

    group = Group(train.EXPERIMENT, "", settings, {}, {}, [Row])
    line = f"bennafusi train --task catcher --schedule online --agent {agent} --seed 3"
    assert trained(group) == [[*line.split(), "--set", "network.hidden=8,4", "--set", "chain.n=7"]]


def test_the_command_makes_the_same_settings():
    from bennafusi.cli.gather import Group
    from bennafusi.cli.options import changes
    from bennafusi.cli.provenance import command
    from bennafusi.experiments.registry import find
    from bennafusi.runs.config import to_json, with_changes

    experiment = find("two-task")
    base = experiment.settings("quick")
    asked = {"network.hidden": "30,20", "chain.dt": "2.5", "chain.gated": "false"}
    asked |= {"tasks": "catcher,cartpole"}
    settings = to_json(with_changes(base, asked))

    class Row:
        variant, seed = "benna-fusi", 3

    words = command(Group(experiment, "", settings, {}, {}, [Row]))
    assert words[:6] == ["bennafusi", "run", "two-task", "--scale", "quick", "--seeds"]
    given = changes([word for before, word in itertools.pairwise(words) if before == "--set"])
    assert to_json(with_changes(base, given)) == settings

    class Later(Row):
        seed = 5

    apart = command(Group(experiment, "", settings, {}, {}, [Later, Row]))
    assert apart[6:9] == ["3", "--seed", "3"], "seed 4 is run as well"

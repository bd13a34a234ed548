"""The command line: what it says, and what it refuses."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version

import pytest

from bennafusi import cli
from bennafusi.cli import run_command
from bennafusi.runs import plan
from tests.report import made


def fail(*_):
    raise RuntimeError("out of paint")


def test_help_names_commands_and_an_example(call):
    result = call("--help")
    assert result.exit_code == 0
    for text in ("run", "list", "--version", "bennafusi run memory"):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_help_of_run(call):
    result = call("run", "--help")
    assert result.exit_code == 0
    for text in ("--scale", "--out", "--seed", "--quiet", "--debug", "bennafusi run memory"):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_list(call):
    result = call("list")
    assert result.exit_code == 0
    assert "memory" in result.stdout
    assert "grid-switch fig2, fig3" in " ".join(result.stdout.split())


def test_list_tells_of_one_experiment(call):
    told = " ".join(call("list", "fig4").stdout.split())
    for text in (
        "Does a network remember a task while it learns another?",
        "quick 8 epochs of 7,500 episodes, network 400-200",
        "agents benna-fusi, control-1e-3 if named control-1e-4,",
        "seeds 3",
    ):
        assert text in told
    (found,) = json.loads(call("list", "two-task", "--json").stdout)
    assert found["variants"][:2] == ["benna-fusi", "control-1e-3"]
    unknown = call("list", "two-tsk")
    assert unknown.exit_code == 2
    assert "did you mean 'two-task'?" in unknown.output


def test_words_that_name_nothing(call, tmp_path):
    for words, text in (
        (("run", "memory", "--variants", ""), "--variants '': names no agent"),
        (
            ("export", ".", "--to", "nowhere/x.csv"),
            "--to nowhere/x.csv: there is no folder nowhere",
        ),
        (("export", "..", "--to", "."), "--to .: is a folder; name a file, such as metrics.csv"),
    ):
        result = call(*words)
        assert result.exit_code == 2
        assert text in result.output
    assert "train" not in call("run").output
    assert list(tmp_path.iterdir()) == []


def test_list_for_programs(call):
    found = json.loads(call("list", "--json").stdout)
    mine = {one["name"]: one for one in found}["two-task"]
    assert mine["figures"] == ["fig4"]


@pytest.mark.parametrize("words", [[], ["--debug"]])
def test_an_error_that_nobody_foresaw(monkeypatch, capsys, words):
    from bennafusi import cli
    from bennafusi.runs import verify

    def fail(root):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(verify, "verify", fail)
    monkeypatch.setattr(sys, "argv", ["bennafusi", *words, "verify", "somewhere"])
    with pytest.raises(ZeroDivisionError if words else SystemExit):
        cli.main()
    assert ("error: ZeroDivisionError: oh\nbennafusi --debug" in capsys.readouterr().err) != bool(
        words
    )


def test_version(call):
    assert call("--version").stdout == f"bennafusi {version('bennafusi')}\n"


def test_run_without_a_name_names_them(call):
    result = call("run")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "error: name an experiment; there is: demo, memory, grid-switch, two-"
    )


def test_help_begins_with_run(call):
    text = call("--help").stdout
    assert text.index("│ run ") < min(
        text.index(f"│ {name} ") for name in ("train", "list", "claims")
    )


def test_the_shell_completes_experiments(tmp_path):
    environ = {**os.environ, "_BENNAFUSI_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    environ |= {"COMP_WORDS": "bennafusi run online-", "_TYPER_COMPLETE_ARGS": "bennafusi run onl"}
    command = [sys.executable, "-m", "bennafusi"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    names = ["online-cartpole", "online-catcher", "online-epsilon", "online-choices"]
    assert done.stdout.split() == names


def test_two_figures_of_one_experiment_are_one():
    chosen = run_command._chosen(["fig2", "grid-switch", "FIG3", "memory"])
    assert [one.name for one in chosen] == ["grid-switch", "memory"]


def test_unknown_experiment(call, tmp_path):
    result = call("run", "memry", "--out", "there")
    assert result.exit_code == 2
    assert result.stderr == "error: unknown experiment 'memry': did you mean 'memory'?\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [("--seed", "-1"), ("--seed", "x"), ("--scale", "huge"), ("--seed", "4294967296"), ("--what",)],
)
def test_invalid_options(call, tmp_path, words):
    result = call("run", "memory", "--out", "there", *words)
    assert result.exit_code == 2
    assert words[0] in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_output_folder_is_a_file(call, tmp_path):
    (tmp_path / "there").touch()
    for out in ("there", "there/deeper"):
        result = call("run", "memory", "--out", out)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: cannot write to --out {out}: ")
        assert result.stderr.count("\n") == 1


def test_errors_are_short_unless_asked(call, monkeypatch):
    monkeypatch.setattr(cli.run_command, "execute", fail)
    result = call("run", "memory")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: RuntimeError: out of paint\n")
    with pytest.raises(RuntimeError, match="out of paint"):
        raise call("run", "memory", "--debug").exception
    monkeypatch.setattr(sys, "argv", ["bennafusi", "--debug", "run", "memory"])
    with pytest.raises(RuntimeError, match="out of paint"):
        cli.main()


# Both tests of this experiment have chains of the same sizes, so that the second compiles nothing.
MEMORY = ["run", "memory", "--scale", "smoke", "--set", "beakers=1,4", "--set", "synapses=100"]
MEMORY += ["--set", "steps=64"]


def test_a_run_from_the_shell(tmp_path):
    words = [*MEMORY, "--out", "there", "--seed", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "bennafusi.cli", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.rstrip().splitlines()[-1] == "report: there/report.html"
    assert {path.name for path in (tmp_path / "there").iterdir()} == {"memory", "report.html"}
    written = {path.name for path in (tmp_path / "there/memory").iterdir()}
    assert written == {"chains", "figures", "README.md", "claims.json", "numbers", "plan.jsonl"}
    figures = {path.name for path in (tmp_path / "there/memory/figures").iterdir()}
    stems = ("snr", "lifetime", "kernel")
    assert figures == {f"memory-{s}.{kind}" for s in stems for kind in ("png", "svg", "pdf")}
    assert "bennafusi run memory --scale smoke --seeds 1 --seed 1" in (
        tmp_path / "there/memory/README.md"
    ).read_text(encoding="utf-8")
    assert "memory: too small to judge (smoke, 1 seed)" in done.stdout
    claims = json.loads((tmp_path / "there/memory/claims.json").read_text(encoding="utf-8"))
    assert len(claims) == 6
    assert all(claim["holds"] is None for claim in claims)
    assert all(claim["measured"].startswith("too small to judge: ") for claim in claims)
    assert len(done.stdout.splitlines()) <= 10
    page = (tmp_path / "there/report.html").read_text(encoding="utf-8")
    assert "bennafusi run memory --scale smoke --seeds 1 --seed 1" in page
    assert "too small to judge" in page
    assert str(tmp_path) not in page


def test_memory_is_a_run_like_any_other(call, tmp_path):
    assert call(*MEMORY, "--out", "there", "--quiet").exit_code == 0
    assert "2 checkpoints" in call("verify", "there").stdout
    assert "chains" in call("status", "there").stdout
    assert len(json.loads(call("claims", "there", "--json").stdout)["memory"]) == 6
    refused = call("export", "there", "--to", "all.parquet")
    assert refused.exit_code == 2
    assert "--to all.parquet: what is written is CSV; choose a name that ends" in refused.stderr
    assert call("export", "there", "--to", "all.csv").exit_code == 0
    kinds = [line.split(",")[3] for line in (tmp_path / "all.csv").read_text().splitlines()]
    assert kinds == ["kind", "setup", "chain", "chain"]

    # What was rewritten since is said by the command that made it, too, and on its page.
    more = [*MEMORY, "--out", "there", "--quiet", "--seeds", "2"]
    metrics = tmp_path / "there/memory/chains/seed-0/metrics.jsonl"
    metrics.write_text(metrics.read_text().replace("1", "2"))
    again = call(*more)
    assert again.exit_code == 1
    assert "left out: memory/chains/seed-0: " in again.stderr
    page = (tmp_path / "there/report.html").read_text(encoding="utf-8")
    assert "metrics.jsonl is no longer what it was when its checkpoint was made" in page
    shutil.copy(metrics, tmp_path / "there/memory/chains/seed-1/metrics.jsonl")
    nothing = call(*more)
    assert nothing.exit_code == 1
    assert "memory: none of its runs in there can be relied on" in nothing.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--variants", "control,control"], "--variants control,control: one is there twice"),
        (["--variants", "controll"], "unknown variant 'controll' of grid-switch: did you mean"),
        (["--set", "epoch=3"], "--set epoch: unknown; did you mean 'epochs'?"),
        (["--set", "epochs=0"], "--set epochs=0: choose a whole number from 1"),
        (["--set", "epochs=many"], "--set epochs"),
        (["--set", "epochs"], "--set epochs: must be FIELD=VALUE"),
        (
            ["--set", "chain.n=1", "--set", "agent.modulation=trace"],
            "agent.modulation='trace' with chain.n=1",
        ),
    ],
)
def test_bad_settings_of_runs(call, tmp_path, words, message):
    result = call("run", "fig2", "--scale", "smoke", "--out", "there", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_number_that_no_file_can_hold_makes_no_folder(call, tmp_path):
    result = call(*MEMORY[:4], "--set", f"steps={10**23}", "--out", "there")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: settings: steps: a number beyond what 64 bits can hold; choose another\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_clash_of_the_last_experiment_is_told_before_the_first_has_run(call, tmp_path):
    specs = made.specs("memory", ["chains"], [0], {"repeats": "3"})
    plan.prepare(tmp_path / "there", specs)
    result = call("run", "grid-switch", "memory", "--scale", "smoke", "--out", "there")
    assert result.exit_code == 2
    assert "settings.repeats is 3 in that run and" in result.stderr
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["memory"]


def test_looking_where_nothing_is(call):
    for command in ("status", "verify", "claims", "export", "results"):
        result = call(command, "nowhere")
        assert result.exit_code == 2
        assert "nowhere: there is no such folder" in result.stderr


SMALL = ["--scale", "smoke", "--set", "epochs=3", "--set", "episodes=40", "--set", "size=5"]


def test_grid_switch(call, tmp_path):
    """Runs in processes of its own, is asked again, is looked at, judged and exported."""
    words = [
        "run",
        "fig2",
        *SMALL,
        "--variants",
        "benna-fusi",
        "--seeds",
        "2",
        "--out",
        "there",
    ]
    first = call(*words)
    assert first.exit_code == 0, first.stderr
    metrics = sorted((tmp_path / "there").rglob("metrics.jsonl"))
    assert len(metrics) == 2
    before = [path.read_bytes() for path in metrics]
    assert before[0] != before[1], "two seeds must differ"
    (tmp_path / "there/report.html").unlink()
    again = call(*words)
    assert again.exit_code == 0, again.stderr
    assert [path.read_bytes() for path in metrics] == before
    assert (tmp_path / "there/report.html").exists()

    other = call(*words, "--set", "agent.gamma=0.8")
    assert other.exit_code == 2
    assert "settings.agent.gamma is 0.9 in that run and 0.8 in this command" in other.stderr
    assert "or another folder: --out" in other.stderr

    mixed = call(*words[:-4], "--set", "agent.gamma=0.8", "--seed", "7", *words[-4:])
    assert mixed.exit_code == 2, "runs that are judged together must have the same settings"
    assert "settings.agent.gamma is 0.9 in that run and 0.8 in this command" in mixed.stderr

    assert call("status", "there").stdout.count("done") >= 2
    assert call("verify", "there").exit_code == 0
    assert json.loads(call("verify", "there", "--json").stdout)["problems"] == []
    judged = json.loads(call("claims", "there", "--json").stdout)["grid-switch"]
    assert all(claim["holds"] is None for claim in judged)
    few = "3 epochs of 40 episodes"
    assert {claim["measured"].split(",")[0] for claim in judged} == {f"too small to judge: {few}"}
    assert {claim["scale"].split("%")[1].split(",")[0] for claim in judged} == {
        f" of the paper's scale: {few}"
    }
    assert "too few data" in call("claims", "there").stdout
    assert call("export", "there", "--to", "all.csv").exit_code == 0
    assert (tmp_path / "all.csv").read_text().startswith("experiment,variant,seed,kind,")
    names = {path.name for path in (tmp_path / "there/grid-switch/figures").iterdir()}
    assert {"figure-2.png", "figure-2.svg", "figure-2.pdf", "value-functions.gif"} <= names

    assert call("results", "there", "--to", "kept").exit_code == 0
    for name in ("README.md", "claims.json", "numbers/summary.csv", "numbers/epochs.csv"):
        kept, there = (tmp_path / root / "grid-switch" / name for root in ("kept", "there"))
        assert kept.read_bytes() == there.read_bytes()
    assert "--set episodes=40" in kept.parents[1].joinpath("README.md").read_text(encoding="utf-8")

    seed = tmp_path / "there/grid-switch/benna-fusi/seed-0"
    newest = sorted((seed / "checkpoints").glob("*.npz"))[-1]
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    bad = call("verify", "there")
    assert bad.exit_code == 1
    for_programs = call("verify", "there", "--json")
    assert for_programs.exit_code == 1
    assert len(json.loads(for_programs.stdout)["problems"]) == 1
    assert bad.stdout.startswith("bad there/grid-switch/benna-fusi/seed-0: ")

    config = seed / "config.json"
    text = config.read_text()
    for content in (text.replace("grid-switch", "other"), "{"):
        config.write_text(content)
        result = call("claims", "there")
        assert result.exit_code == 1
        assert "left out: grid-switch/benna-fusi/seed-0: " in result.stderr

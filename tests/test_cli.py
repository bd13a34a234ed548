"""The command line: what it says, and what it refuses."""

import json
import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from bennafusi import cli


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *words: CliRunner().invoke(cli.app, words, prog_name="bennafusi")


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
    assert result.stdout.startswith("memory")


def test_version(call):
    assert call("--version").stdout == f"bennafusi {version('bennafusi')}\n"


def test_unknown_experiment(call, tmp_path):
    result = call("run", "memry", "--out", "there")
    assert result.exit_code == 2
    assert result.stderr == "error: unknown experiment 'memry'. Did you mean 'memory'?\n"
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
    monkeypatch.setitem(cli.EXPERIMENTS, "memory", cli.Experiment("", fail))
    result = call("run", "memory")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: RuntimeError: out of paint\n")
    with pytest.raises(RuntimeError, match="out of paint"):
        raise call("run", "memory", "--debug").exception


def test_a_run_from_the_shell(tmp_path):
    words = ["run", "memory", "--scale", "smoke", "--out", "there", "--seed", "1"]
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
    written = {path.name for path in (tmp_path / "there").iterdir()}
    drawn = {
        f"memory-{name}.{kind}" for name in ("snr", "lifetime", "kernel") for kind in ("png", "svg")
    }
    assert written == {"memory.json", "report.html"} | drawn
    assert json.loads((tmp_path / "there/memory.json").read_text())["settings"]["seed"] == 1
    page = (tmp_path / "there/report.html").read_text(encoding="utf-8")
    assert "bennafusi run memory --scale smoke --seed 1" in page
    assert str(tmp_path) not in page

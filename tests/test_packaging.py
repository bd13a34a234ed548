"""What the package says of itself; `make packages` installs it for real."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bennafusi
from bennafusi.__main__ import NEEDED

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements):
    return {re.match(r"[\w-]+", line)[0].lower() for line in requirements}


def test_the_library_brings_jax_optax_numpy_and_scipy_alone():
    assert names(PROJECT["dependencies"]) == {"jax", "optax", "numpy", "scipy"}


@pytest.fixture
def packages(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("packages")


def test_with_the_oldest_versions_the_tests_without_peers_are_run(packages):
    chosen = {path.stem for path in packages.own_tests()}
    assert {"test_chain", "test_transform", "test_scheme"} <= chosen
    assert chosen.isdisjoint({"test_reach", "test_readout", "test_torch", "test_tools"})


def test_the_oldest_versions_that_are_allowed_are_those_that_are_tried(packages):
    tried = dict(words.split("==") for words in packages.OLDEST)
    allowed = dict(words.split(">=") for words in PROJECT["dependencies"])
    assert tried.keys() == allowed.keys()
    for name, version in allowed.items():
        assert tried[name] == version + ".0" * (tried[name].count(".") - version.count("."))


def test_every_extra_is_installed_and_used(packages):
    extras = set(PROJECT["optional-dependencies"]) - {"dev"}  # what `make test` installs
    assert extras | {"core", "sdist", "oldest"} == set(packages.CHECKS)


def test_it_says_where_the_paper_is_and_nothing_that_is_not_there():
    assert set(PROJECT["urls"]) == {"Paper"}
    pythons = [c for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    tried = ["3.11", "3.12", "3.13"]
    assert pythons == [f"Programming Language :: Python :: {version}" for version in tried]


def test_the_command_asks_for_all_that_its_extra_brings():
    assert set(NEEDED) <= names(PROJECT["optional-dependencies"]["experiments"])


def test_without_its_packages_the_command_says_in_one_line_what_to_install():
    program = (
        "import sys; sys.modules['typer'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name: None if name == 'typer' else find(name)\n"
        "from bennafusi.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        "bennafusi: the command needs typer: pip install 'bennafusi[experiments]'\n"
    )


def test_the_version_stands_once():
    assert "version" in PROJECT["dynamic"]
    assert f"version: {bennafusi.__version__}" in (ROOT / "CITATION.cff").read_text()

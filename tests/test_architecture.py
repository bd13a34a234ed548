"""The house rules that a machine can check."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bennafusi"
FILES = sorted(SOURCE.rglob("*.py"))

# A room may import from the rooms named here and from no other.
MAY_IMPORT = {
    "synapse": set(),
    "rivals": {"synapse"},
    "envs": {"synapse"},
    "agents": {"synapse", "envs"},
    "training": {"synapse", "envs", "agents"},
    "experiments": {"synapse", "rivals", "envs", "agents", "training"},
    "runs": set(),
    "report": set(),
    "cli": {"experiments", "runs", "report"},
}
ENTRANCES = {"__init__.py", "__main__.py", "torch.py"}  # may import from everywhere
COMMON = {"files", "results", "text"}  # import nothing of ours, and every room may import them


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a name comes from"
            if node.module != "bennafusi" or {a.name for a in node.names} - COMMON:
                yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(path):
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else None


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    here = room(path)
    if here is None:
        assert path.name in ENTRANCES or path.stem in COMMON, f"{path.name} belongs into a room"
        ours = [name for name in imports(path) if name.startswith("bennafusi")]
        assert path.name in ENTRANCES or ours == [], f"{path.name} must import nothing of ours"
        return
    assert here in MAY_IMPORT, f"a new room, {here}: say in this test what it may import"
    for name in imports(path):
        if name == "bennafusi":
            pytest.fail(f"{path} imports the whole package")
        match = re.match(r"bennafusi\.(\w+)", name)
        if match and match[1] != here and (SOURCE / match[1]).is_dir():
            assert match[1] in MAY_IMPORT[here], f"{path} must not import {name}"


def test_private_names_stay_in_their_file():
    for path in FILES:
        for name in imports(path):
            private = name.startswith("bennafusi.") and re.search(r"\._[a-z]", name)
            assert not private, f"{path} imports {name}"


@pytest.mark.parametrize("here", ["synapse", "rivals"])
def test_the_library_needs_only_jax_optax_numpy_and_scipy(here):
    allowed = {"bennafusi", "jax", "optax", "numpy", "scipy", "torch"}
    import sys

    for path in (SOURCE / here).glob("*.py"):
        for name in imports(path):
            top = name.split(".")[0]
            assert top in allowed or top in sys.stdlib_module_names, f"{path} imports {name}"
            if top == "torch":
                assert path.name.startswith("torch")


FORBIDDEN_MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "random",
}


def call_name(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def offences(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
            )
            for name in names:
                if name.split(".")[0] in FORBIDDEN_MODULES:
                    yield f"imports {name}"
        if isinstance(node, ast.Call):
            name = call_name(node.func)
            if name in {"eval", "exec", "compile", "__import__"}:
                yield f"calls {name}"
            if re.match(r"(np|numpy)\.random\.(?!default_rng|Generator|SeedSequence)", name):
                yield f"uses global random state, {name}"
            if name in {"torch.manual_seed", "torch.seed"}:
                yield f"uses global random state, {name}"
            for keyword in node.keywords:
                if (
                    keyword.arg == "allow_pickle"
                    and getattr(keyword.value, "value", None) is not False
                ):
                    yield "allows pickle"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_pickle_no_eval_no_global_random_state(path):
    assert list(offences(ast.parse(path.read_text()))) == []


def test_the_rule_itself_catches_offenders():
    bad = """
import pickle
from random import choice
eval('1')
np.random.normal()
np.load(f, allow_pickle=True)
"""
    assert len(list(offences(ast.parse(bad)))) == 5


def test_help_and_workers_do_not_wait_for_jax():
    """A worker needs its signal handlers before JAX starts; see bennafusi/__init__.py."""
    import subprocess
    import sys

    program = "import sys, bennafusi.cli, bennafusi.runs.worker; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_rivals_are_not_imported_unasked():
    import subprocess
    import sys

    program = "import sys, bennafusi; bennafusi.Chain; sys.exit('bennafusi.rivals' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_every_public_name_is_there():
    import bennafusi

    assert sorted(bennafusi.__all__) == dir(bennafusi)
    for name in bennafusi.__all__:
        assert getattr(bennafusi, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = bennafusi.nothing

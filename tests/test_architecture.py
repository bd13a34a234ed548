"""The house rules that a machine can check."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bennafusi"
FILES = sorted(SOURCE.rglob("*.py"))

PAGE = (ROOT / "docs" / "architecture.md").read_text()


def drawn(kind):
    """The blocks of that kind on the page, as pairs of what stands before and after a colon."""
    for block in re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S):
        yield [tuple(part.strip() for part in line.split(":")) for line in block.splitlines()]


# A room may import from the rooms that the page names, and from no other.
MAY_IMPORT = {
    room: {name.strip() for name in names.split(",") if name.strip()}
    for room, names in next(drawn("imports"))
}
ENTRANCES = {"__init__.py", "__main__.py", "torch.py"}  # may import from everywhere
COMMON = {room for room in MAY_IMPORT if (SOURCE / f"{room}.py").exists()}


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


def uses(path):
    """The rooms that a file imports from, its own left out."""
    here = room(path) or path.stem
    for name in imports(path):
        match = re.match(r"bennafusi\.(\w+)", name)
        if match and match[1] != here:
            yield match[1]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    here = room(path) or path.stem
    if path.name in ENTRANCES and room(path) is None:
        return
    assert here in MAY_IMPORT, f"a new room, {here}: say in docs/architecture.md what it imports"
    assert "bennafusi" not in imports(path), f"{path} imports the whole package"
    assert set(uses(path)) <= MAY_IMPORT[here], f"{path} imports what its room must not"


def test_the_drawing_has_no_arrow_that_nobody_needs():
    found = {name: set() for name in MAY_IMPORT}
    for path in FILES:
        if path.name not in ENTRANCES or room(path) is not None:
            found[room(path) or path.stem] |= set(uses(path))
    assert found == MAY_IMPORT


@pytest.mark.parametrize("steps", [*drawn("path")], ids=lambda steps: steps[0][0])
def test_the_way_of_a_datum_is_that_of_the_imports(steps):
    files = [SOURCE / f"{name.replace('.', '/')}.py" for name, _ in steps]
    assert all(path.exists() for path in files), [str(path) for path in files]
    for path, (after, _) in zip(files, steps[1:], strict=False):
        assert f"bennafusi.{after}" in imports(path), f"{path} does not import {after}"


def test_no_two_modules_or_packages_of_one_name():
    """A name in a message says which file it is; ``torch`` is one thing, and its entrance."""
    files = [path.stem for path in FILES if path.stem not in {"__init__", "__main__", "torch"}]
    folders = {path.parent for path in FILES if path.stem == "__init__"}
    names = [*files, *(folder.name for folder in folders)]
    assert sorted(names) == sorted(set(names))


def test_no_function_is_long():
    """Sixty lines and a docstring: that of a public function may take as long as it needs."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[1 if ast.get_docstring(node) and node.body[1:] else 0]
                signature = node.body[0].lineno - node.lineno
                lines = signature + node.end_lineno - first.lineno + 1
                assert lines <= 60, f"{path}: {node.name} has {lines}"


def test_private_names_stay_in_their_file():
    for path in FILES:
        for name in imports(path):
            private = name.startswith("bennafusi.") and re.search(r"\._[a-z]", name)
            assert not private, f"{path} imports {name}"


def test_only_entrances_pass_names_on():
    """Elsewhere a name is imported from where it is defined; mypy keeps ``import x`` from it."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and path.name not in ENTRANCES:
                passed = [alias.name for alias in node.names if alias.name == alias.asname]
                assert not passed, f"{path} passes on {passed}"


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

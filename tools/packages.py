"""Build the packages, install each extra in a fresh environment, and use it as a stranger would.

``make packages`` runs all of it; ``python tools/packages.py core torch`` only what is named. Needs
a package index, and takes minutes: each environment is a real one.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_BYTES = 2_000_000  # of a wheel, and of an sdist
CORE = {"jax", "jaxlib", "optax", "numpy", "scipy"}
# What those bring along themselves.
TRANSITIVE = {"absl-py", "ml-dtypes", "opt-einsum"}
PEERS = {"torch", "flax", "equinox", "orbax"}  # some of them ask for a newer JAX themselves
OLDEST = ("jax==0.8.0", "optax==0.2.5", "numpy==2.0.0", "scipy==1.14.0")
SMOKE = "--scale smoke --seeds 1 --out out"
GRID = f"bennafusi run grid-switch --variants control {SMOKE}"
MKDOCS = "NO_MKDOCS_2_WARNING=1 python -m mkdocs build --strict --quiet --site-dir"
# Extras that have no check of their own: what each is for, typed into a shell, and what is there
# afterwards.
EXTRAS = {
    "digits": (f"bennafusi run rivals-digits {SMOKE}", "out/report.html"),
    "tensorboard": (f"{GRID} --tensorboard", "out/tensorboard/**/events.out.tfevents.*"),
    "wandb": (f"WANDB_MODE=offline {GRID} --wandb", "wandb/offline-run-*/*.wandb"),
    "video": (
        "bennafusi train --episodes 10 --out out && "
        "bennafusi watch out --episodes 1 --out film.mp4",
        "film.mp4",
    ),
    "gymnax": (
        "bennafusi train --task gymnax/CartPole-v1 --steps 2000 --out out",
        "out/**/final.npz",
    ),
    "docs": (f'here="$PWD" && cd "{ROOT}" && {MKDOCS} "$here/site"', "site/index.html"),
}


class Fresh:
    """An environment with nothing in it but what is installed here."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.bin = folder / "bin"
        run([python, "-m", "venv", folder])

    def install(self, *what: str | Path, pinned: bool = True) -> None:
        """Install packages, in the versions that were tested together unless told otherwise."""
        pins = ["--constraint", ROOT / "constraints.txt"] if pinned else []
        pip = [self.bin / "python", "-m", "pip", "--disable-pip-version-check", "install"]
        run([*pip, "--quiet", *pins, *what])

    def packages(self) -> set[str]:
        """The names of all that is installed, but for pip itself."""
        listed = run([self.bin / "python", "-m", "pip", "list", "--format=freeze"]).stdout
        names = {re.split(r"==| @ ", line)[0].lower().replace("_", "-") for line in listed.split()}
        return names - {"pip", "setuptools", "bennafusi"}

    def python(self, program: str) -> str:
        """What a program prints."""
        return run([self.bin / "python", "-c", program], cwd=self.bin.parent).stdout

    def shell(self, line: str) -> None:
        """A line as it is typed where this environment is active."""
        run(["bash", "-c", f'PATH="{self.bin}:$PATH"; {line}'], cwd=self.bin.parent)

    def command(self, *words: str, fails: bool = False) -> str:
        """What the command ``bennafusi`` prints."""
        done = run([self.bin / "bennafusi", *words], cwd=self.bin.parent, check=not fails)
        if fails and done.returncode == 0:
            raise SystemExit(f"bennafusi {' '.join(words)}: should have failed")
        return done.stdout + done.stderr


def run(
    words: Sequence[str | Path], cwd: Path = ROOT, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a program; if it fails, show what it said and stop."""
    # Sources on the path of whoever calls would stand in for what is installed.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=cwd, env=env, text=True, capture_output=True, check=False)
    if check and done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done


def build(folder: Path) -> Path:
    """The wheel, after a look at its size and the sdist's."""
    run([sys.executable, "-m", "build", "--outdir", folder, ROOT])
    for path in sorted(folder.iterdir()):
        size = path.stat().st_size
        print(f"{path.name}: {size / 1e3:.0f} kB")
        require(size < MOST_BYTES, f"{path.name} has {size} bytes, more than {MOST_BYTES}")
    return next(folder.glob("*.whl"))


def blocks(name: str) -> list[str]:
    """The Python of a page that a user may copy."""
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.S)


def require(holds: bool, text: str) -> None:
    """Stop, unless it holds."""
    if not holds:
        raise SystemExit(text)


def core(wheel: Path, fresh: Fresh) -> None:
    """Only what an optax user has anyway; the README's first block runs; the command says how."""
    fresh.install(wheel)
    extra = fresh.packages() - CORE - TRANSITIVE
    require(not extra, f"core brings {', '.join(sorted(extra))}")
    for block in blocks("README.md"):
        if "torch" not in block:
            print(fresh.python(block).strip())
    said = fresh.command("list", fails=True)
    require("pip install 'bennafusi[experiments]'" in said, f"the command says {said!r}")
    said = run([fresh.bin / "python", "-c", "import bennafusi.torch"], check=False).stderr
    require("bennafusi[torch]" in said, f"bennafusi.torch without torch says {said!r}")


def sdist(wheel: Path, fresh: Fresh) -> None:
    """The same from the source package, of which pip makes a wheel of its own."""
    core(next(wheel.parent.glob("*.tar.gz")), fresh)


def torch(wheel: Path, fresh: Fresh) -> None:
    """The PyTorch side, without anything of the experiments."""
    fresh.install("torch")
    fresh.install(f"{wheel}[torch]")
    require("matplotlib" not in fresh.packages(), "torch brings what only experiments need")
    for block in blocks("README.md"):
        if "torch" in block:
            print(fresh.python(block).strip())


def experiments(wheel: Path, fresh: Fresh) -> None:
    """The command, an experiment, its report, and the tasks of Gymnasium without an import."""
    fresh.install(f"{wheel}[experiments]")
    require("grid-switch" in fresh.command("list"), "list does not know grid-switch")
    fresh.command(
        "run", "memory", "grid-switch", "--scale", "smoke", "--seeds", "1", "--out", "out"
    )
    require((fresh.bin.parent / "out" / "report.html").exists(), "no report was made")
    task = "gymnasium.make('bennafusi.envs:bennafusi/Catcher-v0')"
    print(fresh.python(f"import gymnasium; print({task}.reset(seed=0)[0])").strip())


def dask(wheel: Path, fresh: Fresh) -> None:
    """A run on a cluster of this machine alone."""
    fresh.install(f"{wheel}[dask]")
    words = ["run", "grid-switch", "--scale", "smoke", "--seeds", "1", "--variants", "control"]
    fresh.command(*words, "--engine", "dask", "--workers", "1", "--out", "out")


def extra(name: str, wheel: Path, fresh: Fresh) -> None:
    """One of :data:`EXTRAS` does what it is for."""
    line, made = EXTRAS[name]
    fresh.install(f"{wheel}[{name}]")
    fresh.shell(line)
    require(any(fresh.bin.parent.glob(made)), f"{line}: made no {made}")


def oldest(wheel: Path, fresh: Fresh) -> None:
    """The oldest JAX that we say we support passes the library's own tests."""
    fresh.install(wheel, *OLDEST, "hypothesis", "pytest", "pytest-timeout", pinned=False)
    print("with", *OLDEST)
    pytest = [fresh.bin / "python", "-m", "pytest", "--override-ini=addopts=", "-q"]
    done = run([*pytest, *own_tests(), "--rootdir", ROOT])
    print(done.stdout.strip().splitlines()[-1])


def own_tests() -> list[Path]:
    """The library's tests, but for those that import a peer."""
    found = (
        path
        for room in ("synapse", "properties")
        for path in (ROOT / "tests" / room).glob("test_*.py")
    )
    return sorted(path for path in found if not PEERS & imported(path))


def imported(path: Path) -> set[str]:
    """All words of the names that a file imports, wherever it does."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = (alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names)
    parts = (node.module or "" for node in nodes if isinstance(node, ast.ImportFrom))
    return {word for name in (*plain, *parts) for word in name.split(".")}


CHECKS: dict[str, Callable[[Path, Fresh], None]] = {
    **{check.__name__: check for check in (core, sdist, torch, experiments, dask, oldest)},
    **{name: partial(extra, name) for name in EXTRAS},
}


def chosen(words: Sequence[str]) -> Iterator[tuple[str, Callable[[Path, Fresh], None]]]:
    """The checks that were asked for, all if none was."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = ", ".join(CHECKS)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"of {known}; all if none")
    names = parser.parse_args(words).checks or list(CHECKS)
    require(set(names) <= set(CHECKS), f"{', '.join(names)}: choose from {known}")
    yield from ((name, CHECKS[name]) for name in names)


def main(words: Sequence[str]) -> None:
    """Build, then check one extra after another."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        checks = list(chosen(words))
        wheel = build(folder / "dist")
        for name, check in checks:
            print(f"--- {name}")
            check(wheel, Fresh(folder / name))
            shutil.rmtree(folder / name)
    print("all packages work")


if __name__ == "__main__":
    main(sys.argv[1:])

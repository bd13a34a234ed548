"""What the API reference promises, and what of it is missing. Reads source, imports no JAX."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import bennafusi

# Modules of which every public class and function, and their public methods, must be documented.
MODULES = (
    "bennafusi.synapse.retention",
    "bennafusi.synapse.equation",
    "bennafusi.synapse.scheme",
    "bennafusi.envs.grid",
    "bennafusi.envs.cartpole",
    "bennafusi.envs.catcher",
    "bennafusi.envs.control",
    "bennafusi.envs.task",
    "bennafusi.envs.gym",
    "bennafusi.agents.q_lambda",
    "bennafusi.agents.soft_q",
    "bennafusi.agents.networks",
    "bennafusi.agents.chains",
    "bennafusi.agents.policies",
    "bennafusi.agents.replay",
    "bennafusi.agents.reservoir_replay",
    "bennafusi.agents.cascade_replay",
    "bennafusi.agents.adam",
    "bennafusi.training.tabular_settings",
    "bennafusi.training.tabular",
    "bennafusi.training.deep_settings",
    "bennafusi.training.changes",
    "bennafusi.training.deep_loop",
    "bennafusi.training.deep_state",
    "bennafusi.training.rollout",
    "bennafusi.runs.job",
    "bennafusi.runs.plan",
    "bennafusi.runs.worker",
    "bennafusi.runs.local",
    "bennafusi.runs.config",
    "bennafusi.experiments.experiment",
    "bennafusi.experiments.registry",
    "bennafusi.results",
    "bennafusi.experiments.statistics",
)
Definition = ast.ClassDef | ast.FunctionDef


def complaints(reference: str) -> list[str]:
    """What is wrong with an API reference, given as the HTML of its pages; [] if nothing is."""
    found = []
    for name, home in promised():
        if f'id="{name}"' not in reference:
            found.append(f"{name}: not in the API reference; add it to a page of docs/api")
        for place, node in _public(home):
            if ast.get_docstring(node) is None:
                found.append(f"{place}: has no docstring")
    return found


def promised() -> Iterator[tuple[str, tuple[str, Definition]]]:
    """Every name by which a user finds something, and where it is defined."""
    for name in bennafusi.__all__:
        if name != "__version__":
            yield f"bennafusi.{name}", _find(f"bennafusi.synapse.{bennafusi._HOMES[name]}", name)
    for entrance in ("bennafusi.torch", "bennafusi.rivals", "bennafusi.metrics"):
        for node in _tree(entrance).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    yield f"{entrance}.{alias.name}", _find(node.module, alias.name)
    for module in MODULES:
        for node in _tree(module).body:
            if isinstance(node, Definition) and not node.name.startswith("_"):
                yield f"{module}.{node.name}", (f"{module}.{node.name}", node)


def _public(home: tuple[str, Definition]) -> Iterator[tuple[str, Definition]]:
    """A definition and, of a class, its public methods."""
    place, node = home
    yield home
    for part in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
            yield f"{place}.{part.name}", part


def _find(module: str, name: str) -> tuple[str, Definition]:
    for node in _tree(module).body:
        if isinstance(node, Definition) and node.name == name:
            return f"{module}.{name}", node
    raise LookupError(f"{module} defines no {name}")


def _tree(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    assert spec is not None, module
    assert spec.origin is not None, module
    return ast.parse(Path(spec.origin).read_text())

"""What there is below a folder, as far as it can be read.

What cannot be relied on is named as a problem and left out, by everybody alike.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bennafusi.experiments import registry
from bennafusi.experiments.experiment import Experiment
from bennafusi.files import RunError
from bennafusi.results import Finding, RunData
from bennafusi.runs import load as loading
from bennafusi.runs.config import from_json
from bennafusi.runs.folder import Folder
from bennafusi.runs.job import RunSpec
from bennafusi.runs.overview import Row, row_of

_DEPTH = 3  # a run lies in out/experiment/variant/seed


class Group(NamedTuple):
    """The runs of one experiment that belong together: one ``--out``, one set of settings."""

    experiment: Experiment
    where: str  # the folder they lie in, below the one that was named; empty if it is that one
    settings: dict[str, Any]  # of all of them, as plain JSON
    environment: dict[str, Any]  # what the first of them ran on
    folders: dict[tuple[str, int], Folder]  # of the runs, by variant and seed
    rows: list[Row]

    @property
    def base(self) -> Any:
        """The settings of all of them, as its experiment has them."""
        return from_json(type(self.experiment.settings("paper")), self.settings)

    def judge(self, runs: list[RunData]) -> list[Finding]:
        """The claims of its experiment about its runs, each with how far those are."""
        found = self.experiment.judge(runs, self.base)
        judged = {(r.variant, r.seed) for r in runs if r.seconds is None and not r.failed}
        left = [r.done / r.total for r in self.rows if (r.variant, r.seed) in judged and r.total]
        if not left:
            return found
        so_far = f"; {len(left)} of {len(runs)} runs unfinished, the least far at {min(left):.0%}"
        return [one._replace(scale=one.scale + so_far) if one.scale else one for one in found]

    def scored(self, runs: list[RunData]) -> list[tuple[str, dict[str, float]]]:
        """Of each run its variant, and the numbers by which it is known."""
        return [(run.variant, self.experiment.scores(run)) for run in runs]

    def spec(self, variant: str, seed: int) -> RunSpec:
        """What one of its runs is."""
        return RunSpec(self.experiment.name, variant, seed, self.settings)


class Gathered(NamedTuple):
    """Everything below a folder: runs in groups, and in sentences what is not shown of it.

    Attributes:
        groups: the runs.
        problems: what could not be read or relied on.
        too_many: what is whole, but does not fit on a page.
    """

    groups: list[Group]
    problems: list[str]
    too_many: list[str]


def gather(root: Path, *, apart: bool = True) -> Gathered:
    """All runs below a folder, grouped; what cannot be read is named and left out.

    With ``apart``, runs of different ``--out`` are different groups, with equal settings too.

    Raises:
        RunError: if there is nothing at all.
    """
    return _gathered(root, loading.plans(root), loading.find(root), apart)


def own(root: Path, out: Path, experiment: Experiment) -> tuple[Group | None, list[str]]:
    """The runs of an experiment where ``run --out`` places them, and what cannot be read of them.

    Runs elsewhere below the folder may have other settings, and are not asked. What is said leaves
    out ``root``.
    """
    where = out / experiment.name
    folders = [f for f in loading.find(where) if len(f.path.relative_to(out).parts) == _DEPTH]
    found = _gathered(root, loading.plans(where), folders, apart=True)
    mine = (group for group in found.groups if group.experiment is experiment)
    return next(mine, None), found.problems


def together(root: Path) -> Gathered:
    """All runs below a folder, one group for each experiment.

    Raises:
        RunError: if there are none, or some that cannot be judged together.
    """
    found = gather(root, apart=False)
    first: dict[str, Group] = {}
    for group in found.groups:
        other = first.setdefault(group.experiment.name, group)
        if other is not group:
            one, two = (next(iter(g.folders.values())).path for g in (other, group))
            raise RunError(
                f"{one} and {two} have different settings and cannot be judged together; name a "
                "folder that holds one of them"
            )
    return found


def load(root: Path, group: Group, problems: list[str]) -> list[RunData]:
    """The records of a group's runs; those of a long run take much memory, so not before it is due.

    Those that cannot be relied on are added to ``problems``.
    """
    loaded = loading.load_folders(group.folders[row.variant, row.seed] for row in group.rows)
    problems += (relative(root, f"{one.folder}: {one.text}") for one in loaded.problems)
    runs = []
    for run in loaded.runs:
        if not all(isinstance(record.get("kind"), str) for record in run.records):
            problems.append(relative(root, f"{run.folder.metrics}: has a line without a kind"))
            continue
        seconds = run.status.seconds if run.over else None
        failed = run.status.reason or "" if run.status.state == "failed" else ""
        if run.records or failed:  # one that ended at once is an answer too
            runs.append(RunData(run.spec.variant, run.spec.seed, run.records, seconds, failed))
    return runs


def relative(root: Path, text: str) -> str:
    """A message without where the folder lies: a report may be handed on.

    Example:
        >>> relative(Path("there/runs"), "there/runs/a/config.json: is not there")
        'a/config.json: is not there'
        >>> relative(Path("s"), "s/memory/s/a: see results/a")
        'memory/s/a: see results/a'
    """
    for name in {str(root), str(root.resolve())} - {"."}:
        # Where a path begins, not in the middle of another or of a word.
        before = r"[\w.~-]" if os.path.isabs(name) else r"[\w.~/-]"
        text = re.sub(f"(?<!{before}){re.escape(name + os.sep)}", "", text)
    return text


def signature(root: Path) -> dict[str, tuple[int, int]]:
    """What changes when a run goes on: size and time of each file that a report reads."""
    found = {}
    for path, folders, names in os.walk(root, followlinks=False):
        if "config.json" in names:
            folders.clear()
        for name in {"config.json", "metrics.jsonl", "status.json"} & set(names):
            try:
                seen = os.stat(os.path.join(path, name))
            except OSError:
                continue  # replaced at this moment; the next look finds it
            found[os.path.join(path, name)] = (seen.st_size, seen.st_mtime_ns)
    return found


def _gathered(
    root: Path, plans: Iterable[loading.Plan], folders: Iterable[Folder], apart: bool
) -> Gathered:
    """These runs, grouped; what is said leaves out ``root``."""
    problems = [relative(root, problem) for plan in plans for problem in plan.problems]
    groups: dict[str, Group] = {}
    for folder in folders:
        try:
            _take(root, folder, groups, apart)
        except (RunError, registry.UnknownError, OSError) as error:
            problems.append(relative(root, f"{folder.path}: {error}"))
    found = [g._replace(rows=g.experiment.in_order(g.rows)) for g in groups.values()]
    return Gathered(found, problems, [])


def _take(root: Path, folder: Folder, groups: dict[str, Group], apart: bool) -> None:
    """Add a run to the group it belongs to."""
    spec, environment = folder.read_config()
    experiment = registry.find(spec.experiment)
    row = row_of(folder)
    if row.state == "unreadable":
        raise RunError(str(row.reason))
    # Of ``.`` and what is below it, the name alone does not say where it lies.
    root, out = root.absolute(), folder.path.absolute().parents[:_DEPTH][-1]
    where = os.path.relpath(out, root) if out.is_relative_to(root) and out != root else ""
    key = json.dumps([experiment.name, str(out) if apart else "", spec.settings], sort_keys=True)
    group = groups.setdefault(key, Group(experiment, where, spec.settings, {}, {}, []))
    name = (spec.variant, spec.seed)
    if name in group.folders:
        raise RunError(f"{spec.variant}, seed {spec.seed} is there twice")
    group.folders[name] = folder
    group.rows.append(row)
    if not group.environment:
        group.environment.update(environment or {})

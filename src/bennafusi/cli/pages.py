"""From gathered runs to the sections of a report."""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bennafusi.cli import results
from bennafusi.cli.catalogue import Entry, find, make_job
from bennafusi.cli.gather import Gathered, Group, attempt, gather, load, relative
from bennafusi.results import Exhibit, Picture, Provenance, Section, Table

TITLE = "Benna-Fusi synapses: what came out"
MOST_ALIKE = 6  # sections of one experiment, each with settings of its own


class Plays:
    """Episodes of trained agents; each is played again only when its run has gone on.

    Args:
        pause: seconds before a run that goes on is played again; playing takes longer than drawing.
    """

    def __init__(self, pause: float = 60.0) -> None:
        self.pause = pause
        self._kept: dict[Path, tuple[float, int, list[dict[str, Any]]]] = {}

    def of(self, folder: Any, spec: Any, row: Any) -> list[dict[str, Any]]:
        """One episode of each task by the newest network of a run; none if there is no network."""
        if folder.path in self._kept:
            since, then, played = self._kept[folder.path]
            fresh = time.monotonic() - since < self.pause and row.state != "done"
            if then == row.done or fresh:
                return played
        from bennafusi.experiments.deep import play

        job = make_job(spec)
        arrays = None if play.tasks(job) is None else _network(folder)  # a table does not play
        if arrays is None:
            return []
        params = play.network(job.settings, arrays)
        played = play.plain(job.settings, params, spec.variant, spec.seed, row.done)
        self._kept[folder.path] = (time.monotonic(), row.done, played)
        return played


def write(
    path: Path, root: Path, plays: Plays | None, ready: Mapping[str, Section] | None = None
) -> Gathered:
    """Write the report of everything below a folder.

    Args:
        path: the file.
        root: the folder.
        plays: who plays the trained agents; nobody if None.
        ready: sections whose claims and figures there are already, by experiment.

    Returns:
        What was found.

    Raises:
        RunError: if there is nothing below the folder.
    """
    from bennafusi.report import html

    found = gather(root)
    with tempfile.TemporaryDirectory() as drawn:
        # Pictures are read when the page is written: until then they must be there.
        made = _sections(root, found, Path(drawn), plays, ready or {})
        try:
            html.write(path, TITLE, made, found.problems)
        except OSError:
            raise
        except Exception:  # one strange section must not cost the others
            html.write(path, TITLE, _sound(root, made, found.problems), found.problems)
    return found


def swept(section: Section, command: str, settings: Mapping[str, object]) -> Section:
    """The summary of a sweep, and the command that made it."""
    from bennafusi.experiments.memory.experiment import versions

    none = Table("runs", "Each point has a section of its own", ("seed",), [])
    return replace(section, provenance=Provenance(command, None, 0, none, versions(), settings))


def _sound(root: Path, sections: list[Section], problems: list[str]) -> list[Section]:
    """The sections of which a page can be made; the others are named."""
    from bennafusi.report import html

    def alone(section: Section) -> bool:
        return bool(html.render("", [section]))

    return [s for s in sections if attempt(s.name, problems, root, partial(alone, s), False)]


def _sections(
    root: Path, found: Gathered, drawn: Path, plays: Plays | None, ready: Mapping[str, Section]
) -> list[Section]:
    names = [group.entry.name for group in found.groups]
    sections: list[Section] = []
    for number, file in enumerate(found.memories):
        judged = ready.get("memory") if len(found.memories) == 1 else None
        make = partial(_memory, file, drawn / f"m{number}", judged)
        section: Section | None = attempt("memory", found.problems, root, make, None)
        sections += [section] if section else []
    several = {name: names.count(name) for name in names if names.count(name) > 1}
    # Of many sets of settings, that is of a sweep, there may be a summary.
    sections += [replace(ready[name], name=f"{name}: summary") for name in several if name in ready]
    for number, group in enumerate(found.groups):
        single = group.entry.name not in several
        if names[:number].count(group.entry.name) >= MOST_ALIKE:
            continue
        judged = ready.get(group.entry.name) if single else None
        runs = load(root, group, found.problems)
        one = _durable(root, group, runs, drawn / f"g{number}", plays, judged)
        sections.append(one if single else _placed(one, group))
    found.problems.extend(
        f"{name}: {count - MOST_ALIKE} more sets of settings; name the folder of one to see it"
        for name, count in several.items()
        if count > MOST_ALIKE
    )
    return sections


def _placed(section: Section, group: Group) -> Section:
    """Several of one experiment are told apart by where they lie."""
    where = group.where or "here"
    return replace(section, name=f"{section.name} ({where})", title=f"{section.title} ({where})")


def _durable(
    root: Path,
    group: Group,
    runs: list[Any],
    drawn: Path,
    plays: Plays | None,
    ready: Section | None,
) -> Section:
    module, entry = group.entry.load(), group.entry
    problems: list[str] = []
    tried = (problems, root)
    if ready is None:
        draw = getattr(module, "stills", module.figures)
        findings: list[Any] = attempt("the claims", *tried, lambda: module.claims(runs), [])
        drawings: list[Any] = (
            attempt("the figures", *tried, lambda: draw(runs, drawn), []) if runs else []
        )
        tables: list[Any] = attempt("the numbers", *tried, lambda: module.numbers(runs), [])
        ready = results.section(entry, findings, drawings, tables)
    exhibits: list[Exhibit] = []
    for what, make in _exhibits(group, runs, ready, plays).items():
        exhibits += attempt(what, *tried, make, [])
    for row in group.rows:
        reason = f": {row.reason}" if row.reason else ""
        if row.state in ("failed", "unreadable"):
            problems.append(relative(root, f"{row.variant}, seed {row.seed}, {row.state}{reason}"))
    if not runs:
        problems.append("No run has written anything yet.")
    origin = attempt("how it was run", *tried, lambda: _provenance(group), None)
    return replace(
        ready,
        name=entry.name,
        pictures=_without_films(ready.pictures),
        exhibits=exhibits,
        provenance=origin,
        problems=problems,
    )


def _exhibits(
    group: Group, runs: list[Any], section: Section, plays: Plays | None
) -> dict[str, Callable[[], list[Exhibit]]]:
    """What can be moved, by name; nothing is made before it is called."""
    from bennafusi.experiments import exhibits

    found: dict[str, Callable[[], list[Exhibit]]] = {
        "seeds apart": lambda: exhibits.seeds(section.tables),
        "the value functions": lambda: exhibits.values(runs),
        "the beakers": lambda: exhibits.beakers(
            runs, {run.variant: _timescales(group, run) for run in runs}
        ),
    }
    if plays is not None:
        found["the agent at play"] = lambda: _playing(group, runs, plays)
    return found


def _timescales(group: Group, run: Any) -> list[float]:
    """Of the beakers of a deep agent, in updates."""
    settings = make_job(_spec(group, run)).settings
    chain = getattr(settings, "chain", None)
    return [] if chain is None else chain.chain.timescales.tolist()


def _playing(group: Group, runs: list[Any], plays: Plays) -> list[Any]:
    from bennafusi.experiments.deep import play

    rows = {(row.variant, row.seed): row for row in group.rows}
    played: list[dict[str, Any]] = []
    for run in play.chosen(runs):
        name = (run.variant, run.seed)
        played += plays.of(group.folders[name], _spec(group, run), rows[name])
    return play.exhibit(played)


def _spec(group: Group, run: Any) -> Any:
    from bennafusi.runs.job import RunSpec

    return RunSpec(group.entry.name, run.variant, run.seed, group.settings)


def _network(folder: Any) -> dict[str, Any] | None:
    """The arrays of the newest network of a run: of its end, else of its newest checkpoint."""
    from bennafusi import files
    from bennafusi.runs import checkpoint, tree
    from bennafusi.runs.checkpoint import CheckpointError

    if folder.final.exists():
        return tree.unpack(files.read(folder.final))
    numbers = checkpoint.numbers(folder.checkpoints) if folder.checkpoints.is_dir() else []
    for number in reversed(numbers):
        try:
            manifest, arrays = checkpoint.read(folder.checkpoints, number)
        except CheckpointError:  # replaced by now, or damaged: the one before it may do
            continue
        start = "agent/params/"
        pairs = zip(manifest.leaves, arrays, strict=True)
        return {leaf[0].removeprefix(start): a for leaf, a in pairs if leaf[0].startswith(start)}
    return None


def _provenance(group: Group) -> Provenance:
    from bennafusi.runs.config import flat

    rows = group.rows
    words = _commands(group)
    return Provenance(
        command="\n".join(shlex.join(line) for line in words),
        seconds=sum(row.seconds for row in rows),
        done=sum(row.state == "done" for row in rows),
        runs=results.runs_table(rows),
        versions=group.environment,
        settings=flat(group.settings),
    )


def _commands(group: Group) -> list[list[str]]:
    if group.entry.name != "train":
        return [results.command(group.entry, group.settings, group.rows)]
    from bennafusi.runs.config import differences, to_json

    chosen, schedule = group.settings, group.settings["schedule"]["kind"]
    usual = to_json(group.entry.load().choose(chosen["tasks"], schedule))
    words = ["bennafusi", "train", "--task", ",".join(chosen["tasks"]), "--schedule", schedule]
    changes = [f"{k}={results.option(v)}" for k, v in differences(chosen, usual).items()]
    sets = [word for change in changes for word in ("--set", change)]
    return [[*words, "--agent", row.variant, "--seed", str(row.seed), *sets] for row in group.rows]


def _memory(file: Path, drawn: Path, ready: Section | None) -> Section:
    entry: Entry = find("memory")
    memory: Any = entry.load()
    result, versions = memory.load(file)
    if ready is None:
        drawn.mkdir(parents=True)
        ready = results.section(
            entry, memory.findings(result), memory.figures(result, drawn), memory.numbers(result)
        )
    settings, seed = result.settings, result.settings.seed
    smoke = settings == memory.MemorySettings.smoke(seed)
    words = results.memory_command(entry, seed, smoke)
    runs = Table("runs", "One run", ("seed",), [(seed,)])
    origin = Provenance(shlex.join(words), None, 1, runs, versions, vars(settings))
    return replace(ready, name=entry.name, provenance=origin)


def _without_films(pictures: Sequence[Picture]) -> list[Picture]:
    """The page moves by itself."""
    return [picture for picture in pictures if picture.path.suffix != ".gif"]

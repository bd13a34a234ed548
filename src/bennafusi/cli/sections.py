"""From gathered runs to the sections of a report, and to the files they are kept in."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bennafusi.cli.gather import Gathered, Group, gather, load, relative
from bennafusi.cli.jobs import make_job
from bennafusi.cli.provenance import provenance
from bennafusi.files import RunError, own_folder
from bennafusi.results import Exhibit, Picture, RunData, Section
from bennafusi.runs.scratch import Scratch

TITLE = "Benna-Fusi synapses: what came out"
MOST_ALIKE = 6  # sections of one experiment, each with settings of its own

T = TypeVar("T")


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


def make(
    group: Group,
    runs: list[RunData],
    root: Path,
    pictures: Path,
    plays: Plays | None,
    kept: bool = False,
) -> Section:
    """All there is to say about a group of runs. What cannot be made is named in its problems.

    Args:
        group: the runs.
        runs: their records.
        root: the folder that was named, which is left out of what is said.
        pictures: where to draw.
        plays: who plays the trained agents; nobody if None.
        kept: for files and not just for a page: films are drawn, and an error is an error.
    """
    from bennafusi.experiments import exhibits

    experiment, problems = group.experiment, [] if runs else ["No run has written anything yet."]
    attempt = partial(_attempt, problems, root)
    own_folder(pictures.parent)
    if kept:
        findings, tables = group.judge(runs), experiment.tables(runs)
        drawn = [*experiment.figures(runs, pictures), *experiment.films(runs, pictures)]
    else:
        findings = attempt("the claims", lambda: group.judge(runs), [])
        tables = attempt("the numbers", lambda: experiment.tables(runs), [])
        drawn = attempt("the figures", lambda: experiment.figures(runs, pictures), [])
    moving: dict[str, Callable[[], list[Exhibit]]] = {
        "seeds apart": lambda: exhibits.seeds(tables),
        "the value functions": lambda: exhibits.values(runs),
        "the beakers": lambda: exhibits.beakers(
            runs, {run.variant: _timescales(group, run) for run in runs}
        ),
    }
    if plays is not None:
        moving["the agent at play"] = lambda: _playing(group, runs, plays)
    shown: list[Exhibit] = []
    for what, one in moving.items():
        shown += _attempt(problems, root, what, one, [])
    for row in group.rows:
        reason = f": {row.reason}" if row.reason else ""
        if row.state in ("failed", "unreadable"):
            problems.append(relative(root, f"{row.variant}, seed {row.seed}, {row.state}{reason}"))
    return Section(
        title=experiment.title,
        lead=experiment.lead,
        see=experiment.see,
        name=experiment.name,
        findings=findings,
        pictures=drawn,
        tables=tables,
        exhibits=shown,
        provenance=attempt("how it was run", lambda: provenance(group), None),
        problems=problems,
    )


def write_page(
    path: Path, root: Path, plays: Plays | None, ready: Mapping[str, Section] | None = None
) -> Gathered:
    """Write the report of everything below a folder.

    Args:
        path: the file.
        root: the folder.
        plays: who plays the trained agents; nobody if None.
        ready: sections that are made already, by experiment: of its only set of settings, or the
            summary of several.

    Returns:
        What was found.

    Raises:
        RunError: if there is nothing below the folder.
    """
    from bennafusi.report import html

    found = gather(root)
    with Scratch() as drawn:
        # Pictures are read when the page is written: until then they must be there.
        sections = _sections(root, found, drawn, plays, ready or {})
        try:
            html.write(path, TITLE, sections, found.problems)
        except (OSError, RunError):
            raise
        except Exception:  # one strange section must not cost the others
            alone = partial(_attempt, found.problems, root)
            sections = [s for s in sections if alone(s.name, partial(html.render, "", [s]), "")]
            html.write(path, TITLE, sections, found.problems)
    return found


def _sections(
    root: Path, found: Gathered, drawn: Path, plays: Plays | None, ready: Mapping[str, Section]
) -> list[Section]:
    names = [group.experiment.name for group in found.groups]
    several = {name: names.count(name) for name in names if names.count(name) > 1}
    # Of many sets of settings, that is of a sweep, there may be a summary.
    sections = [replace(ready[name], name=f"{name}: summary") for name in several if name in ready]
    for number, group in enumerate(found.groups):
        name, where = group.experiment.name, group.where or "here"
        if names[:number].count(name) >= MOST_ALIKE:
            continue
        if name in several or name not in ready:
            runs = load(root, group, found.problems)
            one = make(group, runs, root, drawn / f"g{number}", plays)
        else:
            one = ready[name]
        if name in several:  # they are told apart by where they lie
            one = replace(one, name=f"{name} ({where})", title=f"{one.title} ({where})")
        sections.append(replace(one, pictures=list(filter(_still, one.pictures))))
    found.problems.extend(
        f"{name}: {count - MOST_ALIKE} more sets of settings; name the folder of one to see it"
        for name, count in several.items()
        if count > MOST_ALIKE
    )
    return sections


def _still(picture: Picture) -> bool:
    """The page moves by itself, and needs no film."""
    return picture.path.suffix != ".gif"


def _attempt(problems: list[str], root: Path, what: str, make: Callable[[], T], otherwise: T) -> T:
    """Make a part of a report; one that cannot be made is named, and the rest is made."""
    try:
        return make()
    except Exception as error:
        text = f"{what}: {type(error).__name__}: {error}"
        problems.append(relative(root, text if len(text) < 500 else f"{text[:497]}..."))
        return otherwise


def _timescales(group: Group, run: RunData) -> list[float]:
    """Of the beakers of a deep agent, in updates."""
    settings = make_job(group.spec(run.variant, run.seed)).settings
    chain = getattr(getattr(settings, "chain", None), "chain", None)
    return [] if chain is None else chain.timescales.tolist()


def _playing(group: Group, runs: list[RunData], plays: Plays) -> list[Exhibit]:
    from bennafusi.experiments.deep import play

    rows = {(row.variant, row.seed): row for row in group.rows}
    played: list[dict[str, Any]] = []
    for run in play.chosen(runs):
        name = (run.variant, run.seed)
        played += plays.of(group.folders[name], group.spec(*name), rows[name])
    return play.exhibit(played)


def _network(folder: Any) -> dict[str, Any] | None:
    """The arrays of the newest network of a run: of its end, else of its newest checkpoint."""
    from bennafusi.runs import checkpoint, progress
    from bennafusi.runs.checkpoint import CheckpointError
    from bennafusi.runs.load import final

    if (kept := final(folder, progress.actual(folder))) is not None:
        return kept
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

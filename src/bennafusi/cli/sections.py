"""From gathered runs to the sections of a report, and to the files they are kept in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bennafusi.cli.gather import Gathered, Group, gather, load, relative
from bennafusi.cli.playing import EpisodeCache
from bennafusi.cli.provenance import provenance
from bennafusi.experiments.experiment import Experiment
from bennafusi.files import RunError, own_folder
from bennafusi.results import Exhibit, RunData, Section, Table
from bennafusi.runs.scratch import Scratch

TITLE = "Benna-Fusi synapses: what came out"
MOST_ALIKE = 6  # sections of one experiment, each with settings of its own

T = TypeVar("T")
Attempt = Callable[[str, Callable[[], Any], Any], Any]


def make(
    group: Group,
    runs: list[RunData],
    root: Path,
    pictures: Path,
    cache: EpisodeCache | None,
    kept: bool = False,
) -> Section:
    """All there is to say about a group of runs. What cannot be made is named in its problems.

    What is said leaves out ``root``, the folder that was named. With ``kept`` it is for files and
    not just for a page: films are drawn, and an error is an error.
    """
    from bennafusi.experiments import statistics
    from bennafusi.experiments.figure_style import for_a_page

    experiment, problems = group.experiment, [] if runs else ["No run has written anything yet."]
    attempt = partial(_attempt, problems, root)
    own_folder(pictures.parent)
    if kept:
        findings, tables, scored = (
            group.judge(runs),
            experiment.tables(runs),
            group.scored(experiment.shown(runs)),
        )
        drawn = [*experiment.figures(runs, pictures), *experiment.films(runs, pictures)]
    else:
        findings = attempt("the claims", lambda: group.judge(runs), [])
        tables = attempt("the numbers", lambda: experiment.tables(runs), [])
        scored = attempt("the measures", lambda: group.scored(experiment.shown(runs)), [])
        with for_a_page():
            drawn = attempt("the figures", lambda: experiment.figures(runs, pictures), [])
    if tables:  # the first of which is the summary
        tables = [*tables, *statistics.profiles(scored)]
    shown = _exhibits(group, runs, tables, scored, cache, attempt)
    for row in group.rows:
        reason = f": {row.reason}" if row.reason else ""
        if row.state in ("failed", "unreadable"):
            problems.append(relative(root, f"{row.variant}, seed {row.seed}, {row.state}{reason}"))
    return Section(
        title=experiment.title,
        lead=experiment.lead,
        see=attempt("what came out", lambda: _in_words(experiment, tables), []),
        name=experiment.name,
        findings=findings,
        pictures=drawn,
        tables=tables,
        exhibits=shown,
        provenance=attempt("how it was run", lambda: provenance(group), None),
        problems=problems,
    )


def _exhibits(
    group: Group,
    runs: list[RunData],
    tables: list[Table],
    scored: Sequence[tuple[str, dict[str, float]]],
    cache: EpisodeCache | None,
    attempt: Attempt,
) -> list[Exhibit]:
    """What can be moved, in the order of the page."""
    from bennafusi.experiments import depth_films, exhibits

    timescales = group.experiment.timescales
    times = attempt(
        "timescales", lambda: {run.variant: timescales(run.variant, group.base) for run in runs}, {}
    )
    makers: dict[str, Callable[[], list[Exhibit]]] = {
        "seeds apart": lambda: exhibits.seeds(tables),
        "what the depths know": lambda: depth_films.depths(
            runs, times, cache.depths(group, runs) if cache else {}
        ),
        "the agents at play": lambda: cache.exhibit(group, runs, _summary(tables)) if cache else [],
        "the value functions": lambda: exhibits.values(runs),
        "the beakers": lambda: exhibits.beakers(runs, times),
        "the distributions": lambda: exhibits.profiles(scored),
    }
    return [found for what, one in makers.items() for found in attempt(what, one, [])]


def _in_words(experiment: Experiment, tables: list[Table]) -> list[str]:
    from bennafusi.experiments import statistics

    summary = _summary(tables)
    return statistics.told(summary, experiment.headline) if summary else []


def _summary(tables: list[Table]) -> Table | None:
    return next((table for table in tables if table.name == "summary"), None)


def write_page(
    path: Path,
    root: Path,
    cache: EpisodeCache | None,
    ready: Mapping[str, Section] | None = None,
    not_judged: Sequence[str] = (),
) -> Gathered:
    """Write the report of everything below a folder, and say what was found there.

    Sections in ``ready`` are made already, by experiment: of its runs directly below the folder, or
    under another name the summary of several sets of settings. What is wrong with runs that those
    leave out is ``not_judged``.

    Raises:
        RunError: if there is nothing below the folder.
    """
    from bennafusi.report import html

    found = gather(root)
    with Scratch() as drawn:
        # Pictures are read when the page is written: until then they must be there.
        sections = _sections(root, found, drawn, cache, ready or {})
        found.problems.extend(text for text in not_judged if text not in found.problems)
        try:
            html.write(path, TITLE, sections, [*found.problems, *found.too_many])
        except (OSError, RunError):
            raise
        except Exception:  # one strange section must not cost the others
            alone = partial(_attempt, found.problems, root)
            sections = [s for s in sections if alone(s.name, partial(html.render, "", [s]), "")]
            html.write(path, TITLE, sections, [*found.problems, *found.too_many])
    return found


def _sections(
    root: Path,
    found: Gathered,
    drawn: Path,
    cache: EpisodeCache | None,
    ready: Mapping[str, Section],
) -> list[Section]:
    groups = sorted(found.groups, key=lambda group: bool(group.where))  # its own runs first
    names = [group.experiment.name for group in groups]
    several = {name: names.count(name) for name in names if names.count(name) > 1}
    # Of many sets of settings, that is of a sweep, there may be a summary.
    summed = [name for name in several if name in ready and ready[name].name != name]
    sections = [replace(ready[name], name=f"{name}: summary") for name in summed]
    for number, group in enumerate(groups):
        name, where = group.experiment.name, group.where or "here"
        if names[:number].count(name) >= MOST_ALIKE:
            continue
        of_others = name in several and (name in summed or group.where)
        if of_others or name not in ready:
            runs = load(root, group, found.problems)
            one = make(group, runs, root, drawn / f"g{number}", cache)
        else:
            one = ready[name]
        if name in several:  # they are told apart by where they lie
            one = replace(one, name=f"{name} ({where})", title=f"{one.title} ({where})")
        # The page moves by itself, and needs no film.
        still = [picture for picture in one.pictures if picture.path.suffix != ".gif"]
        sections.append(replace(one, pictures=still))
    found.too_many.extend(
        f"{name}: {count - MOST_ALIKE} more sets of settings; name the folder of one to see it"
        for name, count in several.items()
        if count > MOST_ALIKE
    )
    return sections


def _attempt(problems: list[str], root: Path, what: str, make: Callable[[], T], otherwise: T) -> T:
    """Make a part of a report; one that cannot be made is named, and the rest is made."""
    try:
        return make()
    except Exception as error:
        text = f"{what}: {type(error).__name__}: {error}"
        problems.append(relative(root, text if len(text) < 500 else f"{text[:497]}..."))
        return otherwise

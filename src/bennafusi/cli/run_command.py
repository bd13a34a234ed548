"""``bennafusi run``: plan, run, judge, report."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bennafusi.cli import engines, gather, options, printing, sections, sinks, sweep
from bennafusi.cli.planning import Plan, Request, ask, check, prepared, seeds_of
from bennafusi.cli.playing import EpisodeCache
from bennafusi.cli.printing import refuse, refusing, resumable, say, settle
from bennafusi.cli.provenance import TRAIN
from bennafusi.cli.readonly import seconds
from bennafusi.experiments import registry
from bennafusi.experiments.experiment import Experiment
from bennafusi.report import results_folder
from bennafusi.results import Section
from bennafusi.runs import placing
from bennafusi.runs.attempt import INTERRUPTED
from bennafusi.runs.config import flat, to_json
from bennafusi.runs.engine import PATIENCE, RETRIES, Engine, EngineError
from bennafusi.runs.folder import Folder
from bennafusi.runs.signals import interrupting
from bennafusi.runs.status import actual_status
from bennafusi.text import duration

MOST_ROWS = 40  # of a table on screen

Experiments = Annotated[
    list[str] | None,
    typer.Argument(
        help="Their names; see [bold]bennafusi list[/bold].",
        autocompletion=registry.names,
        show_default=False,
    ),
]
Workers = Annotated[
    int, typer.Option(min=0, help="Runs at a time.", show_default="as many as cores")
]

EPILOG = (
    "Examples:\n\n"
    "[bold]bennafusi run memory[/bold]\n\n"
    "[bold]bennafusi run grid-switch --seeds 3 --workers 2[/bold]\n\n"
    "[bold]bennafusi run fig2 --scale smoke --variants control,modified --out try[/bold]\n\n"
    "Stopped or interrupted, the same command continues where it was."
)


def run(
    experiments: Experiments = None,
    scale: options.HowMuch = "quick",
    seeds: options.Seeds = None,
    seed: options.FirstSeed = 0,
    variants: options.Variants = None,
    workers: Workers = 0,
    change: options.Changes = None,
    grid: options.Grid = None,
    out: Annotated[Path | None, typer.Option(help="Folder.", show_default="runs/NAME")] = None,
    engine: engines.Engines = "local",
    address: engines.Address = "",
    slurm: engines.Slurm = "",
    tls_ca: engines.Authority = None,
    tls_cert: engines.Certificate = None,
    tls_key: engines.Key = None,
    patience: engines.Patience = PATIENCE,
    retries: engines.Retries = RETRIES,
    tensorboard: sinks.TensorBoardOption = False,
    wandb: sinks.WandbOption = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Run experiments: figures, numbers, claims and report.html."""
    sinks.need(tensorboard, wandb)
    chosen = _chosen(experiments or [])
    folder = Path("runs", "-".join(one.name for one in chosen)) if out is None else out
    if grid and len(chosen) > 1:
        refuse("--sweep: name one experiment; each has settings of its own")
    if address and workers:
        refuse(f"--workers {workers}: the cluster at --address has its own; leave it out")
    tls = {"--tls-ca": tls_ca, "--tls-cert": tls_cert, "--tls-key": tls_key}
    asked = engines.wanted(engine, address, slurm, tls, patience)
    request = Request(
        scale,
        range(0),
        options.named(variants),
        0 if address else workers or os.cpu_count() or 1,
        options.changes(change or []),
        folder,
        retries,
        sweep.axes(grid or []),
    )
    with resumable(debug), interrupting():
        plans = [
            (one, check(one, request._replace(seeds=seeds_of(one, seed, seeds)))) for one in chosen
        ]
        mirror = partial(sinks.Mirror, root=folder, tensorboard=tensorboard, wandb=wandb)
        _all(plans, folder, asked, mirror, Console(quiet=quiet))


def _chosen(names: list[str]) -> list[Experiment]:
    if not names:
        there = ", ".join(name for name in registry.names() if name != TRAIN)
        refuse(f"name an experiment; there is: {there}")
    with refusing(registry.UnknownError):
        # Two figures may be one experiment.
        chosen = list({one.name: one for one in map(registry.find, names)}.values())
    if any(one.name == TRAIN for one in chosen):
        refuse("train: has a command of its own; see bennafusi train --help")
    return chosen


def _all(
    plans: list[tuple[Experiment, Plan]],
    folder: Path,
    asked: engines.Wanted,
    mirror: Callable[[list[Folder]], sinks.Mirror],
    console: Console,
) -> None:
    """Run the experiments one after another, then say and write down what came out."""
    made: dict[str, Section] = {}
    not_judged: list[str] = []
    for experiment, what in plans:  # a clash of the last is told before the first has run
        ask(experiment, what)
    with engines.opened(asked, plans[0][1].request.workers) as make_engine:
        options.prepare(folder)
        for experiment, what in plans:
            made[experiment.name] = execute(
                experiment, what, console, make_engine, mirror, not_judged
            )
    page = folder / "report.html"
    with console.status("report"):
        found = sections.write_page(page, folder, EpisodeCache(), made, not_judged)
    for experiment, what in plans:
        section, seeds = made[experiment.name], len(what.request.seeds)
        if what.request.axes:
            console.print(_measures(section, what.request))
            continue
        how = f"{what.request.scale}, {seeds} seed{'s' * (seeds != 1)}"
        for line in printing.outcome_lines(section, how):
            say(console, line)
    if any(section.findings for section in made.values()) and not plans[0][1].request.axes:
        say(console, f"all claims: bennafusi claims {shlex.quote(os.fspath(folder))}")
    say(console, f"report: {os.fspath(page)}")
    if found.problems:
        # Those of the command's own runs were said when they were judged.
        printing.left_out(text for text in found.problems if text not in not_judged)
        raise typer.Exit(1)


def execute(
    experiment: Experiment,
    what: Plan,
    console: Console,
    make_engine: Callable[[], Engine],
    make_mirror: Callable[[list[Folder]], sinks.Mirror],
    not_judged: list[str],
) -> Section:
    """Run one experiment to its end, and keep what came out beside its runs.

    What is wrong with its runs is said, and added to ``not_judged``.
    """
    request = what.request
    folders = prepared(experiment, what)
    points = f"{len(what.points)} points, " if request.axes else ""
    at_a_time = f", {request.workers} at a time" if request.workers else ""
    runs = f"{len(folders)} run{'s' * (len(folders) != 1)}"
    console.print(f"{experiment.name}: {points}{runs}{at_a_time}", highlight=False)
    usual = experiment.defaults(request.scale)
    left_out = [name for name in usual if name not in what.variants]
    if request.axes and not request.variants and left_out:
        console.print(f"the same at every point, left out: {', '.join(left_out)}", highlight=False)
    if request.scale == "paper" or request.axes:
        _say_cost(experiment, what, folders, console)
    try:
        engine = make_engine()
    except EngineError as error:  # it was there when the command began
        refuse(f"{error}; the same command continues", 75)
    with contextlib.closing(make_mirror(folders)) as mirror:
        outcome = placing.place_all(
            folders, engine, console, retries=request.retries, look=mirror.look
        )
    mirror.say(console)
    if request.axes and outcome.code != INTERRUPTED:
        # A run that diverged is an answer of a sweep too, and the other points are summed up.
        values = [point.values for point in what.points]
        command = shlex.join(["bennafusi", *_words(sys.argv[1:])])
        settings = flat(to_json(what.settings))
        section = sweep.summarise(experiment, request.out, values, command, settings, not_judged)
        settle(outcome, len(folders), request.out)
        return section
    settle(outcome, len(folders), request.out)
    group, problems = gather.own(request.out, request.out, experiment)
    data = gather.load(request.out, group, problems) if group else []
    printing.left_out(problems)
    if group is None or not data:
        refuse(f"{experiment.name}: none of its runs in {request.out} can be relied on", 1)
    not_judged += problems
    folder = request.out / experiment.name
    section = sections.make(group, data, request.out, folder / "figures", EpisodeCache(), kept=True)
    results_folder.write(folder, section)
    return section


def _say_cost(experiment: Experiment, what: Plan, folders: list[Folder], console: Console) -> None:
    left = sum(actual_status(folder).state != "done" for folder in folders)
    if not left or (one := seconds(experiment, what.settings)) is None:
        return
    rounds = left / min(what.request.workers or 1, left)
    how = "" if what.request.workers else ", one at a time"
    text = f"left to do: {duration(rounds * one)}{how}, by a measurement on this machine"
    console.print(text, highlight=False)


def _measures(section: Section, request: Request) -> Table:
    """The first measure over the points of a sweep."""
    table = results_folder.compact(section.tables[0])
    width = len(request.axes) + 2  # the fields, the variant and one measure
    rows = [row[:width] for row in table.rows[:MOST_ROWS]]
    cut = f", the first {MOST_ROWS} of {len(table.rows):,}" if len(table.rows) > MOST_ROWS else ""
    title = f"{table.columns[width - 1]}{cut}; all measures: {request.out / sweep.FOLDER}"
    return printing.numbers_table(title, (*table.columns[: width - 1], "mean ± sd"), rows)


_PRIVATE = ("--out", "--address", "--tls-ca", "--tls-cert", "--tls-key")


def _words(words: list[str]) -> list[str]:
    """The command without where it wrote and whom it talked to: a report may be handed on."""
    kept, skip = [], False
    for word in words:
        if not skip and not word.startswith(tuple(f"{name}=" for name in _PRIVATE)):
            skip = word in _PRIVATE
            if not skip:
                kept.append(word)
        else:
            skip = False
    return kept

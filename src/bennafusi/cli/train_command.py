"""``bennafusi train``: one deep agent, with its numbers on screen while it learns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bennafusi.cli import engines, options, sinks
from bennafusi.cli.monitor import Monitor
from bennafusi.cli.printing import refuse, refusing, resumable, say, settle
from bennafusi.cli.provenance import TRAIN
from bennafusi.files import RunError
from bennafusi.runs import plan
from bennafusi.runs.config import ConfigError, to_json, with_changes
from bennafusi.runs.local import run_all
from bennafusi.runs.signals import interrupting
from bennafusi.text import suggestion

_BY_OPTION = {"tasks": "--task", "schedule": "--schedule", "schedule.kind": "--schedule"}

Tasks = Annotated[
    list[str] | None,
    typer.Option(
        help="cartpole, cartpole-long, catcher, or gymnax/ and a name of gymnax's; several, "
        "with commas between, take turns.",
        show_default="cartpole",
    ),
]
Schedule = Annotated[
    str,
    typer.Option(
        help="online: learn at each step. episodic: a batch after each episode. minibatch: "
        "DQN, one update from many transitions. stream: stream-Q, along traces.",
        show_default="online; minibatch for gymnax's",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(help="Training steps per epoch, instead of episodes.", show_default=False),
]

EPILOG = (
    "Examples:\n\n"
    "[bold]bennafusi train --task cartpole --schedule online --episodes 3000[/bold]\n\n"
    "[bold]bennafusi train --task cartpole,catcher --schedule episodic --epochs 4[/bold]\n\n"
    "[bold]bennafusi train --agent control --set network.hidden=64,32 --out try[/bold]\n\n"
    "[bold]bennafusi train --task gymnax/Breakout-MinAtar --steps 50000[/bold]\n\n"
    "Stopped or interrupted, the same command continues where it was."
)


def train(
    task: Tasks = None,
    schedule: Schedule = "",
    agent: Annotated[str, typer.Option(help="benna-fusi or control.")] = "benna-fusi",
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of all randomness.")] = 0,
    episodes: Annotated[
        int | None, typer.Option(help="Per epoch, tests included.", show_default="as in the paper")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="How often a task is chosen.", show_default="1 with one task, 40 with several"
        ),
    ] = None,
    steps: Steps = None,
    change: options.Changes = None,
    out: Annotated[
        Path | None, typer.Option(help="Output folder.", show_default="runs/train-...")
    ] = None,
    depths: Annotated[
        bool, typer.Option("--depths", help="Also let the network in each beaker play.")
    ] = False,
    tensorboard: sinks.TensorBoardOption = False,
    wandb: sinks.WandbOption = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Train one deep agent and show its numbers while it learns."""
    sinks.need(tensorboard, wandb)
    from bennafusi.experiments.deep import train as module

    names = [name for word in task or ["cartpole"] for name in word.split(",") if name]
    sizes = {"episodes": episodes, "epochs": epochs, "steps": steps}
    looks = {"depths.games": str(module.GAMES)} if depths else {}
    changes = options.changes(change or [])
    _check_looks(agent, depths, changes)
    schedule = schedule or module.usual_schedule(names)
    settings = _settings(module, names, schedule, agent, sizes, looks | changes)
    plain = [name.replace("/", "-") for name in names]
    folder = Path("runs", "-".join(["train", *plain, schedule, agent])) if out is None else out
    with resumable(debug), interrupting():
        asked = {"tensorboard": tensorboard, "wandb": wandb}
        _train(module, agent, seed, settings, folder, asked, Console(quiet=quiet))


def _check_looks(agent: str, depths: bool, changes: dict[str, str]) -> None:
    """Refuse looks at depths that are asked for twice, or where there are none."""
    word = "--depths" if depths else f"--set depths.games={changes.get('depths.games', '0')}"
    if depths and "depths.games" in changes:
        refuse("--set depths.games: is also given by --depths; leave one of them out")
    if agent == "control" and not word.endswith("=0"):
        refuse(f"{word}: --agent control has one beaker, the weight; leave it out")


def _given_sizes(sizes: dict[str, int | None], changes: dict[str, str]) -> dict[str, str]:
    """The sizes that options give; refuses what is said twice, or in two ways."""
    given = {name: str(size) for name, size in sizes.items() if size is not None}
    for field in changes:
        if field in given:
            refuse(f"--set {field}: is also given by --{field}; leave one of them out")
    # A report repeats a run by --set alone, whatever its settings are.
    other = {"episodes": "steps", "steps": "episodes"}
    for name in [name for name in other if name in given]:
        by_set = changes.get(other[name], "none").lower() != "none"
        if by_set or other[name] in given:
            ways = f"--{name} and {'--set ' if by_set else '--'}{other[name]}"
            refuse(f"{ways}: either says how long an epoch is; leave one of them out")
    return given | ({"steps": "none"} if "episodes" in given else {})


def _settings(
    module: Any,
    tasks: list[str],
    schedule: str,
    agent: str,
    sizes: dict[str, int | None],
    changes: dict[str, str],
) -> Any:
    """The run's settings; refuses what does not fit before anything is made."""
    if not tasks:
        refuse(f"--task: names none; there is: {', '.join(module.TASKS)}")
    for what, name, known in (
        *(("task", name, module.TASKS) for name in tasks if not module.known(name)),
        ("schedule", schedule, module.SCHEDULES),
        ("agent", agent, module.EXPERIMENT.variants),
    ):
        if name not in known:
            refuse(f"unknown {what} {name!r}: {suggestion(name, known)}")
    if len(set(tasks)) < len(tasks):
        refuse(f"--task {','.join(tasks)}: one is there twice")
    for field in changes:
        if field in _BY_OPTION:
            refuse(f"--set {field}: use {_BY_OPTION[field]} for it")
    given_sizes = _given_sizes(sizes, changes)
    try:
        settings = with_changes(module.choose(tasks, schedule), given_sizes | changes)
        own = module.EXPERIMENT.settings_of(agent, settings)
    except (ConfigError, ValueError, TypeError) as error:
        by_option = str(error).startswith(tuple(given_sizes)) if given_sizes else False
        if str(error).startswith("tasks: "):
            refuse(f"--task: {str(error).removeprefix('tasks: ')}")
        refuse(f"--{error}" if by_option else f"--set {error}")
    if "episodes" in changes and "steps" not in changes and settings.steps is not None:
        refuse(
            f"--set episodes={settings.episodes}: would not be heard, an epoch here has steps="
            f"{settings.steps}; add --set steps=none"
        )
    if "chain.n" in changes and (settings.chain.n == 1) != (agent == "control"):
        other = "benna-fusi" if agent == "control" else "control"
        refuse(
            f"--set chain.n={settings.chain.n}: --agent {agent} has "
            f"{'one beaker' if own.chain.n == 1 else 'more'}; choose --agent {other}"
        )
    if settings.steps is None and settings.episodes < settings.test_every:
        refuse(
            f"episodes={settings.episodes} with test_every={settings.test_every}: there would be "
            f"no test to see; choose --episodes {settings.test_every} or more"
        )
    if settings.epochs < len(tasks):
        refuse(
            f"epochs={settings.epochs} with {len(tasks)} tasks: {tasks[-1]} would not be trained; "
            f"choose --epochs {len(tasks)} or more"
        )
    return settings


def _train(
    module: Any,
    agent: str,
    seed: int,
    settings: Any,
    out: Path,
    asked: dict[str, bool],
    console: Console,
) -> None:
    with refusing(RunError):
        specs = plan.plan(TRAIN, [agent], [seed], to_json(settings))
        plan.ask_all((out, spec) for spec in specs)  # before a folder is made
    options.prepare(out)
    with refusing(RunError):
        folders = plan.prepare(out, specs)
    if folders[0].locked():
        refuse(f"{folders[0].path}: is being trained by another process; wait for it, or stop it")
    own = module.EXPERIMENT.settings_of(agent, settings)
    monitor = Monitor(folders[0], own)
    mirror = sinks.Mirror(folders, out, **asked)
    console.print(
        f"{agent} on {', '.join(settings.tasks)}, {settings.schedule.kind}: "
        f"{settings.epochs * settings.length:,} {settings.unit}, seed {seed}",
        highlight=False,
    )
    if words := module.reach_in_words(own):
        say(console, words)
    command = [sys.executable, *engines.WORK]
    try:
        outcome = run_all(folders, command, 1, console, lambda _: monitor.line(), look=mirror.look)
    finally:
        monitor.close()
        mirror.close()
    settle(outcome, 1, out)
    for text in monitor.summary():
        say(console, text)
    say(console, f"run:  {folders[0].path}")
    mirror.say(console)
    say(console, f"next: bennafusi watch {folders[0].path}")

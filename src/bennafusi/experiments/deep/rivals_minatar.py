"""The experiment ``rivals-minatar``: ways to remember games of MinAtar that take turns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from bennafusi.experiments.deep import deep_measures, games, minatar_sequence, rival_agents
from bennafusi.experiments.deep.deep_experiment import deep_experiment
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.experiments.deep.games import BREAKOUT, FREEWAY, INVADERS
from bennafusi.experiments.deep.rival_agents import MINE, NOTHING, Chosen, Points
from bennafusi.experiments.experiment import Changes, Reason, Runs, Scale, drawn
from bennafusi.results import Picture, RunData
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings

# What an agent without chains comes to at the end of a game's first visit of 200,000 steps, about.
LEVELS = {FREEWAY: 8, BREAKOUT: 10, INVADERS: 20}
RULE = (
    "mean test return of returning visits, in parts of each game's level "
    f"({', '.join(f'{game} {level}' for game, level in LEVELS.items())}), mean over visits, "
    "a diverged run's being the lowest of all"
)
# Of the usual chain, in standard deviations of the largest layer's start: the best of
# minatar-single and minatar-sequence. A strength of 10 is a reach of 10, that of 0.1 one of 1,000.
REACH = 100
QUICK: Changes = {"steps": 100_000, "schedule.replay": 20_000}  # a fifth of an epoch, as published


def _chain(field: str) -> Callable[[DeepSettings], float]:
    return lambda base: games.at_reach(REACH / base.method.strength)[field](base)


_CHAIN: Changes = {
    "chain.n": games.BEAKERS,
    "chain.g12": _chain("chain.g12"),
    "chain.every": _chain("chain.every"),
    "method.strength": 1.0,
}
# The target is a copy now and then, so that it cannot follow more slowly.
AGENTS: dict[str, Changes] = {
    **{name: of for name, of in rival_agents.AGENTS.items() if name != "slower-target"},
    **rival_agents.REPLAYS,
    MINE: _CHAIN,
    rival_agents.TWO: {**_CHAIN, "chain.n": 2},
}
AGAINST = {
    NOTHING: "Adam alone",
    "online-ewc": "online EWC",
    "shrink-and-perturb": "shrink and perturb",
    "reservoir-replay": "a replay of all there was",
    "cascade-replay": "a replay of many ages",
}
# Of the quick scale, where it was judged.
ALL_LOSE = Reason(
    "no agent keeps a game while another is trained, with a chain or without, so that each has to "
    "be learnt again, and with a chain it then comes less far",
    "docs/rivals.md#games-of-minatar-in-turn",
)
TASKS = "+".join(minatar_sequence.ORDER)
# Of each agent: the highest mean score of seeds 0 and 1 at quick scale.
CHOSEN: Points = {
    "control": {TASKS: Chosen(1.0, 2e-4)},
    "benna-fusi": {TASKS: Chosen(1.0, 1e-3)},
    "online-ewc": {TASKS: Chosen(0.1, 3e-4)},
    "shrink-and-perturb": {TASKS: Chosen(0.1, 3e-4)},
}


def settings(scale: Scale) -> DeepSettings:
    """As ``minatar-sequence`` without looks at the depths; shorter at quick scale."""
    base: DeepSettings = minatar_sequence.EXPERIMENT.settings(scale)
    return changed(base, {**(QUICK if scale == "quick" else {}), "depths.games": 0})


def score(run: RunData) -> float:
    """By which agents are tuned and judged: :data:`RULE`.

    Example:
        >>> score(RunData("a", 10, []))
        nan
    """
    if deep_measures.diverged(run):
        return float("nan")
    tests, seen, parts = trials_of(run), set[str](), []
    for task, mine in deep_measures.epochs(run, tests):
        if task in seen:
            level = LEVELS.get(task, np.nan)
            parts.append(float(np.mean(tests.reward[mine])) / level if mine.size else np.nan)
        seen.add(task)
    return float(np.mean(parts)) if parts else float("nan")


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """Who is before whom, and learning curves of each game over all its visits."""
    from bennafusi.experiments.deep import plasticity_figure, visit_figure

    mine = rival_agents.judged_runs(runs)
    title = "MinAtar, games in turn: each agent at its tuned point"
    caption = "Each game is trained in the shaded steps alone."
    return drawn(
        rival_agents.ranking_drawn(runs, folder, score, RULE),
        visit_figure.by_steps(mine, folder, "curves", title, caption) if mine else None,
        plasticity_figure.plasticity(mine, folder) if mine else None,
    )


EXPERIMENT = deep_experiment(
    name="rivals-minatar",
    title="Who remembers games that take turns?",
    lead="Breakout, Space Invaders and Freeway of MinAtar in a fixed random order, one network for "
    "all and nobody who says which game it is, as in minatar-sequence. A chain against other ways "
    "to remember, each tuned over the same grid on seeds below 10 and judged on others.",
    summary="ways to remember games of MinAtar, tuned alike",
    variants=rival_agents.variants(CHOSEN, AGENTS),
    usual_variants=lambda scale: rival_agents.usual(CHOSEN, AGENTS),
    settings=settings,
    scores=partial(rival_agents.scores, score=score, rule=RULE),
    shown=rival_agents.shown,
    claims=partial(rival_agents.claims, score=score, rule=RULE, against=AGAINST),
    reasons={rival_agents.DOES_BETTER.format(words): ALL_LOSE for words in AGAINST.values()},
    tables=partial(rival_agents.tables, score=score, rule=RULE),
    figures=figures,
    seconds=games.seconds,
)

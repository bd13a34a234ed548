"""The experiment ``minatar-sequence``: games of MinAtar in turn, by the published protocol.

Other ways to remember, tuned, are in ``rivals-minatar``.
"""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.deep import games
from bennafusi.experiments.deep.deep_experiment import deep_experiment
from bennafusi.experiments.deep.games import BREAKOUT, CONTROL, FREEWAY, INVADERS, at_reach
from bennafusi.experiments.deep.rival_agents import RESET
from bennafusi.experiments.experiment import Changes, Reason, Runs, Scale, drawn
from bennafusi.results import Finding, Picture

MINE = ("reach-10", "reach-100")  # those that are judged
# Drawn once: of the rows of 7 of numpy.random.default_rng(0).integers(3, size=7), with Breakout 0,
# Space Invaders 1 and Freeway 2, the first in which each game comes twice and none after itself.
ORDER = (FREEWAY, BREAKOUT, INVADERS, BREAKOUT, INVADERS, FREEWAY, INVADERS)
OWN: dict[str, Changes] = {
    "control": CONTROL,
    **{f"reach-{deviations}": at_reach(deviations) for deviations in (10, 100, 1)},
    "control-large-replay": {**CONTROL, "schedule.replay": 1_000_000},
    "control-reset": {**CONTROL, **RESET},
    "control-per-task": {**CONTROL, "schedule.agent_at_switch": "own", "depths.games": 0},
}
LOOKS: Changes = {"depths.games": 20}  # at each switch, of each game by each depth
SCALES: dict[Scale, Changes] = {
    "smoke": {**games.SMOKE, "epochs": 4},
    # Long enough that a game is learnt before it goes; the replay is the same part of an epoch.
    "quick": {**LOOKS, "steps": 200_000, "max_steps": 500, "schedule.replay": 40_000},
    # The published numbers: 7 x 500,000 steps, a batch of 64 at each of them, replay 100,000.
    "paper": {
        **LOOKS,
        "max_steps": 2_500,
        "schedule.batch": 64,
        "schedule.every": 1,
        "schedule.target_every": 1_000,
    },
}


def usual(scale: Scale) -> tuple[str, ...]:
    """At quick scale those that are judged."""
    return ("control", *MINE) if scale == "quick" else tuple(OWN)


def claims(runs: Runs) -> list[Finding]:
    """Ours."""
    faster = [games.relearns_faster(runs, name, "control", _FASTER.format(name)) for name in MINE]
    return [*faster, *(games.kept_deep(runs, name, _KEPT.format(name)) for name in MINE)]


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """Learning curves of each game, over all its visits; what the beakers hold and know."""
    from bennafusi.experiments.deep import (
        beaker_figure,
        depth_figure,
        plasticity_figure,
        visit_figure,
    )

    caption = "Each game is trained in the shaded steps alone."
    return drawn(
        visit_figure.by_steps(runs, folder, "curves", "MinAtar, games in turn", caption),
        beaker_figure.beakers(runs, folder),
        depth_figure.depths(runs, folder),
        plasticity_figure.plasticity(runs, folder),
    )


_FASTER = "When a game comes back, an agent with chains ({}) earns more than one without, at once"
_KEPT = "A depth plays games that went better than the weights do ({})"
# Of the quick scale, where it was judged.
NOT_FASTER = Reason(
    "the weights lose a game within one epoch of another, with chains as without, and an agent "
    "with chains learns it again more slowly; what is left of it is in deeper beakers",
    "docs/results.md#games-in-turn",
)

EXPERIMENT = deep_experiment(
    name="minatar-sequence",
    title="Does a chain help when a game comes back?",
    lead="Breakout, Space Invaders and Freeway of MinAtar in a fixed random order, one network for "
    "all and nobody who says which game it is: the published protocol of 7 epochs of 500,000 "
    "steps. Beside them a new agent in each epoch and an agent for each game.",
    summary="games of MinAtar in turn",
    variants=OWN,
    usual_variants=usual,
    settings=lambda scale: games.settings_of(scale, ORDER, SCALES, {"epochs": len(ORDER)}),
    claims=claims,
    reasons={_FASTER.format(name): NOT_FASTER for name in MINE},
    figures=figures,
    tables=games.tables,
    scores=games.scores,
    seconds=games.seconds,
)

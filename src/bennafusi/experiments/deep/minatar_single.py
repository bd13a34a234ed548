"""The experiment ``minatar-single``: does a chain hold a network back on a game of MinAtar?"""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep import games, table_s2
from bennafusi.experiments.deep.deep_experiment import deep_experiment
from bennafusi.experiments.deep.games import BREAKOUT, CONTROL, INVADERS, at_reach
from bennafusi.experiments.experiment import Changes, Reason, Runs, Scale, drawn
from bennafusi.results import Finding, Picture, all_of

GAMES = {"breakout": BREAKOUT, "space-invaders": INVADERS}
REACHES = ("0.1", "0.3", "1", "3", "10", "30", "100")
BRIEF = ("breakout-control", "breakout-reach-1", "breakout-reach-10")  # at quick scale
DRAWN: Changes = {"chain.hidden_start": "linear-variance"}
NORM: Changes = {"network.layer_norm": True}

SCALES: dict[Scale, Changes] = {
    "smoke": games.SMOKE,
    "quick": {"steps": 40_000, "max_steps": 500, "schedule.replay": 20_000},
    "paper": {"max_steps": 1_000, "schedule.every": 1, "schedule.target_every": 1_000},
}


# What else a chain of reach 1 may hang on, and the control that each is judged against.
PARTS: dict[str, tuple[tuple[str, ...], str]] = {
    "whose hidden variables are drawn": (("reach-1-drawn",), "control"),
    "on all layers but the last, or on the last alone,": (
        ("reach-1-body", "reach-1-head"),
        "control",
    ),
    "in a network with LayerNorm": (("reach-1-norm",), "control-norm"),
}


def agents() -> dict[str, Changes]:
    """All variants: both games, control and chains, on which layers, with and without LayerNorm."""
    found: dict[str, Changes] = {}
    for name, game in GAMES.items():
        here = table_s2.task_fields(game)
        found[f"{name}-control"] = {**here, **CONTROL}
        found |= {f"{name}-reach-{r}": {**here, **at_reach(float(r))} for r in REACHES}
        found[f"{name}-reach-1-drawn"] = {**here, **at_reach(1), **DRAWN}
        for layers in ("body", "head"):  # all but the last, the last alone
            found[f"{name}-reach-1-{layers}"] = {**here, **at_reach(1), "chain.layers": layers}
        found[f"{name}-control-norm"] = {**here, **CONTROL, **NORM}
        found[f"{name}-reach-1-norm"] = {**here, **at_reach(1), **NORM}
    return found


def claims(runs: Runs) -> list[Finding]:
    """Ours: the paper says that larger networks on Atari struggled, and leaves it open."""
    by_reach = [
        games.matches(
            runs, [f"{name}-reach-{r}" for r in REACHES], f"{name}-control", _MATCHES.format(name)
        )
        for name in GAMES
    ]
    return [*by_reach, *parts(runs)]


def parts(runs: Runs) -> list[Finding]:
    """Whether a chain of reach 1 plays as well as the control if one more thing is changed."""
    found = []
    for what, (mine, control) in PARTS.items():
        statement = _PART.format(what)
        by_game = [
            games.matches(runs, [f"{name}-{one}" for one in mine], f"{name}-{control}", statement)
            for name in GAMES
        ]
        found.append(all_of(statement, by_game))
    return found


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """What a chain of each reach earns, learning curves of each game, what the beakers hold."""
    from bennafusi.experiments.deep import beaker_figure, depth_figure, reach_figure, visit_figure

    scores = {
        name: [games.late_return(run) for run in group]
        for name, group in measures.by_variant([r for r in runs if judge.finished(r)]).items()
    }
    found = {
        name: (
            scores.get(f"{name}-control", []),
            {float(r): scores[key] for r in REACHES if (key := f"{name}-reach-{r}") in scores},
        )
        for name in GAMES
    }
    caption = "Control and chains of different reach."
    curves = [
        visit_figure.by_steps(mine, folder, f"curves-{name}", f"MinAtar: {name}", caption)
        for name in GAMES
        for mine in [[run for run in runs if run.variant.startswith(name)]]
    ]
    return drawn(
        reach_figure.by_reach(found, folder),
        *curves,
        beaker_figure.beakers(runs, folder),
        depth_figure.depths(runs, folder),
    )


_MATCHES = "A chain of some reach plays as well as the control agent: {}"
_PART = "A chain of reach 1 {} plays as well as the control agent"
HELD_BACK = Reason(
    "up to a reach of 10 a chain pulls each weight back to what it was, and less is learnt in the "
    "same steps. At 100 the interval is not within a tenth: in short runs it is too wide, and at "
    "full length of Breakout it lies above the control's",
    "docs/results.md#a-larger-network-minatar",
)

EXPERIMENT = deep_experiment(
    name="minatar-single",
    title="Does a chain hold a larger network back?",
    lead="Deep Q-learning from minibatches on one game of MinAtar, with a network of 16 filters "
    "and 128 units. Control and chains that let weights go 0.1 to 100 standard deviations of their "
    "start. The paper reports that larger networks on Atari struggled and leaves the reason open.",
    summary="one game of MinAtar, by reach",
    variants=agents(),
    usual_variants=lambda scale: BRIEF if scale == "quick" else (),
    settings=lambda scale: games.settings_of(scale, [BREAKOUT], SCALES, {}),
    claims=claims,
    reasons={_MATCHES.format(name): HELD_BACK for name in GAMES}
    | {_PART.format(what): HELD_BACK for what in PARTS},
    figures=figures,
    tables=games.tables,
    scores=games.scores,
    seconds=games.seconds,
)

"""Deep agents that remember in other ways: tuned over one grid, judged at what each chose."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from bennafusi.agents.methods import MethodName
from bennafusi.experiments import ranking
from bennafusi.experiments.deep import deep_measures, deep_tables
from bennafusi.experiments.experiment import Changes, Runs
from bennafusi.experiments.statistics import LEAST_SEEDS
from bennafusi.results import Finding, Picture, RunData, Table
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import STREAM, STREAM_CHAIN, DeepSettings

MINE, NOTHING, TRIED = "benna-fusi", "control", "try-"
# Two beakers with a leak, as a long chain has it, and without; the first was slow-weights once.
TWO, FAST = "two-beakers", "fast-weights"
DOES_BETTER = "A chain does better than {}"
Score = Callable[[RunData], float]
Pair = tuple[str, str]  # two agents, of which the first is said to do better


class Chosen(NamedTuple):
    """The point of the grid that was best on the tuning seeds, of an agent on its tasks."""

    strength: float
    learning_rate: float


Points = Mapping[str, Mapping[str, Chosen]]  # by agent and then by tasks, with a + between them


def at(tasks: Sequence[str], *points: tuple[float, float]) -> dict[str, Chosen]:
    """Strength and rate of one agent on each of these tasks, in their order.

    Example:
        >>> at(("cartpole", "catcher"), (1.0, 1e-3), (0.1, 3e-4))["catcher"]
        Chosen(strength=0.1, learning_rate=0.0003)
    """
    return dict(zip(tasks, map(Chosen._make, points), strict=True))


def times(field: str, usual: float | None = None) -> dict[str, Callable[[DeepSettings], float]]:
    """A setting that takes the part of a strength: so many times its usual value."""

    def value(base: DeepSettings) -> float:
        part, _, name = field.partition(".")
        own = getattr(getattr(base, part), name) if usual is None else usual
        found = float(f"{own * base.method.strength:.9g}")
        return round(found) if isinstance(own, int) else found

    return {field: value}


_PLAIN: Changes = {"chain.n": 1, "method.strength": 1.0}
# Each differs from the control agent in one way, and has one strength that is swept.
AGENTS: dict[str, Changes] = {
    NOTHING: _PLAIN,
    MINE: {**times("chain.g12"), "method.strength": 1.0},
    TWO: {"chain.n": 2, **times("chain.g12"), "method.strength": 1.0},
    "slower-target": {**_PLAIN, **times("agent.tau", 1e-3)},
    "larger-epsilon": {**_PLAIN, **times("optimizer.eps", 1e-4)},
    **{
        FAST if name == "slow-weights" else name: {"chain.n": 1, "method.name": name}
        for name in get_args(MethodName)
        if name != "none"
    },
}


# Stream-Q takes steps of 1 where Adam takes 1e-3: a rate of the grid is a thousandth of its own.
STREAM_Q: Changes = {
    **STREAM,
    "optimizer.learning_rate": lambda base: float(f"{1e3 * base.optimizer.learning_rate:.9g}"),
    **times("stream.kappa"),
    "method.strength": 1.0,
}
# Chains around it, at the kappa that was best for it alone; their first tube is swept, around a
# hundredth of Adam's, because its steps are so much smaller.
STREAM_Q_CHAIN: Changes = {
    **STREAM_Q,
    **STREAM_CHAIN,
    "stream.kappa": 20.0,
    **times("chain.g12", 1e-4),
}
# Of all ways to remember the only one that is told when a task ends.
PERMANENT: Changes = {**_PLAIN, **times("boundary.rate"), "network.permanent": True}
# No way to remember, and told when a task ends: a new agent in each epoch. What others are held to.
RESET: Changes = {"schedule.agent_at_switch": "reset", "schedule.keep": False}
# Memories in data: the control agent with a replay that outlives a switch; its size is swept.
REPLAYS: dict[str, Changes] = {
    f"{kind}-replay": {
        **_PLAIN,
        **times("schedule.replay"),
        "schedule.replay_kind": kind,
        "schedule.keep": True,
    }
    for kind in ("reservoir", "cascade")
}


def variants(chosen: Points, agents: Mapping[str, Changes] = AGENTS) -> dict[str, Changes]:
    """Agents at the points that were chosen, and ``try-...``, which follow a sweep.

    A sweep is over ``method.strength`` (in multiples of the usual strength, whatever an agent's
    strength is) and ``optimizer.learning_rate``.

    Example:
        >>> found = variants({"slower-target": {"cartpole+catcher": Chosen(10.0, 1e-4)}})
        >>> list(found)[:2]
        ['slower-target', 'try-control']
        >>> found["slower-target"]["agent.tau"](DeepSettings())
        0.01
    """
    tuned = {name: fixed(name, agents[name], points) for name, points in chosen.items()}
    return {**tuned, **{f"{TRIED}{name}": changes for name, changes in agents.items()}}


def fixed(name: str, changes: Changes, points: Mapping[str, Chosen]) -> Changes:
    """An agent at the point of its tasks; an error if they have none."""

    def point(base: DeepSettings) -> Chosen:
        tasks = "+".join(base.tasks)
        if tasks not in points:
            raise ValueError(
                f"tasks={tasks}: no point of {name} has been chosen for them, only for "
                f"{', '.join(points)}; choose --variants {TRIED}{name} and a --sweep"
            )
        return points[tasks]

    def there(value: Any, base: DeepSettings) -> Any:
        strength, rate = point(base)
        here = {"method.strength": strength, "optimizer.learning_rate": rate}
        return value(changed(base, here))

    return {
        "method.strength": lambda base: point(base).strength,
        "optimizer.learning_rate": lambda base: point(base).learning_rate,
        **{k: partial(there, v) if callable(v) else v for k, v in changes.items()},
    }


def judged(runs: Runs, score: Score) -> dict[str, dict[int, float]]:
    """Scores of each tuned agent by its judged seeds, as far as they are finished.

    The reference that is told of switches is none of them. A run that diverged before it could be
    scored counts like the worst of all; one that ended and has nothing to be scored by, as when it
    is too short, does not count.
    """
    found: dict[str, dict[int, float]] = {}
    for run in sorted(runs, key=lambda run: run.seed):
        ended = run.seconds is not None or deep_measures.diverged(run)
        named = not run.variant.startswith(TRIED) and run.variant != deep_tables.ALONE
        if run.seed >= ranking.FIRST_JUDGED and ended and named:
            number = score(run)
            if deep_measures.diverged(run) or not math.isnan(number):
                found.setdefault(run.variant, {})[run.seed] = number
    known = [x for scores in found.values() for x in scores.values() if not math.isnan(x)]
    if not known:
        return {}
    worst = min(known)
    return {
        name: {seed: worst if math.isnan(x) else x for seed, x in scores.items()}
        for name, scores in found.items()
        if len(scores) >= LEAST_SEEDS
    }


def usual(chosen: Points, agents: Mapping[str, Changes] = AGENTS) -> tuple[str, ...]:
    """Those that are run unless others are named: what was chosen, or all that can be tried.

    An agent that was not tuned for all tasks that most of them are tuned for must be named.

    Example:
        >>> both = {"cartpole": Chosen(1.0, 1e-3), "catcher": Chosen(1.0, 1e-3)}
        >>> few = {"cartpole": Chosen(0.1, 1e-3)}
        >>> usual({"control": both, "benna-fusi": both, "stream-q-chain": few})
        ('control', 'benna-fusi')
    """
    counts = Counter(task for points in chosen.values() for task in points)
    tasks = {task for task, count in counts.items() if 2 * count > len(chosen)}
    whole = tuple(name for name, points in chosen.items() if points.keys() >= tasks)
    return whole or tuple(f"{TRIED}{name}" for name in agents)


AGAINST = {
    NOTHING: "Adam alone",
    "annealed": "a rate that falls as its kernel does",
    "slower-target": "a slower target network",
    "larger-epsilon": "a larger epsilon of Adam",
    TWO: "two beakers with a leak",
    FAST: "fast weights on slow ones",
    "online-ewc": "online EWC",
}


def claims(
    runs: Runs,
    score: Score,
    rule: str,
    also: Mapping[str, Pair] = MappingProxyType({}),
    against: Mapping[str, str] = AGAINST,
) -> list[Finding]:
    """The chain against Adam alone, and against each of the others; written before the runs.

    ``also`` are those of one experiment alone: who is said to do better than whom. ``against`` are
    the others, in words.
    """
    scores = judged(runs, score)
    how = (
        f"{rule}; tuned on seeds below {ranking.FIRST_JUDGED}, the others judge: the 95% interval "
        "of the difference is above 0"
    )
    pairs = {DOES_BETTER.format(words): (MINE, other) for other, words in against.items()}
    return [_better(scores, pair, text, how) for text, pair in {**pairs, **also}.items()]


def _better(
    scores: Mapping[str, Mapping[int, float]], pair: Pair, statement: str, rule: str
) -> Finding:
    one, other = (scores.get(name, {}) for name in pair)
    both = ranking.gap(one, other)
    if both is None:
        few = (
            f"not enough data: {LEAST_SEEDS} judged seeds of both, the same, from "
            f"{ranking.FIRST_JUDGED} on"
        )
        return Finding(statement, rule, few, None)
    gap, seeds = both
    text = f"{gap.value:+.4g} [{gap.low:+.4g}, {gap.high:+.4g}], {len(seeds)} seeds"
    if not one.keys() == other.keys() == set(seeds):
        text += f" that both have ({', '.join(map(str, seeds))})"
    return Finding(statement, rule, text, gap.low > 0)


def shown(runs: Runs) -> list[RunData]:
    """What stands beside a ranking: of judged agents no seed that was there to tune them.

    All runs, if there is none that judges.
    """
    judging = {run.variant for run in runs if run.seed >= ranking.FIRST_JUDGED}
    return [run for run in runs if run.seed >= ranking.FIRST_JUDGED or run.variant not in judging]


def judged_runs(runs: Runs) -> list[RunData]:
    """Those of the tuned agents and of the reference, for figures."""
    return [run for run in shown(runs) if not run.variant.startswith(TRIED)]


def ranking_drawn(runs: Runs, folder: Path, score: Score, rule: str) -> Picture | None:
    """Who is before whom, of the judged agents."""
    from bennafusi.experiments import ranking_figure

    name = rule.partition(",")[0]
    return ranking_figure.ranking(
        judged(runs, score), folder / "ranking", "Who is before whom", name
    )


def scores(run: RunData, score: Score, rule: str) -> dict[str, float]:
    """The score first, then those of all deep experiments.

    A run that diverged before it could be scored is below all others, so that no point of a grid is
    chosen for the seeds that it did not lose.
    """
    number = score(run)
    if math.isnan(number) and deep_measures.diverged(run):
        number = -math.inf
    return {rule.partition(",")[0]: number, **deep_tables.scores(run)}


def tables(runs: Runs, score: Score, rule: str) -> list[Table]:
    """The ranking, then those of all deep experiments."""
    rows: list[tuple[str | int | float, ...]] = [
        (place.rank, place.name, *(round(x, 4) for x in place.score), len(of[place.name]))
        for of in [judged(runs, score)]
        for place in ranking.places(of)
    ]
    title = f"{rule[0].upper()}{rule[1:]}, mean over the judged seeds; overlapping ranks are ties"
    columns = ("rank", "method", "score", "low 95%", "high 95%", "seeds")
    found = [Table("ranking", title, columns, rows)] if rows else []
    others = deep_tables.tables(shown(runs))  # the summary first; of no runs, none
    return [*others[:1], *found, *others[1:]]

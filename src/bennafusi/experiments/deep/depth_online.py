"""Our own claim about one task learnt online: does a depth still play when the weights have fallen?

One rule for every task, written before any run of the seeds that it judges (docs/depths.md). Of
Cart-Pole it is judged twice; the second time the depth is chosen with the seeds that the first one
judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bennafusi.experiments.deep import deep_measures as measures
from bennafusi.experiments.deep.deep_claims import KEPT, lacking
from bennafusi.experiments.deep.depth_choice import Look
from bennafusi.results import Finding, RunData


class Round(NamedTuple):
    """The seeds that choose a depth, and those that judge it."""

    choosing: tuple[int, ...]
    judging: tuple[int, ...]


FIRST = Round((0, 2), (10, 11, 12))  # chosen where the weights were first seen to fall
SECOND = Round((0, 2, 10, 11, 12), (13, 14, 15))


class Goal(NamedTuple):
    """What a depth has to do.

    Attributes:
        words: the end of the sentence that is judged.
        good: mean reward per game that is enough.
    """

    words: str
    good: float


CARTPOLE = Goal(
    "still plays Cart-Pole at the end in every seed, where the weights have fallen", KEPT
)
CATCHER = Goal(
    "plays Catcher well at the end in every seed, where the weights do not",
    measures.THRESHOLDS["catcher"],
)
LENGTH, LATE = 100_000, 20_000  # episodes: of a run, and of its end, where the weights fell
LOOKS = 20  # in that end


def plays_on(
    runs: list[RunData], name: str, seeds: Round = FIRST, goal: Goal = CARTPOLE
) -> Finding:
    """Whether a depth, chosen on some seeds, plays a task to the end of a run on others."""
    chosen, judged = map(_listed, seeds)
    statement = f"Ours: a network read from one depth, chosen on seeds {chosen}, {goal.words}"
    rule = (
        f"mean of five games at each look in the last {LATE:,} of {LENGTH:,} episodes; the depth "
        f"has the highest on seeds {chosen} (the shallowest of equals). On seeds {judged} its mean "
        f"is {goal.good} or above in each, and the weights' below that in one at least; if the "
        "weights fall in none, nothing is judged"
    )
    ends = {run.seed: late_means(run) for run in measures.by_variant(runs).get(name, [])}
    short = [seed for seed in (*seeds.choosing, *seeds.judging) if not ends.get(seed)]
    if short:
        lack = f"{name} has no {LOOKS} looks at the end of a full run in seed {_listed(short)}"
        return Finding(statement, rule, lacking([lack]), None)
    depth = best_depth([ends[seed] for seed in seeds.choosing])
    mine, weights = ([ends[seed].get(k, 0.0) for seed in seeds.judging] for k in (depth, 1))
    numbers = (f"{a:.4g} ({b:.4g})" for a, b in zip(mine, weights, strict=True))
    measured = f"beaker {depth} (the weights): {', '.join(numbers)}"
    if min(weights) >= goal.good:
        return Finding(statement, rule, lacking([f"the weights fell in none; {measured}"]), None)
    return Finding(statement, rule, measured, min(mine) >= goal.good)


def late_means(run: RunData) -> dict[int, float]:
    """What each depth earned late in a run of full length; empty if it is not one, or not over.

    Depths that were reached so late that looks in this part of the run lack them are left out.
    """
    looks: list[Look] = [look for look in run.records if look["kind"] == "depths"]
    late = [look for look in looks if LENGTH - LATE < look["episode"] <= LENGTH]
    if len(late) < LOOKS or looks[-1]["episode"] != LENGTH:
        return {}
    games = [next(iter(look["rewards"].values())) for look in late]
    shared = late[0]["depths"]
    return {depth: float(np.mean([g[k] for g in games])) for k, depth in enumerate(shared)}


def best_depth(ends: list[dict[int, float]]) -> int:
    """The depth below the weights with the highest mean over runs; the shallowest of equals.

    Example:
        >>> best_depth([{1: 500.0, 2: 400.0, 3: 450.0}, {1: 500.0, 2: 420.0, 3: 400.0}])
        3
    """
    deep = sorted(set.intersection(*(set(end) for end in ends)) - {1})
    return max(deep, key=lambda k: float(np.mean([end[k] for end in ends])))


def _listed(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, seeds))

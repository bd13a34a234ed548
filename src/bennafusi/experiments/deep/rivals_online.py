"""The experiment ``rivals-online``: is a chain the way to learn without a replay memory?"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from bennafusi.experiments.deep import deep_measures, rival_agents, table_s2
from bennafusi.experiments.deep.deep_claims import LONG_WINDOW
from bennafusi.experiments.deep.deep_experiment import curve, deep_experiment
from bennafusi.experiments.deep.deep_records import trials_of
from bennafusi.experiments.deep.rival_agents import Points, at
from bennafusi.experiments.experiment import UNKNOWN, Reason, Runs, Scale, drawn
from bennafusi.results import Picture, RunData
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings

QUICK = 4_000  # episodes
RULE = "mean test reward in the second half of the run, a diverged one's being its lowest"
AGENTS = {
    **rival_agents.AGENTS,
    "stream-q": rival_agents.STREAM_Q,
    "stream-q-chain": rival_agents.STREAM_Q_CHAIN,
}
AGAINST_STREAM = rival_agents.DOES_BETTER.format("stream-Q")
WITH_A_CHAIN = "Stream-Q does better with a chain than alone"
ALSO = {
    AGAINST_STREAM: (rival_agents.MINE, "stream-q"),
    WITH_A_CHAIN: ("stream-q-chain", "stream-q"),
}
# Of Cart-Pole, over 4,000 episodes and over 20,000.
SLOW = Reason(
    "it learns slowly: over 4,000 episodes nearly all others are ahead of it; over 20,000, when "
    "most of them have lost what they had learnt, stream-Q alone is level with it",
    "docs/rivals.md#who-learns-online",
)
HOLDS_BOTH = Reason(
    "a chain holds on to what is there: in three seeds of five to a good policy, which stream-Q "
    "alone loses now and then, in two to a poor one, which it leaves again",
    "docs/rivals.md#a-chain-around-stream-q",
)
# Of Catcher, over 4,000 episodes and over 20,000.
HOLDS_BACK = Reason(
    "it holds weights back where nothing is forgotten yet: Adam alone comes to 13 of 14.3 within "
    "2,000 episodes and still has 12.5 in the second half of 20,000, when the chain has 6.3",
    "docs/rivals.md#catcher",
)
# Of the long pole, over 4,000 episodes and over 20,000.
ALL_TIE = Reason(
    "nearly everybody ties: after 4,000 episodes the others sink while the chain rises, and after "
    "20,000 it has 496 to 500 in three seeds of five and holds on to a poor policy in two",
    "docs/rivals.md#the-long-pole",
)
# Of MountainCar, over 4,000 episodes.
NEVER_THERE = Reason(
    "no chain of the grid reaches the goal in a test, and the others rarely do: it is found by "
    "chance alone",
    "docs/rivals.md#mountaincar",
)
# Of Acrobot, over 4,000 episodes.
LARGE_STEPS = Reason(
    "it wants smaller steps than the grid has but for the control, whose best rate is a tenth of "
    "the least of the others, and for a rate that falls; and a chain is slow at first",
    "docs/rivals.md#acrobot",
)
# Of Breakout, over 4,000 episodes.
STILL_SLOW = Reason(
    "it holds weights back where nothing is forgotten yet: from episode 2,000 on it stays at 2.9 "
    "while the others go on to 4.5 and 6, and the tuning chose the weakest first tube of the grid",
    "docs/rivals.md#breakout",
)
_JUDGED = (words for name, words in rival_agents.AGAINST.items() if name != rival_agents.FAST)
_OTHERS = (*map(rival_agents.DOES_BETTER.format, _JUDGED), AGAINST_STREAM)
_FAST = rival_agents.DOES_BETTER.format(rival_agents.AGAINST[rival_agents.FAST])
WHY = {
    "cartpole": {**dict.fromkeys((*_OTHERS, _FAST), SLOW), WITH_A_CHAIN: HOLDS_BOTH},
    "catcher": dict.fromkeys((*_OTHERS, _FAST), HOLDS_BACK),
    "gymnax/Acrobot-v1": dict.fromkeys(_OTHERS, LARGE_STEPS),
    "cartpole-long": dict.fromkeys(_OTHERS, ALL_TIE),
    "gymnax/MountainCar-v0": dict.fromkeys(_OTHERS, NEVER_THERE),
    "gymnax/Breakout-MinAtar": dict.fromkeys(_OTHERS, STILL_SLOW),
}
# Of each agent strength and rate with the highest mean score of seeds 0 and 1 at quick scale, on
TUNED = (
    "cartpole",
    "catcher",
    "cartpole-long",
    "gymnax/MountainCar-v0",
    "gymnax/Acrobot-v1",
    "gymnax/Breakout-MinAtar",
)
CHOSEN: Points = {
    "control": at(
        TUNED, (1.0, 5e-4), (1.0, 5e-4), (1.0, 3e-4), (1.0, 2e-3), (1.0, 3e-5), (1.0, 1e-3)
    ),
    "benna-fusi": at(
        TUNED, (10.0, 3e-3), (0.1, 1e-3), (10.0, 3e-3), (0.1, 3e-4), (0.1, 3e-4), (0.1, 1e-3)
    ),
    rival_agents.TWO: at(
        TUNED, (10.0, 3e-4), (0.1, 3e-4), (10.0, 1e-3), (0.1, 3e-4), (1.0, 3e-3), (0.1, 3e-3)
    ),
    rival_agents.FAST: at(TUNED[:2], (1.0, 3e-4), (10.0, 1e-3)),
    "slower-target": at(
        TUNED, (1.0, 3e-4), (10.0, 3e-4), (1.0, 3e-4), (1.0, 1e-3), (1.0, 3e-4), (10.0, 1e-3)
    ),
    "larger-epsilon": at(
        TUNED, (10.0, 3e-4), (0.1, 3e-4), (0.1, 3e-4), (1.0, 3e-3), (0.1, 3e-4), (1.0, 3e-4)
    ),
    "annealed": at(
        TUNED, (0.1, 1e-3), (0.1, 3e-3), (10.0, 3e-3), (0.1, 3e-4), (0.1, 3e-3), (0.1, 3e-3)
    ),
    "online-ewc": at(
        TUNED, (0.1, 3e-4), (0.1, 1e-3), (0.1, 3e-4), (1.0, 3e-4), (1.0, 3e-4), (0.1, 1e-3)
    ),
    "stream-q": at(
        TUNED, (10.0, 3e-4), (1.0, 3e-4), (10.0, 3e-3), (0.1, 3e-4), (10.0, 3e-4), (1.0, 3e-3)
    ),
    "stream-q-chain": at(TUNED[:1], (0.1, 1e-3)),
}


def settings(scale: Scale) -> DeepSettings:
    """As ``online-cartpole``, shorter at quick scale: there are many agents.

    Another task is another setting, ``tasks``, and its discount, ``gammas``.
    """
    base = table_s2.online(scale)
    return changed(base, {"episodes": QUICK}) if scale == "quick" else base


def score(run: RunData) -> float:
    """By which agents are tuned and judged: :data:`RULE`.

    Example:
        >>> score(RunData("a", 10, []))
        nan
    """
    rewards = trials_of(run).reward.astype(np.float64)
    if not rewards.size:
        return float("nan")
    late = rewards[rewards.size // 2 :]
    return float(rewards.min() if deep_measures.diverged(run) else late.mean())


def why(statement: str, of: DeepSettings) -> Reason:
    """What was found on one task is not said of another."""
    return WHY.get("+".join(of.tasks), {}).get(statement, UNKNOWN)


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """Who is before whom, and learning curves, of the judged agents."""
    title, caption = "Learning without a replay memory", "Each agent at its tuned point."
    mine = rival_agents.judged_runs(runs)
    return drawn(
        rival_agents.ranking_drawn(runs, folder, score, RULE),
        curve(mine, folder, "curves", title, caption, LONG_WINDOW) if mine else None,
    )


EXPERIMENT = deep_experiment(
    name="rivals-online",
    title="Is a chain the way to learn without a replay memory?",
    lead="One task, Cart-Pole unless another is set, with one update per step and no replay "
    "memory, as in online-cartpole. A chain "
    "against stream-Q, other ways to remember, a slower target, a larger epsilon of Adam and an "
    "annealed rate, each tuned over the same grid on seeds below 10 and judged on others.",
    summary="ways to learn online, tuned alike",
    variants=rival_agents.variants(CHOSEN, AGENTS),
    usual_variants=lambda scale: rival_agents.usual(CHOSEN, AGENTS),
    settings=settings,
    scores=partial(rival_agents.scores, score=score, rule=RULE),
    shown=rival_agents.shown,
    claims=partial(rival_agents.claims, score=score, rule=RULE, also=ALSO),
    reasons={statement: partial(why, statement) for found in WHY.values() for statement in found},
    tables=partial(rival_agents.tables, score=score, rule=RULE),
    figures=figures,
)

"""The experiment ``online-choices``: is one set of open choices good for both tasks online?

The paper leaves nine choices of the online agents open. Each has two levels here, the one of our
defaults and one other; of the 512 sets there are 16 in the plan, a fractional factorial design in
which each choice is at either level in half of the sets and no two of them go together.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import NamedTuple

from bennafusi.experiments.deep import table_s2
from bennafusi.experiments.deep.deep_experiment import deep_experiment
from bennafusi.experiments.experiment import Changes, Scale
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings

TASKS = ("cartpole", "catcher")
DEFAULT = "default"
EPISODES = 30_000  # at quick scale: after that, the two tasks had parted in all runs seen


class Choice(NamedTuple):
    """What is open: the letter by which a set says that it is not the default, and what it is."""

    changes: Changes
    usual: str
    other: str


CHOICES: dict[str, Choice] = {
    "e": Choice({"optimizer.eps": 1e-4}, "Adam's epsilon 1e-8", "epsilon 1e-4"),
    "u": Choice({"chain.gated": False}, "gates", "no gates"),
    "h": Choice(
        {"chain.hidden_start": "copy"},
        "hidden weights drawn at the start",
        "hidden weights copied",
    ),
    "t": Choice({"agent.loss": "taken"}, "loss over all actions", "over the action taken"),
    "b": Choice({"time_out": "bootstrap"}, "a time-out is an end", "a time-out keeps its value"),
    "s": Choice(
        {"schedule.target_update": "episode"},
        "target follows every update",
        "target follows every episode",
    ),
    "p": Choice(
        {"network.gain": "none", "network.first_bias": 0.1},
        "gains and biases",
        "plain biases, the first at 0.1",
    ),
    "w": Choice({"chain.g12": 0.001}, "g12 0.01", "g12 0.001"),
    "n": Choice({"chain.n": 8}, "30 beakers", "8 beakers"),
}
# Four choices in all their combinations; the others as products of the signs of these, so that
# none of the nine goes with another one. The minus of the last brings the defaults into the plan.
FIRST = "eubw"
PRODUCTS = {"h": "eub", "t": "ubw", "s": "ebw", "p": "euw", "n": "eubw"}


def plan() -> tuple[str, ...]:
    """The sets, each by the letters of what is not as usual.

    Example:
        >>> plan()[:3], len(plan())
        (('default', 'tspwn', 'htbsn'), 16)
    """
    found = []
    for signs in product((-1, 1), repeat=len(FIRST)):
        sign = dict(zip(FIRST, signs, strict=True))
        for letter, of in PRODUCTS.items():
            odd = len(of) % 2
            sign[letter] = prod(sign[one] for one in of) * (1 if odd else -1)
        found.append("".join(letter for letter in CHOICES if sign[letter] > 0) or DEFAULT)
    return tuple(found)


def name_of(task: str, chosen: str) -> str:
    """Of a variant."""
    return f"{task}-{chosen}"


def _changes(task: str, chosen: str) -> Changes:
    letters = "" if chosen == DEFAULT else chosen
    found: dict[str, object] = dict(table_s2.task_fields(task))
    for letter in letters:
        found.update(CHOICES[letter].changes)
    return found


SETS = plan()


def settings(scale: Scale) -> DeepSettings:
    """Table S2's second column."""
    short = {"episodes": EPISODES} if scale == "quick" else {}
    return changed(table_s2.online(scale), short)


EXPERIMENT = deep_experiment(
    name="online-choices",
    title="Is one set of open choices good for both tasks online?",
    lead="Cart-Pole and Catcher without a replay database, by the Benna-Fusi agent, under 16 sets "
    "of nine choices that the paper leaves open: which of them keeps the one and learns the other?",
    summary="open choices, both tasks online",
    variants={name_of(task, chosen): _changes(task, chosen) for chosen in SETS for task in TASKS},
    settings=settings,
    seeds=1,
)

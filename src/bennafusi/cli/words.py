"""What is said of each experiment, in its results and in the report."""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """Of one experiment.

    Attributes:
        title: the question that it asks.
        lead: what is done.
        see: what to look for in its figures.
    """

    title: str
    lead: str
    see: str = ""


WORDS = {
    "memory": Words(
        "How long is a memory kept?",
        "Random patterns are stored one after another in chains of different length. How far "
        "does an old one still stand out, and for how long? Exact theory, and a simulation by "
        "the integrator that the optimisers use.",
        "Lines are theory, points the simulation. Each step to a longer chain should move the "
        "fall to the right by powers of ten, along one straight line.",
    ),
    "grid-switch": Words(
        "Does a table remember where the goal was?",
        "Tabular Q(lambda) on a 10x10 grid. Every 10,000 episodes the goal moves to the opposite "
        "corner. Control, Benna-Fusi and modified Benna-Fusi agents; Table S1 of the paper.",
        "In Figure 2 the Benna-Fusi agents should fall with every epoch and stay low, the "
        "control agent should not. In Figure 3 the far corner should be dark in V¹ and bright in "
        "V² and V³: the hidden values remember where the goal was.",
    ),
    "two-task": Words(
        "Does a network remember a task while it learns another?",
        "Deep soft Q-learning on Cart-Pole and Catcher, which take turns. How long does each "
        "task take to relearn? Benna-Fusi and control agents; Table S2 of the paper, multi-task.",
        "In the upper row, the Benna-Fusi agent (orange squares) should stay low from the second "
        "visit on; controls that forget climb into the strip of ∞.",
    ),
    "online-cartpole": Words(
        "Can an agent learn from the newest experience alone?",
        "Deep soft Q-learning on Cart-Pole, one update per step and no replay database. "
        "Benna-Fusi and control agents; Table S2 of the paper, single task.",
        "The Benna-Fusi agent should rise to 500 and stay there; the controls should rise and "
        "fall, or never rise.",
    ),
    "epoch-length": Words(
        "Over which timescales does it remember?",
        "Cart-Pole and Catcher in turn, in epochs from an eighth to eight times the usual "
        "length, with as many episodes in all.",
        "In every row the Benna-Fusi agent should end below the control, however long an epoch is.",
    ),
    "three-task": Words(
        "Does it remember two tasks while it learns a third?",
        "Cart-Pole with a long pole, Catcher and Cart-Pole, which take turns.",
        "The Benna-Fusi agent should end below the control in every column.",
    ),
    "replay-size": Words(
        "How large a replay database does it take?",
        "Cart-Pole with one update per step from databases of different size, and the Benna-Fusi "
        "agent without one.",
        "Small databases should not reach 500 and stay there; the Benna-Fusi agent without one "
        "should.",
    ),
    "online-catcher": Words(
        "Is that so for a task that forgets less?",
        "Catcher with one update per step and no replay database.",
        "The control should be faster, and both should end on the same height.",
    ),
    "epsilon-floor": Words(
        "Would lasting exploration do as well?",
        "Control agents on Cart-Pole without a replay database, whose exploration never falls "
        "below a floor.",
        "No floor under the exploration should lead to a lasting 500.",
    ),
    "ablation": Words(
        "How much depends on what the paper leaves open?",
        "The Benna-Fusi agent with one choice changed at a time, with two tasks in turn and on "
        "Cart-Pole online.",
        "Whatever falls far behind the default matters.",
    ),
    "train": Words(
        "One deep agent",
        "Made by bennafusi train: an agent of the user's choice, on tasks of the user's choice.",
    ),
}

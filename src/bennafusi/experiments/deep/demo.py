"""The experiment ``demo``: with and without a chain, side by side in a minute or two."""

from __future__ import annotations

from functools import partial

from bennafusi.experiments.deep import deep_claims as judge
from bennafusi.experiments.deep import table_s2
from bennafusi.experiments.deep.deep_experiment import curve_figures, deep_experiment
from bennafusi.experiments.experiment import Scale
from bennafusi.training.changes import changed
from bennafusi.training.deep_settings import DeepSettings

EPSILON = "1e-4"  # of Adam


def settings(scale: Scale) -> DeepSettings:
    """Table S2, learnt online, with an epsilon of which the paper says nothing."""
    return changed(table_s2.online(scale), {"optimizer.eps": float(EPSILON)})


# One seed is to look at, so there are no claims: online-cartpole and online-epsilon judge.
EXPERIMENT = deep_experiment(
    name="demo",
    title="What does a chain do for an agent without a replay memory?",
    lead="Two agents learn Cart-Pole from the newest step alone, one update each, and throw it "
    f"away: the loss is over all actions, Adam's epsilon is {EPSILON}, and everything is equal but "
    "for the chain behind every weight.",
    summary="with and without a chain, 1 to 2 minutes",
    variants={"benna-fusi": {}, "control-1e-3": table_s2.CONTROLS["control-1e-3"]},
    settings=settings,
    seeds=1,
    figures=partial(
        curve_figures,
        stem="demo",
        title="Cart-Pole, learnt online",
        caption="With a chain behind every weight, and without.",
        paper_window=judge.LONG_WINDOW,
    ),
)

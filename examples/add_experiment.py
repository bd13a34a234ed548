"""An experiment of your own: how much of a first target is left in a weight after a second one.

As a plugin of the command (docs/extending.md says how): bennafusi run two-targets
"""

# ruff: noqa: D101, D102 - docs/extending.md says it, around the code
# --8<-- [start:experiment]
from dataclasses import dataclass

import jax
import optax

from bennafusi import Chain, consolidate
from bennafusi.experiments.experiment import Experiment
from bennafusi.results import Finding


@dataclass(frozen=True)
class Settings:
    beakers: int = 6
    updates: int = 1_000


class TwoTargets:
    def __init__(self, settings, seed):
        self.settings, n = settings, settings.beakers
        self.optimizer = consolidate(optax.sgd(0.05), Chain(n, 0.05, leak=n > 1, gated=False))
        self.targets = jax.random.normal(jax.random.key(seed), (2, 20))

    def initial(self):
        weights = jax.numpy.zeros(20)
        return weights, self.optimizer.init(weights), jax.numpy.int32(0)

    def advance(self, state):  # to the end of one target
        def update(_, carry):
            weights, optimizer, place = carry
            gradient = weights - self.targets[place]
            updates, optimizer = self.optimizer.update(gradient, optimizer, weights)
            return optax.apply_updates(weights, updates), optimizer, place

        weights, optimizer, place = jax.lax.fori_loop(0, self.settings.updates, update, state)
        first, second = ((weights - self.targets) ** 2).mean(axis=1).tolist()
        return (weights, optimizer, place + 1), [
            {"kind": "error", "first": first, "second": second}
        ]

    def progress(self, state):
        return int(state[2]), len(self.targets)

    def check(self, state):
        return None if bool(jax.numpy.isfinite(state[0]).all()) else "weights: not finite"

    def final(self, state):
        return {"weights": jax.device_get(state[0])}


# --8<-- [end:experiment]


# --8<-- [start:claims]
def claims(runs):
    """One statement, the rule it is judged by, the numbers, and whether it holds."""
    errors = {
        name: [r.records[-1]["first"] for r in runs if r.variant == name] for name in VARIANTS
    }
    means = {name: sum(mine) / len(mine) for name, mine in errors.items() if mine}
    holds = means["chain"] < means["no-chain"] if len(means) == 2 else None
    return [Finding("A chain keeps more of the first target", "a smaller error", str(means), holds)]


VARIANTS = {"no-chain": {"beakers": 1}, "chain": {}}
EXPERIMENT = Experiment(
    name="two-targets",
    title="What is left of a first target after a second one?",
    lead="Twenty weights follow two targets, one after the other.",
    summary="two targets, one after the other",
    settings=lambda scale: Settings(updates=100 if scale == "smoke" else 1_000),
    job=TwoTargets,
    variants=VARIANTS,
    claims=claims,
    scores=lambda run: {"error on the first target": run.records[-1]["first"]},
)
# --8<-- [end:claims]

"""An experiment of your own: how much of a first target is left in a weight after a second one.

As a plugin of the command (docs/extending.md says how): bennafusi run two-targets
"""

# ruff: noqa: D101, D102, D103 - docs/extending.md says it, around the code
# --8<-- [start:experiment]
import jax
import optax

from bennafusi import Chain, consolidate
from bennafusi.experiments.experiment import Experiment
from bennafusi.results import Finding


class TwoTargets:
    def __init__(self, chain, seed):
        self.optimizer = consolidate(optax.sgd(0.05), chain)
        self.targets = jax.random.normal(jax.random.key(seed), (2, 20))

    def initial(self):
        return jax.numpy.zeros(20), self.optimizer.init(jax.numpy.zeros(20)), jax.numpy.int32(0)

    def advance(self, state):  # to the end of one target
        def update(_, state):
            weights, beakers, place = state
            steps, beakers = self.optimizer.update(weights - self.targets[place], beakers, weights)
            return weights + steps, beakers, place

        weights, beakers, place = jax.lax.fori_loop(0, 1_000, update, state)
        lost = float(((weights - self.targets[0]) ** 2).mean())
        return (weights, beakers, place + 1), [{"kind": "target", "lost": lost}]

    def progress(self, state):
        return int(state[2]), len(self.targets)

    def check(self, state):
        return None if bool(jax.numpy.isfinite(state[0]).all()) else "weights: not finite"

    def final(self, state):
        return {"weights": jax.device_get(state[0])}


# --8<-- [end:experiment]


# --8<-- [start:claims]
def claims(runs):
    lost = {v: [r.records[-1]["lost"] for r in runs if r.variant == v] for v in EXPERIMENT.variants}
    holds = max(lost["chain"]) < min(lost["no-chain"]) if all(lost.values()) else None
    return [Finding("A chain keeps more of the first target", "in all seeds", str(lost), holds)]


EXPERIMENT = Experiment(
    name="two-targets",
    title="What is left of a first target after a second one?",
    lead="Twenty weights follow two targets, one after the other.",
    summary="two targets, one after the other",
    settings=lambda scale: Chain(n=6, g12=0.05, gated=False),
    job=TwoTargets,
    variants={"no-chain": {"n": 1, "leak": False}, "chain": {}},
    claims=claims,
    scores=lambda run: {"error on the first target": run.records[-1]["lost"]},
)
# --8<-- [end:claims]

"""An experiment of your own: durable runs, from outside the package, that judge themselves.

How much of a first target is left in a weight after a second one, by the number of beakers.

python examples/add_experiment.py [FOLDER]
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from bennafusi.runs import local, metrics
from bennafusi.runs.config import from_json, to_json
from bennafusi.runs.job import RunSpec
from bennafusi.runs.plan import plan, prepare
from bennafusi.runs.worker import work


# --8<-- [start:settings]
@dataclass(frozen=True)
class Settings:
    """What all runs share; kept as JSON in each run's config.json, and checked when read."""

    updates: int = field(default=2_000, metadata={"min": 1})
    chunk: int = 500
    g12: float = 0.05


VARIANTS = {"no-chain": 1, "six-beakers": 6}
# --8<-- [end:settings]


# --8<-- [start:job]
class TwoTargets:
    """The job of one variant and seed: pure functions of a state that holds all a resume needs."""

    def __init__(self, variant: str, seed: int, settings: Settings) -> None:
        import optax  # JAX starts here, once the run's process has its signal handlers

        from bennafusi import Chain, consolidate

        self.settings, self.seed, n = settings, seed, VARIANTS[variant]
        chain = Chain(n, settings.g12, leak=n > 1, gated=False)
        self.optimizer = consolidate(optax.sgd(0.05), chain)

    def initial(self):
        """Weights, the optimiser with its beakers, and the number of updates made."""
        import jax
        import jax.numpy as jnp

        first, second = jax.random.normal(jax.random.key(self.seed), (2, 20))
        weights = jnp.zeros(20)
        return (weights, self.optimizer.init(weights), first, second, jnp.int32(0))

    def advance(self, state):
        """One chunk, and one record about it."""
        import jax
        import jax.numpy as jnp
        import optax

        half = self.settings.updates // 2

        @jax.jit
        def chunk(state):
            def update(_, state):
                weights, optimizer, first, second, made = state
                gradient = weights - jnp.where(made < half, first, second)
                updates, optimizer = self.optimizer.update(gradient, optimizer, weights)
                return optax.apply_updates(weights, updates), optimizer, first, second, made + 1

            left = jnp.minimum(self.settings.updates - state[4], self.settings.chunk)
            return jax.lax.fori_loop(0, left, update, state)

        state = chunk(state)
        weights, _, first, second, made = state
        error = {
            "first": jnp.mean((weights - first) ** 2),
            "second": jnp.mean((weights - second) ** 2),
        }
        return state, [{"updates": int(made)} | {name: float(e) for name, e in error.items()}]

    def progress(self, state):
        """Updates made, and in all."""
        return int(state[4]), self.settings.updates

    def check(self, state):
        """What is wrong with the state, if anything is."""
        import numpy as np

        return None if np.isfinite(state[0]).all() else "weights: not finite"

    def final(self, state):
        """Arrays to keep."""
        import numpy as np

        return {"weights": np.asarray(state[0])}


def make_job(spec: RunSpec) -> TwoTargets:
    """From what a run's folder says to its job."""
    return TwoTargets(spec.variant, spec.seed, from_json(Settings, spec.settings))


# --8<-- [end:job]


# --8<-- [start:main]
def main(root: Path) -> int:
    """Plan, run two at a time, read what came out."""
    specs = plan("two-targets", VARIANTS, range(2), to_json(Settings()))
    folders = prepare(root, specs)  # finished ones stay, interrupted ones go on
    outcome = local.run_all(folders, [sys.executable, __file__, "work"], workers=2)
    print(f"{outcome.done} of {len(specs)} runs done")
    for folder, spec in zip(folders, specs, strict=True):
        last = list(metrics.read(folder.metrics))[-1]
        print(
            f"{spec.variant:12} seed {spec.seed}: after {last['updates']} updates the error is "
            f"{last['second']:.3f} on the new target, {last['first']:.3f} on the old one"
        )
    return outcome.code


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:  # the process of one run
        sys.exit(work(Path(sys.argv[2]), make_job))
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/two-targets")))
# --8<-- [end:main]

"""What a step of the tabular agent costs: one core, one run, every number a ratio to its peer.

python benchmarks/grid.py            # a table for the terminal
python benchmarks/grid.py --markdown # the same, for docs/performance.md
"""

from harness import Round, best, options, table  # isort: skip - before JAX

import sys
import time

import jax
import numpy as np

from bennafusi.training.changes import changed
from bennafusi.training.tabular import advance, start
from bennafusi.training.tabular_settings import TabularSettings

AGENTS = {
    "control": changed(TabularSettings(), {"chain.n": 1}),
    "Benna-Fusi": TabularSettings(),
    "modified": changed(TabularSettings(), {"agent.modulation": "trace"}),
    "directional": changed(TabularSettings(), {"agent.modulation": "directional"}),
}
STEPS_PER_RUN = 3.6e6  # measured at the paper's scale; a run that stalls at a switch takes more
SEEDS, CORES = 3, 2


def compiled(settings, steps) -> Round:
    """Our loop, going on from round to round."""
    state, _ = jax.block_until_ready(advance(settings, start(settings, 0), steps))

    def run():
        nonlocal state
        begin = time.perf_counter()
        state, _ = jax.block_until_ready(advance(settings, state, steps))
        return (time.perf_counter() - begin) / steps * 1e6

    return run


class Vectorised:
    """The same step in NumPy: whole arrays, updated in place, random numbers drawn in blocks."""

    def __init__(self, settings):
        self.s, self.rng = settings, np.random.default_rng(0)
        cells = np.arange(settings.size**2)
        row, column = np.divmod(cells, settings.size)
        last = settings.size - 1
        self.moves = np.stack(
            [
                np.maximum(row - 1, 0) * settings.size + column,
                row * settings.size + np.minimum(column + 1, last),
                np.minimum(row + 1, last) * settings.size + column,
                row * settings.size + np.maximum(column - 1, 0),
                cells,
            ],
            axis=1,
        ).tolist()
        self.goal = settings.grid.goals[0]
        self.u = np.zeros((settings.chain.n, cells.size, 5))
        self.drop = np.zeros_like(self.u)
        self.e = np.zeros((cells.size, 5))
        self.inward = settings.learner.scheme.from_above[1:, None, None]
        self.back = settings.learner.scheme.from_below[:, None, None]
        self.cell, self.length = 0, 0

    def steps(self, count):
        """Act, move, learn and let flow, ``count`` times."""
        s, rule, u, e, drop = self.s, self.s.agent, self.u, self.e, self.drop
        explore = (self.rng.random(count) < rule.epsilon).tolist()
        rank = self.rng.random((count, 5))
        starts = self.rng.integers(s.size**2, size=count).tolist()
        cell = self.cell
        for i in range(count):
            q = u[0, cell]
            allowed = rank[i] if explore[i] else np.where(q == q.max(), rank[i], -1.0)
            action = int(allowed.argmax())
            found = action == 4 and cell == self.goal
            reached = self.moves[cell][action]
            target = 1.0 if found else rule.gamma * u[0, reached].max()
            delta = target - u[0, cell, action]
            np.multiply(e, rule.gamma * rule.lam if self.length else 0.0, out=e)
            e[cell, action] = 1.0
            u[0] += (rule.learning_rate * delta) * e
            np.subtract(u[:-1], u[1:], out=drop[:-1])
            drop[-1] = u[-1]
            u -= self.back * drop
            u[1:] += self.inward * drop[:-1]
            self.length += 1
            cell = reached
            if found or self.length == s.max_steps:
                cell, self.length = starts[i], 0
        self.cell = cell


def numpy_round(settings, steps) -> Round:
    """NumPy's loop, after it has found the reward a few times."""
    peer = Vectorised(settings)
    peer.steps(20_000)

    def run():
        begin = time.perf_counter()
        peer.steps(steps)
        return (time.perf_counter() - begin) / steps * 1e6

    return run


def main():
    """Print the table; exit code 1 if a goal was missed."""
    chosen = options(__doc__, repeats=10)
    rounds = {name: compiled(settings, 50_000) for name, settings in AGENTS.items()}
    times = best({**rounds, "NumPy": numpy_round(AGENTS["Benna-Fusi"], 2000)}, chosen.repeats)
    ours, control = times["Benna-Fusi"], times["control"]
    rows = [
        ("vectorised NumPy, n=3, one agent-step", times["NumPy"], "Benna-Fusi", ours, ">= 5"),
        ("Benna-Fusi, n=3", ours, "control", control, "<= 2"),
        ("modified Benna-Fusi, n=3", times["modified"], "control", control, "<= 2"),
        ("directional Benna-Fusi, n=3", times["directional"], "control", control, "<= 2"),
    ]
    missed = table(rows, chosen.markdown)
    paper = [times[name] for name in ("control", "Benna-Fusi", "modified")]
    seconds = SEEDS * sum(paper) * 1e-6 * STEPS_PER_RUN / CORES
    print(f"\n{1e6 / ours:,.0f} steps/s of Benna-Fusi, {1e6 / control:,.0f} of control, per core")
    print(
        f"all nine paper-scale runs on two cores: about {seconds:.0f} s plus compilation, at "
        f"{STEPS_PER_RUN:,.0f} steps per run; a run that stalls after a switch takes longer"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

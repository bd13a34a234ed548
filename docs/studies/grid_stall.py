"""Why some modified agents stall on the grid after the first switch.

python docs/studies/grid_stall.py [FOLDER]      (about six minutes on one core)

Follows the agent that stalls (modified, seed 1) through its second epoch, compares the rate at
which its values fade with the eigenvalues of the mean linear system, and lets agents of both kinds
go on from the same stalled table. Writes ``grid-stall.json`` and ``grid-stall.png``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from bennafusi.agents import q_lambda
from bennafusi.agents.q_lambda import QLambda, TableState
from bennafusi.colours import BLUE, GREEN, SKY
from bennafusi.experiments.agent_styles import styles
from bennafusi.experiments.registry import find
from bennafusi.training import tabular
from bennafusi.training.rows import trimmed
from bennafusi.training.tabular_settings import TabularSettings

Float64 = NDArray[np.float64]
SEED = 1  # the modified agent of the results page that needs 20 million steps
LOOK = 100_000  # steps between two looks
STALLED = 4_200_000  # a moment in the stall from which others go on
WINDOW = 1_000_000  # steps over which the linear system is averaged
PATIENCE = 12_000_000  # steps after which an agent has not escaped
TRIES = 8


def settings_of(variant: str) -> TabularSettings:
    """Table S1, for one of its agents."""
    experiment = find("grid-switch")
    settings: TabularSettings = experiment.settings_of(variant, experiment.settings("paper"))
    return settings


class Look(NamedTuple):
    """The table at one moment of the second epoch, float64."""

    steps: int
    levels: Float64
    state: Any


def follow(variant: str, seed: int) -> list[Look]:
    """The second epoch of an agent, up to its first reward and a little further."""
    chosen = settings_of(variant)
    state, looks = tabular.start(chosen, seed), []
    while int(state.epoch) < 2:
        state, _ = tabular.advance(chosen, state, LOOK)
        if int(state.epoch) == 1:
            levels = np.stack([np.asarray(level) for level in state.table.levels])
            looks.append(Look(int(state.steps), levels, jax.tree.map(np.asarray, state)))
    return looks


class Walk(NamedTuple):
    """What an agent did for a while: pair visited, best pair then, whether an episode began."""

    pair: NDArray[np.int32]
    best: NDArray[np.int32]
    first: NDArray[np.bool_]


def walk(variant: str, look: Look, steps: int) -> Walk:
    """Go on from a look, step by step, and write down what the update was made of."""
    chosen = settings_of(variant)
    agent, grid = chosen.learner, chosen.grid

    def step(carry: tuple[TableState, Any], key: Array) -> Any:
        table, here = carry
        act, start = jax.random.split(key)
        action = q_lambda.act(
            q_lambda.values(agent, table, here.cell), q_lambda.draw_noise(agent, act)
        )
        there, reward, found, late = grid.step(here, action)
        best = there.cell * agent.actions + jnp.argmax(q_lambda.values(agent, table, there.cell))
        first = here.steps == 0
        table = q_lambda.learn(
            agent,
            table,
            s_tm1=here.cell,
            a_tm1=action,
            r_t=reward.astype(jnp.float64),
            discount_t=jnp.where(found, 0.0, agent.rule.gamma),
            s_t=there.cell,
            first_tm1=first,
        )
        over = found | late
        cell = jnp.where(over, grid.draw_start(start), there.cell)
        after = there._replace(cell=cell, steps=jnp.where(over, 0, there.steps))
        return (table, after), (here.cell * agent.actions + action, best, first)

    with jax.enable_x64(True):
        begin = (
            jax.tree.map(jnp.asarray, look.state.table),
            jax.tree.map(jnp.asarray, look.state.grid),
        )
        keys = jax.random.split(jax.random.key(SEED), steps)
        _, seen = jax.jit(lambda c, k: lax.scan(step, c, k))(begin, keys)
        return Walk(*(np.asarray(column) for column in seen))


def system(agent: QLambda, done: Walk, modulated: bool) -> tuple[Float64, Float64]:
    r"""The mean linear system :math:`dQ/dt = G Q` of all levels, and the mean trace of each pair.

    Without reward one update is linear in the levels, given what was visited and which pair was
    best; its mean over a walk is a matrix.
    """
    pairs = agent.states * agent.actions
    learning, total = np.zeros((pairs, pairs)), np.zeros(pairs)
    trace, fade = np.zeros(pairs), agent.rule.gamma * agent.rule.lam
    for pair, best, first in zip(*(column.tolist() for column in done), strict=True):
        trace *= 0.0 if first else fade
        trace[pair] = 1.0
        learning[:, best] += agent.rule.learning_rate * agent.rule.gamma * trace
        learning[:, pair] -= agent.rule.learning_rate * trace
        total += trace
    mean = total / len(done.pair)
    flow = agent.rule.trace_scale * mean if modulated else np.ones(pairs)
    n, inward, back = agent.chain.n, agent.scheme.from_above, agent.scheme.from_below
    blocks = [[np.zeros((pairs, pairs)) for _ in range(n)] for _ in range(n)]
    for k in range(n):
        blocks[k][k] -= np.diag(back[k] + (inward[k] * flow if k else np.zeros(pairs)))
        if k:
            blocks[k][k - 1] += np.diag(inward[k] * flow)
        if k + 1 < n:
            blocks[k][k + 1] += back[k] * np.eye(pairs)
    blocks[0][0] += learning / len(done.pair)
    return np.block(blocks), mean


def fading(agent: QLambda, flow: float, visited: bool) -> float:
    """How fast a pair's levels fade, per step: of one never visited, or held at 0 by visits."""
    n, inward, back = agent.chain.n, agent.scheme.from_above * flow, agent.scheme.from_below
    matrix = np.diag(-inward - back) + np.diag(back[:-1], 1) + np.diag(inward[1:], -1)
    rows = matrix[1:n, 1:n] if visited else matrix
    return float(-np.linalg.eigvals(rows).real.max())


def escape(variant: str, look: Look, seed: int) -> int | None:
    """Steps to the first reward from a stalled table on; None if there was none."""
    chosen = settings_of(variant)
    other = tabular.start(chosen, 1000 + seed)
    zero = np.zeros_like(look.state.steps)
    state = look.state._replace(key=np.asarray(other.key), steps=zero)
    while int(state.steps) < PATIENCE:
        state, records = tabular.advance(chosen, state, 2 * LOOK)
        columns = trimmed(records)
        found = np.flatnonzero(columns["found"])
        if found.size:
            return int(columns["end"][found[0]])
    return None


def study() -> dict[str, Any]:
    """All numbers of the finding."""
    looks = follow("modified", SEED)
    stalled = next(look for look in looks if look.steps >= STALLED)
    end = next(i for i, look in enumerate(looks) if look.levels[0].max() > 0.5 and i > 10)
    agent = settings_of("modified").learner
    matrix, mean = system(agent, walk("modified", stalled, WINDOW), modulated=True)
    eigenvalues = np.sort(np.linalg.eigvals(matrix).real)[::-1]
    norms = np.array([np.linalg.norm(look.levels, axis=1) for look in looks[:end]])
    steps = np.array([look.steps for look in looks[:end]])
    late = steps >= steps[-1] - 5_000_000
    slopes = [float(-np.polyfit(steps[late], np.log(column[late]), 1)[0]) for column in norms.T]
    flow = float(agent.rule.trace_scale * np.median(mean[mean > 0]))
    return {
        "steps": steps.tolist(),
        "norms": norms.tolist(),
        "fading": slopes,
        "eigenvalues": [float(value) for value in eigenvalues[:100]],
        "pairs": {
            "modified": [fading(agent, 0.0, False), fading(agent, flow, True)],
            "benna-fusi": [fading(agent, 1.0, False), fading(agent, 1.0, True)],
        },
        "flow": flow,
        "shapes": [_shape(looks, at) for at in (STALLED, 2 * STALLED, 4 * STALLED)],
        "escapes": {
            variant: [escape(variant, stalled, seed) for seed in range(TRIES)]
            for variant in ("modified", "benna-fusi")
        },
    }


def _shape(looks: list[Look], at: int) -> dict[str, Any]:
    """The hidden values of a moment, divided by their highest."""
    look = next(look for look in looks if look.steps >= at)
    values = look.levels.reshape(3, 100, 5).max(axis=-1)
    top = values.max(axis=1, keepdims=True)
    return {"steps": look.steps, "highest": top[:, 0].tolist(), "values": (values / top).tolist()}


def draw(found: dict[str, Any]) -> plt.Figure:
    """Values that fade together, a shape that stays, and who gets out."""
    with matplotlib.rc_context({"font.size": 10, "svg.hashsalt": "bennafusi"}):
        figure = plt.figure(figsize=(11, 3.9), layout="constrained")
        fade, *pictures, out = figure.subplots(1, 5, width_ratios=[2.2, 1, 1, 1, 1.5])
        steps = np.array(found["steps"]) / 1e6
        for name, column, colour in zip(
            "¹²³", np.transpose(found["norms"]), (SKY, BLUE, GREEN), strict=True
        ):
            fade.semilogy(steps, column, color=colour, label=f"Q{name}")
        rate = -found["eigenvalues"][0]
        guide = 3 * found["norms"][-1][2] * np.exp(rate * 1e6 * (steps[-1] - steps))
        fade.semilogy(steps, guide, color="0.5", ls="--", lw=1, label="slowest eigenvalue")
        fade.set(xlabel="million steps", ylabel="size of all values", ylim=(None, 3))
        fade.set_title("all levels fade together", fontsize=10)
        fade.legend(frameon=False, fontsize=8)
        for axes, shape in zip(pictures, found["shapes"], strict=True):
            axes.imshow(np.reshape(shape["values"][1], (10, 10)), cmap="viridis", vmin=0, vmax=1)
            axes.plot(9, 0, "o", mfc="none", mec="w", ms=8)
            axes.plot(0, 9, "w*", ms=8)
            axes.set(xticks=[], yticks=[])
            axes.set_title(
                f"{shape['steps'] / 1e6:.0f} million:\nV² to {shape['highest'][1]:.0e}", fontsize=9
            )
        labels = []
        for row, (variant, style) in enumerate(styles(("modified", "benna-fusi")).items()):
            times = found["escapes"][variant]
            for taken in times:
                x, marker = (PATIENCE, ">") if taken is None else (taken, "o")
                out.plot(x / 1e6, row, marker, color=style.colour, alpha=0.5)
            labels.append(f"{variant}\n{sum(x is not None for x in times)} of {len(times)}")
        out.set(yticks=[0, 1], ylim=(-0.7, 1.7), xlabel="million steps", xlim=(0, 13))
        out.set_yticklabels(labels)
        out.set_title("from one stalled table\nto the first reward", fontsize=9)
        return figure


def main(folder: Path) -> None:
    """Study, print, draw."""
    folder.mkdir(parents=True, exist_ok=True)
    found = study()
    (folder / "grid-stall.json").write_text(json.dumps(found) + "\n")
    for name in ("fading", "pairs", "flow", "escapes"):
        print(f"{name}: {json.dumps(found[name])}")
    print(f"slowest eigenvalues: {found['eigenvalues'][0]:.3g} ... {found['eigenvalues'][-1]:.3g}")
    figure = draw(found)
    figure.savefig(folder / "grid-stall.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images"))

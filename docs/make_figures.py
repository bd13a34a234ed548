"""Draw the figures that explain the model, from the model itself, and rivals' from results/.

python docs/make_figures.py [FOLDER]
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import optax
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from bennafusi import Chain, beakers, consolidate, simulate
from bennafusi.colours import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from bennafusi.experiments.deep import curve_figure
from bennafusi.experiments.figure_style import house_style
from bennafusi.synapse import retention

STYLE = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
    "svg.hashsalt": "bennafusi",
    "legend.frameon": False,
}
RESULTS = Path(__file__).parent.parent / "results" / "quick"
RIVALS = {  # pictures of agents that learn online, and the folders of results that they are of
    "rivals-online": ("rivals-online",),
    "rivals-online-longer": ("rivals-online-longer", "rivals-online-annealed"),
    "rivals-online-catcher": ("rivals-online-catcher",),
    "rivals-online-catcher-longer": ("rivals-online-catcher-longer", "rivals-online-catcher-rest"),
    "rivals-online-pole": ("rivals-online-pole",),
    "rivals-online-pole-longer": ("rivals-online-pole-longer",),
    "rivals-online-acrobot": ("rivals-online-acrobot",),
    "rivals-online-mountaincar": ("rivals-online-mountaincar",),
    "rivals-online-breakout": ("rivals-online-breakout",),
}


def main(folder: Path) -> list[Path]:
    """Draw all figures into a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Callable[[], Figure]] = {
        "beakers": draw_beakers,
        "timescales": draw_timescales,
        "kernel-by-n-and-g12": draw_kernels,
        "shortest-too-short": draw_shortest,
        "two-targets": draw_two_targets,
        "gates": draw_gates,
        "flow": draw_flow,
        "variance-by-depth": draw_variances,
        **{name: partial(draw_rivals, folders) for name, folders in RIVALS.items()},
    }
    paths = []
    for name, draw in figures.items():
        with matplotlib.rc_context(STYLE):
            figure = draw()
            paths.append(folder / f"{name}.png")
            figure.savefig(paths[-1], dpi=110, bbox_inches="tight", metadata={"Software": None})
            plt.close(figure)
    return paths


def draw_beakers() -> Figure:
    """Four beakers after one update, at three times."""
    chain, moments = Chain(4, 0.1, gated=False), (0, 10, 300)
    impulse = jnp.zeros(moments[-1] + 1).at[0].set(1.0)
    levels = np.asarray(simulate(chain, impulse, method="exact", record_every=1))
    figure, panels = plt.subplots(3, 1, figsize=(8, 6.4), sharex=True)
    for axes, moment in zip(panels, moments, strict=True):
        _pour(axes, chain, levels[moment])
        when = "right after an update" if moment == 0 else f"{moment} updates later"
        axes.set_title(f"{when}: the weight is {levels[moment, 0]:.2f}", loc="left", fontsize=11)
    figure.tight_layout(h_pad=1.5)
    return figure


def _pour(axes: Axes, chain: Chain, levels: NDArray[np.float32]) -> None:
    left, gap, height = 0.0, 1.6, 1.0
    for k, (area, level) in enumerate(zip(chain.areas, levels, strict=True), start=1):
        axes.add_patch(Rectangle((left, 0), area, max(float(level), 0.004), color=SKY, lw=0))
        axes.plot([left, left, left + area, left + area], [height, 0, 0, height], "0.25", lw=1.6)
        name = r"$u_1$, the weight" if k == 1 else f"$u_{k}$"
        axes.text(left + area / 2, -0.09, name, ha="center", va="top")
        axes.text(left + area / 2, float(level) + 0.03, f"{level:.2f}", ha="center", fontsize=9)
        width = 7 * chain.tubes[k - 1] / chain.g12
        label = "leak" if k == chain.n else ""
        tube = [left + area, left + area + gap], [0.04, 0.04]
        axes.plot(*tube, color=BLUE, lw=width + 0.4, solid_capstyle="butt")
        axes.text(left + area + gap + 0.1, 0.04, label, va="center", fontsize=9, color=BLUE)
        left += area + gap
    axes.set(xlim=(-2, left + 1), ylim=(-0.25, 1.12))
    axes.axis("off")


def draw_timescales() -> Figure:
    """Which timescales some chains cover."""
    chains = {
        "Chain.covering(300, 1_000_000)": Chain.covering(300, 1_000_000),
        "Chain.covering(100, 10_000_000)": Chain.covering(100, 10_000_000),
        "paper, grid: n=3, g12=1e-5": Chain(3, 1e-5),
        "paper, online: n=30, g12=0.01": Chain(30, 0.01),
        "paper, two tasks: n=30, g12=0.001625": Chain(30, 0.001625),
    }
    figure, axes = plt.subplots(figsize=(8, 3.7))
    colours = (BLUE, GREEN, ORANGE, PURPLE, VERMILION)
    for row, ((name, chain), colour) in enumerate(zip(chains.items(), colours, strict=True)):
        y = len(chains) - row
        shown = chain.timescales[chain.timescales < 3e12]
        axes.plot(shown[[0, -1]], [y, y], color=colour, lw=1)
        axes.plot(shown, np.full(len(shown), y), "o", color=colour, ms=6)
        box = {"facecolor": "white", "lw": 0, "pad": 1}
        axes.text(shown[0], y + 0.24, name, fontsize=10, bbox=box)
        if len(shown) < chain.n:
            axes.annotate("", (9e12, y), (shown[-1], y), arrowprops={"arrowstyle": "->"})
    axes.axvline(2**25, color="0.45", ls="--", lw=1)
    axes.text(2**25 * 1.2, 5.55, "all updates of the\npaper's two-task run", fontsize=9, va="top")
    axes.set(xscale="log", xlim=(5, 1e13), ylim=(0.5, 5.7), yticks=[])
    axes.set_xlabel("timescale of each beaker (updates)")
    axes.spines["left"].set_visible(False)
    return figure


def draw_kernels() -> Figure:
    """What is left of an update, for different lengths and first tubes."""
    ages = np.geomspace(1, 1e6, 300)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
    lengths = ((1, VERMILION), (2, ORANGE), (4, GREEN), (8, BLUE))
    for n, colour in lengths:
        chain = Chain(n, 0.1)
        panels[0].plot(ages, retention.kernel(chain, ages), color=colour, label=f"n = {n}")
        panels[0].plot(chain.timescales[-1], 1.3, "v", color=colour, ms=7, clip_on=False)
    for g12, colour in ((0.1, BLUE), (0.01, GREEN), (0.001, ORANGE)):
        chain = Chain(8, g12)
        panels[1].plot(ages, retention.kernel(chain, ages), color=colour, label=f"g12 = {g12}")
        panels[1].plot(chain.timescales[0], 1.3, "v", color=colour, ms=7, clip_on=False)
    panels[0].plot(ages[80:], 1.6 * ages[80:] ** -0.5, "--", color="0.4", lw=1)
    panels[0].text(3e4, 1.6 * 3e4**-0.5 * 1.4, r"$t^{-1/2}$", color="0.3")
    panels[0].set(title="n says how long (g12 = 0.1)", ylabel="what is left of one update")
    panels[1].set(title="g12 says from when on (n = 8)")
    for axes in panels:
        axes.set_title(axes.get_title(), pad=12)
        axes.set(xscale="log", yscale="log", xlim=(1, 1e6), ylim=(1e-4, 1.3))
        axes.set_xlabel("age (updates)")
        axes.legend(loc="lower left", fontsize=10)
    figure.tight_layout()
    return figure


def _pulled(chain: Chain | None, targets: NDArray[np.float64], rate: float) -> NDArray[np.float32]:
    """Beakers of one weight that gradient descent pulls to a moving target, ``[time, n]``."""
    used = chain or Chain(1, 0.1, leak=False)
    optimizer = consolidate(optax.sgd(rate), used, hidden="zeros")
    weight = jnp.zeros(())
    start = (weight, optimizer.init(weight))

    def step(carry, target):
        weight, state = carry
        updates, state = optimizer.update(weight - target, state, weight)
        return (optax.apply_updates(weight, updates), state), beakers(state)

    return np.asarray(jax.lax.scan(step, start, jnp.asarray(targets, jnp.float32))[1])


def draw_shortest() -> Figure:
    """How fast a weight learns a new value, for different shortest timescales."""
    figure, axes = plt.subplots(figsize=(8, 3.6))
    targets = np.ones(400)
    axes.plot(_pulled(None, targets, 0.02)[:, 0], color="0.35", ls="--", label="no chain")
    for shortest, colour in ((1000, BLUE), (100, GREEN), (10, ORANGE), (2, VERMILION)):
        # A lone weight has no random start to be held at, so there is nothing to warn of.
        chain = Chain.covering(shortest, 100_000, gated=False, learning_rate=1.0)
        levels = _pulled(chain, targets, 0.02)
        axes.plot(levels[:, 0], color=colour, label=f"shortest = {shortest}")
    axes.set(xlim=(0, 400), ylim=(0, 1.05), xlabel="updates", ylabel="weight (target 1)")
    axes.legend(fontsize=10, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def draw_two_targets() -> Figure:
    """A weight whose target alternates, with and without a chain."""
    epoch, epochs = 200, 10
    targets = np.repeat(np.arange(epochs) % 2 == 0, epoch) * 2.0 - 1.0
    figure, panels = plt.subplots(2, 1, figsize=(8, 5), sharex=True, height_ratios=(1, 1.3))
    levels = _pulled(Chain(6, 1 / 100, gated=False), targets, 0.02)
    plain = _pulled(None, targets, 0.02)
    time = np.arange(1, len(targets) + 1)
    for axes in panels:
        axes.plot(time, targets, color="0.75", lw=5, zorder=0, label="target")
        axes.set(ylim=(-1.15, 1.15), ylabel="level", xlim=(0, len(targets)))
    panels[0].plot(time, plain[:, 0], color=VERMILION, label="weight")
    panels[0].set_title("no chain", loc="left", fontsize=11)
    shades = ((0, BLUE, 2.0), (1, SKY, 1.6), (2, GREEN, 1.6), (4, ORANGE, 1.6))
    for k, colour, width in shades:
        label = "weight, $u_1$" if k == 0 else f"$u_{k + 1}$"
        panels[1].plot(time, levels[:, k], color=colour, lw=width, label=label)
    panels[1].set_title("six beakers, g12 = 0.01", loc="left", fontsize=11)
    panels[1].set_xlabel("updates; the target changes every 200")
    for axes in panels:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=10)
    figure.tight_layout()
    return figure


def draw_gates() -> Figure:
    """When the gates of a chain open, against what its beakers remember."""
    chain = Chain(10, 0.01)
    k = np.arange(1, chain.n + 1)
    figure, axes = plt.subplots(figsize=(8, 3.4))
    axes.plot(k[1:], chain.timescales[1:], "o-", color=BLUE, label="timescale of beaker k")
    opens = chain.gate_opens[:-1]  # of the flow from beaker k into the one above it
    axes.plot(k[1:], opens, "s-", color=ORANGE, label="beaker k begins to act upwards")
    axes.set(yscale="log", xlabel="beaker k", ylabel="updates", xticks=k[1:])
    axes.legend(fontsize=10)
    return figure


def draw_flow() -> Figure:
    """What a factor on the flow into deeper beakers does."""
    steps = 4000
    chain = Chain(4, 1 / 100, gated=False)
    inputs = jnp.zeros(steps).at[:200].set(1 / 200)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.5), sharex=True)
    for flow, colour in ((0.0, VERMILION), (1.0, GREEN), (5.0, BLUE)):
        levels = simulate(chain, inputs, flow=flow, record_every=10, method="euler")
        time = 10 * (1 + np.arange(len(levels)))
        for axes, beaker in zip(panels, (0, 2), strict=True):
            axes.plot(time, levels[:, beaker], color=colour, label=f"flow = {flow:g}")
    panels[0].set(title="the weight, $u_1$", ylabel="level")
    panels[1].set(title="the third beaker, $u_3$")
    for axes in panels:
        axes.set_xlabel("updates; the first 200 push the weight up")
        axes.set_xlim(0, steps)
    panels[0].legend(fontsize=10)
    figure.tight_layout()
    return figure


def draw_variances() -> Figure:
    """How much each beaker moves under random updates."""
    figure, axes = plt.subplots(figsize=(8, 3.3))
    for n, colour in ((8, BLUE), (16, GREEN), (30, ORANGE)):
        levels = retention.variances(Chain(n, 0.125))
        depth = np.arange(1, n + 1) / n
        axes.plot(depth, levels / levels[0], "o-", ms=4, color=colour, label=f"n = {n}")
    axes.plot([0, 1], [1, 0], "--", color="0.4", label="1 - k/n")
    axes.set(xlabel="depth k/n", ylabel="variance / that of the weight", ylim=(0, 1.05))
    axes.legend(fontsize=10)
    return figure


def draw_rivals(folders: tuple[str, ...]) -> Figure:
    """Learning curves from stored numbers, of agents of several folders the first one's."""
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for folder in folders:
        known = set(curves)
        with (RESULTS / folder / "numbers" / "curve.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                if row["variant"] not in known:
                    points = curves.setdefault(row["variant"], {}).setdefault(row["seed"], [])
                    points.append((float(row["episode"]), float(row["reward"])))
    window = int(row["tests averaged"])
    arrays = {
        name: [(table[:, 0], table[:, 1]) for table in map(np.array, seeds.values())]
        for name, seeds in curves.items()
    }
    with house_style():
        return curve_figure.compared(arrays, window)


if __name__ == "__main__":
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    for path in main(chosen):
        sys.stdout.write(f"{path}\n")

"""The three figures of ``memory``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bennafusi.experiments.figure_style import COLOURS, house_style, save
from bennafusi.experiments.memory.memory_job import (
    POPULATIONS,
    ChainResult,
    MemoryResult,
    result_of,
)
from bennafusi.results import Picture, RunData

MARKERS = "osD^vP"


def figures(runs: list[RunData], folder: Path) -> list[Picture]:
    """Draw the three figures of the first run that is done."""
    result = next((found for run in runs if (found := result_of(run)) is not None), None)
    if result is None:
        return []
    count = f"{result.settings.synapses:,}"
    with house_style():
        return [
            save(
                folder / "memory-snr",
                _signal_to_noise(result),
                "Signal-to-noise ratio of stored patterns",
                f"How far a pattern stands out of {count} synapses, against the number of patterns "
                f"stored after it. Lines are exact, points and bands are simulations (mean ± its "
                f"standard error over {result.settings.repeats} repeats). The shortest chain "
                "starts highest and is the first to fall below 1, where a memory is lost.",
            ),
            save(
                folder / "memory-lifetime",
                _lifetimes(result),
                "Lifetime of a memory",
                "The age at which a pattern falls below a ratio of 1, against the number of "
                "synapses: exact (lines) and simulated (markers). A chain's lifetime grows with "
                "the number of synapses until its slowest beaker is reached, and hardly from there "
                "on. The best chain for each number follows N / log N (dashed).",
            ),
            save(
                folder / "memory-kernel",
                _kernels(result),
                "What is left of one update",
                "The part of one update that is still in the weight, against its age. A chain "
                "fades along the dashed power law as far as its slowest beaker reaches; one beaker "
                "forgets exponentially.",
            ),
        ]


def _signal_to_noise(result: MemoryResult) -> Figure:
    figure, axes = _axes("signal-to-noise ratio")
    for c, colour, marker in zip(result.chains, COLOURS, MARKERS, strict=False):
        axes.plot(result.ages, c.snr, color=colour, lw=1.4, label=_label(c))
        s = c.simulated
        axes.fill_between(s.ages, s.snr - s.error, s.snr + s.error, color=colour, alpha=0.25, lw=0)
        axes.plot(s.ages[::2], s.snr[::2], marker, color=colour, ms=3.5, mew=0)
    axes.axhline(1, color="0.35", lw=1, ls="--")
    axes.annotate("lost below 1", (1.1, 0.93), va="top", color="0.35", fontsize=9)
    top = max(c.snr[0] for c in result.chains)
    axes.set(xlim=(1, 2 * result.settings.steps), ylim=(0.3, 2 * top))
    axes.legend(frameon=False, loc="upper right")
    return figure


def _lifetimes(result: MemoryResult) -> Figure:
    figure, axes = _axes("lifetime (updates)", "number of synapses N")
    axes.plot(POPULATIONS, POPULATIONS / np.log(POPULATIONS), "--", color="0.35", lw=1)
    axes.annotate("N / log N", (3e6, 4e5), ha="right", color="0.35", fontsize=9)
    for c, colour, marker in zip(result.chains, COLOURS, MARKERS, strict=False):
        axes.plot(POPULATIONS, c.lifetimes, color=colour, lw=1.4, label=_label(c))
        count, life, low, high = c.simulated.lifetimes.T
        bars = np.maximum([life - low, high - life], 0)
        axes.errorbar(count, life, bars, fmt=marker, color=colour, ms=4.5, mew=0, lw=1)
    axes.set(xlim=(7e1, 1e10), ylim=(1, 1e9))
    axes.legend(frameon=False, loc="upper left")
    return figure


def _kernels(result: MemoryResult) -> Figure:
    figure, axes = _axes("part left in the weight, r")
    for c, colour in zip(result.chains, COLOURS, strict=False):
        order = 3 - c.beakers / 1000  # where curves coincide, the shorter chain's is on top
        axes.plot(result.ages, c.kernel, color=colour, lw=1.4, label=_label(c), zorder=order)
    deepest = result.chains[-1]
    middle = len(result.ages) // 2
    # Drawn beside the curve, not on it.
    law = 1.6 * deepest.kernel[middle] * np.sqrt(result.ages[middle] / result.ages)
    axes.plot(result.ages, law, "--", color="0.35", lw=1, label=r"$\propto$ age$^{-1/2}$")
    axes.set(xlim=(1, result.ages[-1]), ylim=(law[-1] / 5, 3))
    axes.legend(frameon=False, loc="upper right")
    return figure


def _axes(y: str, x: str = "age (updates)") -> tuple[Figure, Axes]:
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, which="major", color="0.9", lw=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def _label(chain: ChainResult) -> str:
    return f"{chain.beakers} beaker{'s' if chain.beakers > 1 else ''}"

"""The experiment ``memory``: what is run, and its numbers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import NamedTuple

import jax
import numpy as np

from bennafusi.synapse import memory
from bennafusi.synapse.chain import Chain, Float64

POPULATIONS = np.geomspace(1e2, 1e10, 65)  # numbers of synapses for which lifetimes are worked out
MOST_CHAINS = 6  # as many as can be told apart in a figure


@dataclass(frozen=True)
class MemorySettings:
    """What the experiment ``memory`` runs.

    Attributes:
        beakers: lengths of the chains compared, shortest first.
        g12: width of the first tube.
        synapses: synapses in the simulation.
        steps: patterns stored in the simulation, and so the greatest age it can see.
        repeats: independent simulations of each chain.
        seed: seed of all randomness.
    """

    beakers: tuple[int, ...] = (1, 4, 8, 12)
    g12: float = 1 / 8
    synapses: int = 10_000
    steps: int = 2**13
    repeats: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        if not 2 <= len(set(self.beakers)) == len(self.beakers) <= MOST_CHAINS:
            raise ValueError(f"beakers={self.beakers}: need 2 to {MOST_CHAINS} different lengths")
        for name, least in (("synapses", 100), ("steps", 64), ("repeats", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least {least}")

    @classmethod
    def smoke(cls, seed: int = 0) -> MemorySettings:
        """Small enough for a test: every part runs, nothing is precise."""
        return cls(beakers=(1, 4, 12), synapses=2_000, steps=1_500, repeats=4, seed=seed)


class Simulated(NamedTuple):
    """What the repeats of one chain's simulation found.

    Attributes:
        ages: the middle of each window of ages, ``[W]``.
        snr: mean signal-to-noise ratio over window and repeats, ``[W]``.
        error: standard deviation of that mean over repeats, ``[W]``.
        misfit: mean square distance of overlaps from theory, in their exact standard deviations.
        terms: over how many ages the misfit is a mean.
        deviation: standard deviation of the weights, mean over repeats.
        lifetimes: rows of synapses, lifetime, and lifetime had the curve been one error lower and
            one higher, ``[L, 4]``; only where the simulation reaches.
    """

    ages: Float64
    snr: Float64
    error: Float64
    misfit: float
    terms: int
    deviation: float
    lifetimes: Float64


class ChainResult(NamedTuple):
    """One chain: exact curves and simulation.

    Attributes:
        beakers: length of the chain.
        kernel: at the result's ``ages``.
        snr: exact signal-to-noise ratio at the result's ``ages``, for the simulated synapses.
        variances: of each level.
        lifetimes: exact, for :data:`POPULATIONS`.
        simulated: the simulation.
    """

    beakers: int
    kernel: Float64
    snr: Float64
    variances: Float64
    lifetimes: Float64
    simulated: Simulated


class MemoryResult(NamedTuple):
    """All numbers of one run; ``ages`` are those of the exact curves."""

    settings: MemorySettings
    ages: Float64
    chains: tuple[ChainResult, ...]


def run(settings: MemorySettings, tick: Callable[[], None] = lambda: None) -> MemoryResult:
    """Work out theory and simulation of every chain.

    Args:
        settings: what to run.
        tick: called after each of the ``len(beakers) * repeats`` simulations.

    Returns:
        All numbers of the experiment.
    """
    longest = max(chain_of(settings, n).timescales[-1] for n in settings.beakers)
    ages = np.geomspace(1, 8 * longest, 400)
    windows = windows_of(settings.steps)
    key = jax.random.key(settings.seed)
    chains = []
    for n in settings.beakers:
        chain = chain_of(settings, n)
        exact = (
            memory.kernel(chain, ages),
            memory.signal_to_noise(chain, ages, settings.synapses),
            memory.variances(chain),
            np.array([memory.lifetime(chain, count) for count in POPULATIONS]),
        )
        own_key = jax.random.fold_in(key, n)
        chains.append(ChainResult(n, *exact, _simulate(settings, chain, own_key, windows, tick)))
    return MemoryResult(settings, ages, tuple(chains))


def chain_of(settings: MemorySettings, n: int) -> Chain:
    """The chain of ``n`` beakers that the settings ask for."""
    return Chain(n, settings.g12, gated=False)


def windows_of(steps: int) -> list[Float64]:
    """Ages to look at: four windows per octave, each 1/8 of its age wide, of up to 16 ages."""
    middles = np.unique(np.round(2 ** np.arange(0, np.log2(steps / 1.07), 0.25)))
    spans = [np.linspace(m * 15 / 16, m * 17 / 16, 16) for m in middles]
    return [np.unique(np.round(span)) for span in spans]


def _simulate(
    settings: MemorySettings,
    chain: Chain,
    key: jax.Array,
    windows: list[Float64],
    tick: Callable[[], None],
) -> Simulated:
    ages = np.concatenate(windows).astype(np.int32)
    overlaps, deviations = [], []
    for repeat in range(settings.repeats):
        own_key = jax.random.fold_in(key, repeat)
        found = memory.measure(chain, own_key, settings.synapses, settings.steps, ages)
        overlaps.append(np.asarray(found.overlap, np.float64))
        deviations.append(float(found.deviation))
        tick()
    r, variance = memory.kernel(chain, ages), memory.variances(chain)[0]
    by_chance = (variance - r**2) / (settings.synapses * settings.repeats)
    misfit = np.mean((np.mean(overlaps, axis=0) - r) ** 2 / by_chance)

    scale = math.sqrt(settings.synapses) / np.array(deviations)[:, None]
    edges = np.cumsum([len(window) for window in windows])[:-1]
    parts = np.split(np.stack(overlaps), edges, axis=1)
    snrs = scale * np.stack([part.mean(axis=1) for part in parts], axis=1)
    snr, error = snrs.mean(axis=0), snrs.std(axis=0, ddof=1) / math.sqrt(settings.repeats)
    middles = np.array([np.exp(np.log(window).mean()) for window in windows])
    lifetimes = _crossings(settings.synapses, middles, snr, error)
    deviation = float(np.mean(deviations))
    return Simulated(middles, snr, error, float(misfit), len(ages), deviation, lifetimes)


def _crossings(synapses: int, ages: Float64, snr: Float64, error: Float64) -> Float64:
    """Simulated lifetimes for as many numbers of synapses as the curve is precise enough for."""
    rows = []
    for count in np.geomspace(1e2, 1e10, 17):
        scale = math.sqrt(count / synapses)
        middle, low, high = (
            _crossing(ages, scale * (snr + sign * error)) for sign in (0.0, -1.0, 1.0)
        )
        if np.median(error) * scale < 0.2 and middle and low and high:
            rows.append((count, middle, low, high))
    return np.array(rows).reshape(-1, 4)


def _crossing(ages: Float64, snr: Float64) -> float | None:
    """Where the ratio first falls below 1, interpolated in log age; None if it is not seen to."""
    below = np.flatnonzero(snr < 1)
    if not below.size or below[0] == 0:
        return None
    last, first = below[0] - 1, below[0]
    share = (snr[last] - 1) / (snr[last] - snr[first])
    return float(ages[last] * (ages[first] / ages[last]) ** share)


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {name: version(name) for name in ("bennafusi", "jax", "numpy")}


def calibrate() -> float:
    """Seconds that the whole experiment takes here, from one of its simulations."""
    settings = MemorySettings()
    chain = chain_of(settings, settings.beakers[-1])
    sizes = (settings.synapses, settings.steps)
    seconds = []
    for seed in range(2):  # the first one compiles
        began = time.perf_counter()
        memory.measure(chain, jax.random.key(seed), *sizes, [0]).overlap.block_until_ready()
        seconds.append(time.perf_counter() - began)
    compiling = max(seconds[0] - seconds[1], 0)
    return len(settings.beakers) * (settings.repeats * seconds[1] + compiling)

"""The experiment ``memory``: its settings, its job, and a run's numbers read back."""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from bennafusi.results import RunData
from bennafusi.synapse import retention
from bennafusi.synapse.chain import Chain, Float64
from bennafusi.synapse.scheme import Scheme

POPULATIONS = np.geomspace(1e2, 1e10, 65)  # numbers of synapses for which lifetimes are worked out
MOST_CHAINS = 6  # as many as can be told apart in a figure


@dataclass(frozen=True)
class MemorySettings:
    """What the experiment ``memory`` runs."""

    beakers: tuple[int, ...] = (1, 4, 8, 12)  # lengths of the chains compared, shortest first
    g12: float = 1 / 8  # width of the first tube
    synapses: int = 10_000  # in the simulation
    steps: int = 2**13  # patterns stored in the simulation, and so the greatest age it can see
    repeats: int = 16  # independent simulations of each chain

    def __post_init__(self) -> None:
        if not 2 <= len(set(self.beakers)) == len(self.beakers) <= MOST_CHAINS:
            raise ValueError(f"beakers={self.beakers}: need 2 to {MOST_CHAINS} different lengths")
        if self.beakers != tuple(sorted(self.beakers)):
            raise ValueError(f"beakers={self.beakers}: name the shortest first")
        for beakers in self.beakers:  # refused as a chain and its steps are
            Scheme(Chain(beakers, self.g12), dt=1.0)
        for name, least in (("synapses", 100), ("steps", 64), ("repeats", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least {least}")


class Simulated(NamedTuple):
    """What the repeats of one chain's simulation found."""

    ages: Float64  # the middle of each window of ages, [W]
    snr: Float64  # mean signal-to-noise ratio over window and repeats, [W]
    error: Float64  # standard deviation of that mean over repeats, [W]
    # Mean square distance of overlaps from theory, in their exact standard deviations.
    misfit: float
    terms: int  # over how many ages the misfit is a mean
    deviation: float  # standard deviation of the weights, mean over repeats
    # Rows of synapses, lifetime, and lifetime had the curve been one error lower and one higher,
    # [L, 4]; only where the simulation reaches.
    lifetimes: Float64


class ChainResult(NamedTuple):
    """One chain: exact curves and simulation."""

    beakers: int
    kernel: Float64  # at the result's ages
    snr: Float64  # exact signal-to-noise ratio at the result's ages, for the simulated synapses
    variances: Float64  # of each level
    lifetimes: Float64  # exact, for POPULATIONS
    simulated: Simulated


class MemoryResult(NamedTuple):
    """All numbers of one run; ``ages`` are those of the exact curves."""

    settings: MemorySettings
    ages: Float64
    chains: tuple[ChainResult, ...]


class State(NamedTuple):
    """What the simulations so far have found, chain by chain and repeat by repeat."""

    overlaps: Float64  # of the weights with patterns of each age, [chains, repeats, ages]
    deviations: Float64  # standard deviation of the weights, [chains, repeats]
    done: NDArray[np.int64]  # simulations so far


class MemoryRun:
    """The job of one seed: a chunk is one simulation of one chain.

    Records are of two kinds: ``setup`` (the settings, and the ages of the exact curves) and
    ``chain`` (theory and simulation of one chain, once its repeats are done).
    """

    def __init__(self, settings: MemorySettings, seed: int) -> None:
        self.settings, self.seed = settings, seed
        self.windows = windows_of(settings.steps)

    def initial(self) -> State:
        """Nothing is simulated yet."""
        empty = self._empty()
        return State(empty.overlaps.copy(), empty.deviations.copy(), empty.done)

    def outline(self) -> dict[str, Any]:
        """Shapes and dtypes of the state, and of the beakers that a simulation fills."""
        shape = max(self.settings.beakers), self.settings.synapses
        return {**self._empty()._asdict(), "beakers": np.broadcast_to(np.float32(0), shape)}

    def _empty(self) -> State:
        """Zeros that take no memory."""
        shape = len(self.settings.beakers), self.settings.repeats
        ages = sum(map(len, self.windows))
        nothing = np.zeros(())
        overlaps, deviations = (np.broadcast_to(nothing, s) for s in ((*shape, ages), shape))
        return State(overlaps, deviations, np.array(0))

    def advance(self, state: State) -> tuple[State, list[dict[str, Any]]]:
        """One more simulation."""
        settings = self.settings
        place, repeat = divmod(int(state.done), settings.repeats)
        n = settings.beakers[place]
        own_key = jax.random.fold_in(jax.random.fold_in(jax.random.key(self.seed), n), repeat)
        ages = np.concatenate(self.windows).astype(np.int32)
        found = retention.measure(
            chain_of(settings, n), own_key, settings.synapses, settings.steps, ages
        )
        overlaps, deviations = state.overlaps.copy(), state.deviations.copy()
        overlaps[place, repeat] = np.asarray(found.overlap, np.float64)
        deviations[place, repeat] = float(found.deviation)
        records = [] if state.done else [self._setup()]
        if repeat + 1 == settings.repeats:
            records.append(self._chain(n, overlaps[place], deviations[place]))
        return State(overlaps, deviations, state.done + 1), records

    def progress(self, state: State) -> tuple[int, int]:
        """Simulations."""
        return int(state.done), len(self.settings.beakers) * self.settings.repeats

    def check(self, state: State) -> str | None:
        """Overlaps are finite."""
        return None if np.isfinite(state.overlaps).all() else "overlaps: not finite"

    def final(self, state: State) -> dict[str, NDArray[Any]]:
        """What was simulated, as it is."""
        return {"overlaps": state.overlaps, "deviations": state.deviations}

    def _setup(self) -> dict[str, Any]:
        return {
            "kind": "setup",
            "settings": dataclasses.asdict(self.settings),
            "ages": exact_ages(self.settings).tolist(),
        }

    def _chain(self, n: int, overlaps: Float64, deviations: Float64) -> dict[str, Any]:
        chain, ages = chain_of(self.settings, n), exact_ages(self.settings)
        found = ChainResult(
            n,
            retention.kernel(chain, ages),
            retention.signal_to_noise(chain, ages, self.settings.synapses),
            retention.variances(chain),
            np.array([retention.lifetime(chain, count) for count in POPULATIONS]),
            simulated(self.settings, chain, self.windows, overlaps, deviations),
        )
        return {"kind": "chain", **_plain(found)}


def result_of(run: RunData) -> MemoryResult | None:
    """The numbers of a run from its records; None as long as it is not done."""
    setups = [record for record in run.records if record["kind"] == "setup"]
    chains = [_chain_of(record) for record in run.records if record["kind"] == "chain"]
    if not setups:
        return None
    fields = setups[0]["settings"]
    settings = MemorySettings(**{**fields, "beakers": tuple(fields["beakers"])})
    if len(chains) < len(settings.beakers):
        return None
    return MemoryResult(settings, np.array(setups[0]["ages"], np.float64), tuple(chains))


def exact_ages(settings: MemorySettings) -> Float64:
    """The ages of the exact curves: to eight times the slowest timescale of any chain."""
    longest = max(chain_of(settings, n).timescales[-1] for n in settings.beakers)
    return np.geomspace(1, 8 * longest, 400)


def chain_of(settings: MemorySettings, n: int) -> Chain:
    """The chain of ``n`` beakers that the settings ask for."""
    return Chain(n, settings.g12, gated=False)


def windows_of(steps: int) -> list[Float64]:
    """Ages to look at: four windows per octave, each 1/8 of its age wide, of up to 16 ages."""
    middles = np.unique(np.round(2 ** np.arange(0, np.log2(steps / 1.07), 0.25)))
    spans = [np.linspace(m * 15 / 16, m * 17 / 16, 16) for m in middles]
    return [np.unique(np.round(span)) for span in spans]


def simulated(
    settings: MemorySettings,
    chain: Chain,
    windows: list[Float64],
    overlaps: Float64,
    deviations: Float64,
) -> Simulated:
    """What the repeats of one chain's simulation say together."""
    ages = np.concatenate(windows).astype(np.int32)
    r, variance = retention.kernel(chain, ages), retention.variances(chain)[0]
    by_chance = (variance - r**2) / (settings.synapses * settings.repeats)
    misfit = np.mean((np.mean(overlaps, axis=0) - r) ** 2 / by_chance)

    scale = math.sqrt(settings.synapses) / deviations[:, None]
    edges = np.cumsum([len(window) for window in windows])[:-1]
    parts = np.split(overlaps, edges, axis=1)
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


def _plain(value: Any) -> Any:
    """A result as plain JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    fields = getattr(value, "_asdict", None)
    return {name: _plain(part) for name, part in fields().items()} if fields else value


def _chain_of(record: dict[str, Any]) -> ChainResult:
    def arrays(part: dict[str, Any]) -> dict[str, Any]:
        return {k: np.array(v, np.float64) if isinstance(v, list) else v for k, v in part.items()}

    found = arrays(record["simulated"])
    found["lifetimes"] = found["lifetimes"].reshape(-1, 4)
    names = [name for name in ChainResult._fields if name != "simulated"]
    return ChainResult(
        **arrays({name: record[name] for name in names}), simulated=Simulated(**found)
    )


def seconds(settings: MemorySettings) -> float:
    """What a run takes here, from one of its simulations."""
    chain = chain_of(settings, settings.beakers[-1])
    sizes = (settings.synapses, settings.steps)
    taken = []
    for seed in range(2):  # the first one compiles
        began = time.perf_counter()
        retention.measure(chain, jax.random.key(seed), *sizes, [0]).overlap.block_until_ready()
        taken.append(time.perf_counter() - began)
    compiling = max(taken[0] - taken[1], 0)
    return len(settings.beakers) * (settings.repeats * taken[1] + compiling)

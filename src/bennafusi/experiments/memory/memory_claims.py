"""What runs of ``memory`` say, statement by statement, and their numbers."""

from __future__ import annotations

import math

import numpy as np

from bennafusi.experiments import statistics
from bennafusi.experiments.memory.memory_job import (
    POPULATIONS,
    MemoryResult,
    chain_of,
    result_of,
    windows_of,
)
from bennafusi.results import Finding, RunData, Table
from bennafusi.synapse import retention

MANY = 48  # the place of 1e8 synapses in POPULATIONS


def claims(runs: list[RunData]) -> list[Finding]:
    """What the runs that are done say; a statement holds if it does so for every seed."""
    done = {run.seed: found for run in runs if (found := result_of(run)) is not None}
    judged = [findings(result) for result in done.values()]
    if len(judged) < 2:
        return judged[0] if judged else []
    return [
        Finding(
            same[0].statement,
            same[0].expected,
            "; ".join(f"seed {k}: {one.measured}" for k, one in zip(done, same, strict=True)),
            all(one.holds for one in same),
        )
        for same in zip(*judged, strict=True)
    ]


def findings(result: MemoryResult) -> list[Finding]:
    """What the run says, statement by statement."""
    settings, deepest = result.settings, result.chains[-1]
    chain = chain_of(settings, deepest.beakers)
    fit = np.geomspace(chain.timescales[0], chain.timescales[-1] / 32, 200)
    slope = np.polyfit(np.log(fit), np.log(retention.kernel(chain, fit)), 1)[0]
    found = [
        Finding(
            f"With {deepest.beakers} beakers a memory fades as a power of its age, "
            f"from {_number(fit[0])} to {_number(fit[-1])} updates",
            "exponent -0.5 ± 0.02",
            f"{slope:.3f}",
            bool(abs(slope + 0.5) <= 0.02),
        )
    ]
    found += _growth(result) + _at_lifetime(result)
    allowed = 4 * math.sqrt(2 / min(c.simulated.terms for c in result.chains))
    misfits = {c.beakers: c.simulated.misfit for c in result.chains}
    found.append(
        Finding(
            "Simulated overlaps lie around theory as widely as chance makes them (reduced χ²)",
            f"1 ± {allowed:.2f}",
            _each(misfits, "{:.2f}"),
            all(abs(misfit - 1) <= allowed for misfit in misfits.values()),
        )
    )
    # Chance, and half a percent for a multirate step that is not quite the explicit one.
    allowed = 4 / math.sqrt(2 * settings.synapses * settings.repeats) + 0.005
    spread = {
        c.beakers: c.simulated.deviation / math.sqrt(c.variances[0]) - 1 for c in result.chains
    }
    found.append(
        Finding(
            "Simulated weights spread as widely as theory says",
            f"within {allowed:.1%}",
            _each(spread, "{:+.2%}"),
            all(abs(ratio) <= allowed for ratio in spread.values()),
        )
    )
    return found


def scores(run: RunData) -> dict[str, float]:
    """Of the longest chain: how long it remembers, and how well simulation and theory agree."""
    result, unknown = result_of(run), float("nan")
    last = result.chains[-1] if result else None
    return {
        "exact lifetime for 1e8 synapses, longest chain": last.lifetimes[MANY] if last else unknown,
        "misfit of the simulation, longest chain": last.simulated.misfit if last else unknown,
        "seconds": unknown if run.seconds is None else run.seconds,
    }


def tables(runs: list[RunData]) -> list[Table]:
    """Exact lifetimes by the number of synapses, and the curves, exact and simulated."""
    done = {run.seed: found for run in runs if (found := result_of(run)) is not None}
    if not done:
        return []
    first = next(iter(done.values()))
    lives = [
        (c.beakers, count, life)
        for c in first.chains
        for count, life in zip(POPULATIONS.tolist(), c.lifetimes.tolist(), strict=True)
    ]
    curves = [
        (c.beakers, "exact", age, snr, 0.0)
        for c in first.chains
        for age, snr in zip(first.ages.tolist(), c.snr.tolist(), strict=True)
    ]
    for seed, result in done.items():
        for c in result.chains:
            columns = (c.simulated.ages, c.simulated.snr, c.simulated.error)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            curves += [(c.beakers, f"simulated, seed {seed}", *row) for row in rows]
    return [
        statistics.summary((run.variant, scores(run)) for run in runs),
        Table(
            "lifetimes",
            "Updates until the signal-to-noise ratio of a pattern falls below 1, exact",
            ("beakers", "synapses", "lifetime"),
            lives,
        ),
        Table(
            "signal-to-noise",
            "Signal-to-noise ratio of a pattern by its age, and its standard error",
            ("beakers", "by", "age", "ratio", "error"),
            curves,
        ),
    ]


def _growth(result: MemoryResult) -> list[Finding]:
    """How lifetimes grow with the number of synapses."""
    settings, most = result.settings, 1e8
    one, deep = settings.beakers[0], settings.beakers[-1]
    first, last = chain_of(settings, one), chain_of(settings, deep)
    counts = (1e4, 1e6, most)
    lives = {
        count: max(retention.lifetime(chain_of(settings, n), count) for n in settings.beakers)
        for count in counts
    }
    constants = [lives[count] * math.log(count) / count for count in counts]
    gain = retention.lifetime(last, most) / retention.lifetime(first, most)
    return [
        Finding(
            "The best chain's lifetime grows as N / log N: lifetime · ln N / N for N = 1e4, 1e6, "
            "1e8 is nearly constant",
            "largest / smallest below 1.5",
            ", ".join(f"{c:.2f}" for c in constants),
            max(constants) / min(constants) < 1.5,
        ),
        Finding(
            f"For 1e8 synapses {deep} beakers outlive {one} by orders of magnitude",
            "at least 1,000 times",
            f"{_number(retention.lifetime(last, most))} against "
            f"{_number(retention.lifetime(first, most))} updates, {_number(gain)} times",
            gain >= 1000,
        ),
    ]


def _at_lifetime(result: MemoryResult) -> list[Finding]:
    """Whether the simulation, too, crosses 1 where theory does."""
    settings = result.settings
    # The ratio at one age is 1 wide around its mean, less so the mean over a window and repeats.
    chance = [
        1 / math.sqrt(settings.repeats * len(window)) for window in windows_of(settings.steps)
    ]
    ratios, distances = {}, []
    for c in result.chains:
        chain, ages = chain_of(settings, c.beakers), c.simulated.ages
        life = retention.lifetime(chain, settings.synapses)
        if life <= ages[-1]:
            # Interpolated as the distance from theory, which is 1 here: the ratio itself is curved.
            excess = c.simulated.snr - retention.signal_to_noise(chain, ages, settings.synapses)
            distance = float(np.interp(life, ages, excess))
            ratios[c.beakers] = 1 + distance
            distances.append(distance / np.interp(life, ages, chance))
    statement = (
        f"At the exact lifetime for {settings.synapses:,} synapses the simulated "
        "signal-to-noise ratio is 1"
    )
    holds = all(abs(distance) <= 4 for distance in distances)
    expected = "1, within 4 standard errors"
    return [Finding(statement, expected, _each(ratios, "{:.2f}"), holds)] if ratios else []


def _each(values: dict[int, float], form: str) -> str:
    return ", ".join(f"{form.format(value)} (n={n})" for n, value in values.items())


def _number(value: float) -> str:
    return f"{value:,.0f}" if value < 1e7 else f"{value:.2e}"

"""The experiment ``memory``: how long do random patterns stand out, and how does it scale?

Exact curves of :mod:`bennafusi.synapse.retention` beside a simulation of the same chains by the
integrator that the optimisers use. It is not in the paper.
"""

from __future__ import annotations

from pathlib import Path

from bennafusi.experiments.experiment import Experiment, Extent, Runs, Scale
from bennafusi.experiments.memory import memory_claims
from bennafusi.experiments.memory.memory_job import MemoryRun, MemorySettings, seconds
from bennafusi.results import Picture


def settings(scale: Scale) -> MemorySettings:
    """It takes seconds, so that ``quick`` is all of it; ``smoke`` runs every part, none precise."""
    if scale == "smoke":
        return MemorySettings(beakers=(1, 4, 12), synapses=2_000, steps=1_500, repeats=4)
    return MemorySettings()


def extent(settings: MemorySettings) -> Extent:
    """Its simulations."""
    size = f"{settings.synapses:,} synapses, {settings.steps:,} patterns"
    amount = settings.repeats * settings.synapses * settings.steps
    return Extent(amount, f"{settings.repeats} simulations of {size}")


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """Signal-to-noise ratio, lifetime and kernel."""
    from bennafusi.experiments.memory import memory_figures

    return memory_figures.figures(runs, folder)


EXPERIMENT = Experiment(
    name="memory",
    title="How long is a memory kept?",
    lead="Random patterns are stored one after another in chains of different length. How far "
    "does an old one still stand out, and for how long? Exact theory, and a simulation by "
    "the integrator that the optimisers use.",
    summary="how long random patterns stand out",
    headline=("exact lifetime", "misfit"),
    variants={"chains": {}},
    seeds=1,  # it repeats each simulation by itself
    settings=settings,
    job=MemoryRun,
    claims=memory_claims.claims,
    extent=extent,
    figures=figures,
    tables=memory_claims.tables,
    scores=memory_claims.scores,
    seconds=seconds,
)

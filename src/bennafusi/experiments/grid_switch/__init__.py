"""The experiment ``grid-switch``: Figures 2 and 3, tabular Q(lambda) whose goal keeps moving."""

from __future__ import annotations

from pathlib import Path

from bennafusi.agents.chains import TableChains
from bennafusi.experiments.experiment import Experiment, Extent, Reason, Runs, Scale
from bennafusi.experiments.grid_switch import grid_claims, grid_measures
from bennafusi.experiments.grid_switch.grid_job import GridSwitch, seconds
from bennafusi.results import Picture
from bennafusi.training.tabular_settings import TabularSettings


def settings(scale: Scale) -> TabularSettings:
    """Table S1; it is so fast that ``quick`` is the paper's scale."""
    if scale == "smoke":
        chain = TableChains(g12=1e-3)
        return TabularSettings(epochs=4, episodes=150, max_steps=500, chain=chain)
    return TabularSettings()


def extent(settings: TabularSettings) -> Extent:
    """Its episodes, and the grid."""
    words = f"{settings.epochs} epochs of {settings.episodes:,} episodes"
    size = f"{settings.size}x{settings.size} grid"
    return Extent(settings.epochs * settings.episodes, f"{words}, {size}")


def figures(runs: Runs, folder: Path) -> list[Picture]:
    """Figures 2 and 3."""
    from bennafusi.experiments.grid_switch import grid_figures

    return grid_figures.figures(runs, folder)


def films(runs: Runs, folder: Path) -> list[Picture]:
    """The value functions as they move."""
    from bennafusi.experiments.grid_switch import grid_figures

    return grid_figures.films(runs, folder)


STALLS = Reason(
    "some modified agents stall for millions of steps in an early epoch, and all epochs from the "
    "third on are in the mean; the plain agent does as the paper says",
    "docs/results.md#why-some-modified-agents-stall",
)

EXPERIMENT = Experiment(
    name="grid-switch",
    paper=("fig2", "fig3"),
    title="Does a table remember where the goal was?",
    lead="Tabular Q(lambda) on a 10x10 grid. Every 10,000 episodes the goal moves to the opposite "
    "corner. Control, Benna-Fusi and modified Benna-Fusi agents; Table S1 of the paper.",
    summary="Q(lambda) whose goal keeps moving",
    headline=("steps to",),
    # The three agents of the paper, and one more: each differs by one argument.
    variants={
        "control": {"chain.n": 1},
        "benna-fusi": {},
        "modified": {"agent.modulation": "trace"},
        "directional": {"agent.modulation": "directional"},
    },
    usual_variants=lambda scale: ("control", "benna-fusi", "modified"),
    settings=settings,
    job=GridSwitch,
    claims=grid_claims.claims,
    reasons={
        **dict.fromkeys((grid_claims.FASTER, grid_claims.QUICKEST), STALLS),
        grid_claims.REMEMBER: Reason(
            "the modified agent's third beaker learns late: at the end of epoch 3 it hardly knows "
            "the previous goal, at the end of epoch 23 it does; the paper does not say which agent "
            "it shows, nor when",
            "docs/results.md#the-grid-figures-2-and-3",
        ),
    },
    extent=extent,
    figures=figures,
    films=films,
    tables=grid_measures.tables,
    scores=grid_measures.scores,
    seconds=seconds,
)

"""Figures 2 and 3, and the value functions as they move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bennafusi.experiments.agent_styles import styles
from bennafusi.experiments.experiment import drawn
from bennafusi.experiments.figure_style import house_style, plain, save
from bennafusi.experiments.grid_switch.grid_claims import last_odd_epoch, snapshot
from bennafusi.experiments.grid_switch.grid_measures import Measures
from bennafusi.files import making, own_folder
from bennafusi.results import Picture, RunData
from bennafusi.synapse.chain import Float64

STYLES = styles(("control", "benna-fusi", "modified", "directional"))
MOST_FRAMES = 150


def figures(runs: list[RunData], folder: Path) -> list[Picture]:
    """Figures 2 and 3, as far as the runs go."""
    measures, shown = Measures(runs), _shown(runs)
    begun = any(table.size for table in measures.first.values())
    with house_style():
        return drawn(
            _figure_2(measures, folder / "figure-2") if begun else None,
            _figure_3(shown, folder / "figure-3") if shown else None,
        )


def films(runs: list[RunData], folder: Path) -> list[Picture]:
    """The value functions over training."""
    shown = _shown(runs)
    own_folder(folder)
    with house_style():
        return [_animation(shown, folder / "value-functions")] if shown else []


def _shown(runs: list[RunData]) -> RunData | None:
    far = (r for r in runs if r.variant == "benna-fusi" and last_odd_epoch(r) > 1)
    return next(far, None)


def _figure_2(measures: Measures, stem: Path) -> Picture:
    figure = Figure(figsize=(6.6, 6.2))
    figure.subplots_adjust(left=0.12, right=0.98, bottom=0.08, top=0.92, hspace=0.1)
    top, bottom = figure.subplots(2, sharex=True)
    for axes, tables in ((top, measures.first), (bottom, measures.relearning)):
        for place, (name, table) in enumerate(tables.items()):
            _draw(axes, name, table, 0.12 * (place - (len(tables) - 1) / 2))
        axes.set(yscale="log")
        plain(axes)
    top.set(ylabel="steps to the first reward")
    bottom.set(ylabel="steps to a good policy", xlabel="epoch (the goal moves at each)")
    top.legend(
        frameon=False, ncols=len(measures.first), loc="lower center", bbox_to_anchor=(0.5, 1)
    )
    seeds = f"{measures.seeds} seed" + "s" * (measures.seeds != 1)
    return save(
        stem,
        figure,
        "Figure 2: finding the goal again",
        "(Top) Steps until the first reward after the goal has moved to the opposite corner. "
        "(Bottom) Steps until the mean length of 20 episodes is below 13. Mean and one standard "
        f"deviation over {seeds}, cut off where it would reach 0; a cross on the upper edge "
        "marks a seed that never got there.",
    )


def _draw(axes: Axes, name: str, table: Float64, shift: float) -> None:
    known = np.where(np.isfinite(table), table, np.nan)
    missing = np.flatnonzero(np.isnan(known).any(axis=0))
    some = ~np.isnan(known).all(axis=0)
    mean, spread = np.nanmean(known[:, some], axis=0), np.nanstd(known[:, some], axis=0)
    epochs = np.arange(1, table.shape[1] + 1) + shift
    axes.errorbar(
        epochs[some],
        mean,
        np.stack([np.minimum(spread, 0.99 * mean), spread]),
        color=STYLES[name].colour,
        marker=STYLES[name].marker,
        ms=4,
        lw=1.2,
        elinewidth=0.8,
        capsize=1.5,
        label=name,
    )
    axes.plot(
        epochs[missing],
        np.full(missing.size, 0.98),
        "x",
        color=STYLES[name].colour,
        ms=6,
        transform=axes.get_xaxis_transform(),
        clip_on=False,
    )


def _figure_3(run: RunData, stem: Path) -> Picture:
    epoch = last_odd_epoch(run)
    values = snapshot(run, epoch)
    assert values is not None
    figure = Figure(figsize=(9.6, 3.5))
    figure.subplots_adjust(left=0.01, right=0.95, bottom=0.06, top=0.92, wspace=0.12)
    size = values.shape[-1]
    x, y = np.meshgrid(np.arange(1, size + 1), np.arange(size, 0, -1))  # row 0 is on top
    for k, value in enumerate(values, start=1):
        axes = figure.add_subplot(1, len(values), k, projection="3d")
        axes.plot_surface(x, y, value, cmap="viridis", linewidth=0, antialiased=True)
        axes.set_title(f"$V^{k}$" + (" (visible)" if k == 1 else " (hidden)"))
        axes.set(xlabel="column", ylabel="row from below")
        axes.view_init(elev=28, azim=-60)
    return save(
        stem,
        figure,
        "Figure 3: what the hidden values remember",
        f"Value of each cell at the last look in epoch {epoch}, of each beaker by its own scale. "
        "The goal is in the upper right corner and was in the lower left one before. Benna-Fusi "
        f"agent, seed {run.seed}.",
    )


def _animation(run: RunData, stem: Path) -> Picture:
    frames = [r for r in run.records if r["kind"] == "values"]
    frames = frames[:: max(1, -(-len(frames) // MOST_FRAMES))]
    values = np.array([r["values"] for r in frames], np.float64)
    steps, epochs = (np.array([r[name] for r in frames]) for name in ("steps", "epoch"))
    with making(stem.with_suffix(".npz")) as file:
        np.savez_compressed(file, values=values, steps=steps, epochs=epochs)
    figure = Figure(figsize=(6.6, 2.6), layout="constrained")
    panels = figure.subplots(1, values.shape[1], squeeze=False)[0]
    images = []
    for k, axes in enumerate(panels):
        axes.set(xticks=[], yticks=[], title=f"$V^{k + 1}$")
        images.append(axes.imshow(values[0, k], cmap="viridis", vmin=0))
    label = figure.suptitle(" ", fontsize=9)

    def show(index: int) -> list[object]:
        for k, image in enumerate(images):
            image.set_data(values[index, k])
            image.set_clim(0, max(values[index, k].max(), 1e-9))
        corner = "upper right" if epochs[index] % 2 else "lower left"
        label.set_text(f"epoch {epochs[index]}: goal {corner}, step {steps[index]:,}")
        return [*images, label]

    animation = FuncAnimation(figure, show, frames=len(values), blit=False)  # type: ignore[arg-type]
    with making(stem.with_suffix(".gif")) as file:
        animation.save(file, writer=PillowWriter(fps=8), dpi=80)
    return Picture(
        "The value functions over training",
        "Each panel is scaled to its own highest value. When the goal moves, the visible values "
        "follow at once, the hidden ones slowly: what they hold of the other corner flows back. "
        f"Benna-Fusi agent, seed {run.seed}; the numbers are in {stem.name}.npz.",
        stem.with_suffix(".gif"),
    )

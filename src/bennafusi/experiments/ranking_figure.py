"""Who is before whom: a mark, a 95% interval and a rank for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bennafusi.experiments.agent_styles import Style, styles
from bennafusi.experiments.figure_style import house_style, save
from bennafusi.experiments.ranking import Place, places
from bennafusi.results import Picture

Samples = Mapping[str, Mapping[int, float]]  # scores of each method by judged seed


def ranking(samples: Samples, stem: Path, title: str, score: str) -> Picture | None:
    """Draw one comparison, best first, with the score of every seed; None of fewer than two."""
    found = places(samples)
    if len(found) < 2:
        return None
    seeds = max(map(len, samples.values()))
    with house_style():
        figure = Figure(figsize=(6.4, 1.1 + 0.32 * len(found)), layout="constrained")
        axes = figure.subplots()
        agents = styles(samples)
        for height, place in enumerate(found[::-1]):
            own = list(samples[place.name].values())
            axes.plot(own, [height] * len(own), "|", color=agents[place.name].colour, ms=8)
        draw(axes, found, agents, 10)
        beside = axes.get_yaxis_transform()
        rows = [("mean", "rank"), *((f"{p.score.value:.3g}", p.rank) for p in found)]
        for height, row in enumerate(rows[::-1]):
            for x, word in zip((1.02, 1.14), row, strict=True):
                axes.text(x, height, word, transform=beside, va="center", fontsize=9)
        axes.set_xlabel(score)
        axes.set_ylim(-0.5, len(found) - 0.5)  # the heads stand above it, as high as a row
        return save(
            stem,
            figure,
            title,
            f"Mean over {seeds} judged seeds and 95% bootstrap interval, a stroke for each seed; "
            "each agent at the point of its grid that was best on other seeds. Ranks are by these "
            "intervals, and those that overlap are ties; the claims compare seed by seed.",
        )


def draw(axes: Axes, found: Sequence[Place], agents: Mapping[str, Style], size: float) -> None:
    """Names from the best at the top, each with the mean of its score and its interval."""
    for height, place in enumerate(found[::-1]):
        style, score = agents[place.name], place.score
        bars = [[score.value - score.low], [score.high - score.value]]
        mark, colour = style.marker, style.colour
        axes.errorbar(score.value, height, xerr=bars, fmt=mark, color=colour, ms=5)
    # The longest name is broken.
    names = [place.name.replace("-told-", "-\ntold-") for place in found[::-1]]
    axes.set_yticks(range(len(found)), names, fontsize=size)
    axes.grid(True, axis="x", color="0.9", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)

"""What all figures share: their look, and how they are written to disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from bennafusi.colours import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from bennafusi.files import making, own_folder
from bennafusi.results import MOST_VECTORS, Picture

COLOURS = (VERMILION, ORANGE, GREEN, BLUE, PURPLE, SKY)
HAIR = 0.02  # inches by which ink may stand out of a figure without being seen to be cut
DPI = 150  # of pixels
_PAGE: ContextVar[bool] = ContextVar("_PAGE", default=False)


def house_style() -> AbstractContextManager[None]:
    """Settings under which equal data give equal files; enter it before drawing and saving."""
    return matplotlib.rc_context({"svg.hashsalt": "bennafusi", "font.size": 10})


def plain(axes: Axes) -> None:
    """No frame above and on the right, faint lines to read heights by."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, axis="y", color="0.9", lw=0.6)


def save(stem: Path, figure: Figure, title: str, caption: str) -> Picture:
    """Write a figure, and say what is in it."""
    write(stem, figure)
    return Picture(title, caption, stem.with_suffix(".svg"))


def write(stem: Path, figure: Figure) -> None:
    """Write ``stem`` as SVG, PNG and PDF, without a date in any of them.

    Within :func:`for_a_page` only what a page shows: the SVG, and the PNG in place of a large one.
    """
    own_folder(stem.parent)
    _arrange(figure)
    edges, vectors = whole(figure), stem.with_suffix(".svg")
    with making(vectors) as file:
        figure.savefig(file, metadata={"Date": None, "Creator": None}, bbox_inches=edges)
    if _PAGE.get() and vectors.stat().st_size <= MOST_VECTORS:
        return
    with making(stem.with_suffix(".png")) as file:
        figure.savefig(file, dpi=DPI, metadata={"Software": None}, bbox_inches=edges)
    if _PAGE.get():
        return
    with making(stem.with_suffix(".pdf")) as file:
        figure.savefig(file, metadata={"CreationDate": None}, bbox_inches=edges)


@contextmanager
def for_a_page() -> Iterator[None]:
    """Figures that are drawn in here are shown on one page, and kept nowhere else."""
    before = _PAGE.set(True)
    try:
        yield
    finally:
        _PAGE.reset(before)


def _arrange(figure: Figure) -> None:
    """Give everything the place that it has in pixels, in all three files the same."""
    dpi = figure.dpi
    figure.dpi = DPI
    figure.draw_without_rendering()
    figure.dpi = dpi
    figure.set_layout_engine("none")


def whole(figure: Figure) -> Bbox | None:
    """The edges, in inches, that cut no text off; None if those of the figure do not."""
    wide, high = figure.get_size_inches()
    drawn = figure.get_tightbbox()
    out = max(-drawn.x0, -drawn.y0, drawn.x1 - wide, drawn.y1 - high)
    return Bbox.union([Bbox.from_extents(0, 0, wide, high), drawn]) if out > HAIR else None

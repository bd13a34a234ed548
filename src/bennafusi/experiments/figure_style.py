"""What all figures share: their style, and how they are written to disk."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bennafusi.files import making, own_folder
from bennafusi.results import Picture


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
    """Write ``stem`` as PNG, SVG and PDF, without a date in any of them."""
    own_folder(stem.parent)
    with making(stem.with_suffix(".png")) as file:
        figure.savefig(file, dpi=150, metadata={"Software": None})
    figure.set_layout_engine("none")  # everything has its place now, in all three the same
    with making(stem.with_suffix(".svg")) as file:
        figure.savefig(file, metadata={"Date": None, "Creator": None})
    with making(stem.with_suffix(".pdf")) as file:
        figure.savefig(file, metadata={"CreationDate": None})

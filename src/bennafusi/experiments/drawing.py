"""What all figures share: their style, and how they are written to disk."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bennafusi.results import Picture


def house_style() -> AbstractContextManager[None]:
    """Settings under which equal data give equal files; enter it before drawing and saving."""
    return matplotlib.rc_context({"svg.hashsalt": "bennafusi", "font.size": 10})


def plain(axes: Axes) -> None:
    """No frame above and on the right, faint lines to read heights by."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, axis="y", color="0.9", lw=0.6)


def save(stem: Path, figure: Figure, title: str, caption: str) -> Picture:
    """Write ``stem`` as PNG, SVG and PDF, without a date in any of them."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(stem.with_suffix(".png"), dpi=150, metadata={"Software": None})
    figure.set_layout_engine("none")  # everything has its place now, in all three the same
    figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
    figure.savefig(stem.with_suffix(".pdf"), metadata={"CreationDate": None})
    return Picture(title, caption, stem.with_suffix(".svg"))

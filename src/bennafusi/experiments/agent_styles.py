"""How each agent or method is drawn: by its name, the same in every figure and in the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from matplotlib.markers import MarkerStyle

from bennafusi.colours import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

BROWN, SALMON = "#8C2D04", "#F4B393"  # shades of vermilion: other chains


class Style(NamedTuple):
    """How one agent is drawn, told apart without colour too."""

    colour: str
    marker: str
    dashes: str | tuple[float, tuple[float, ...]]


# The line that goes with each marker, in widths of it: ink, gap, ink, ... Empty is unbroken.
DASHES: dict[str, tuple[float, ...]] = {
    "o": (5, 1.5),
    "^": (3, 1, 1, 1),
    "D": (1, 1),
    "v": (7, 2, 1, 2),
    "X": (2, 2),
    "*": (8, 2),
    "P": (4, 1, 1, 1, 1, 1),
    "h": (1, 2),
    "p": (6, 1),
    "<": (2, 1),
    ">": (4, 1, 1, 1),
    "s": (),
}
# Who has which colour and marker: no two the same. Those who are judged together differ in their
# markers too, and mostly in their colours.
TABLE = {
    VERMILION: {"s": "benna-fusi", "p": "reach-10", "v": "reach-0.3"},
    BROWN: {"*": "benna-fusi-recall", ">": "reach-1", "h": "reach-30", "s": "reach-0.1"},
    SALMON: {">": "benna-fusi-recall-hold", "p": "benna-fusi-depth-2", "<": "reach-100",
             "^": "reach-3"},
    BLUE: {"o": "control", "P": "weight-decay", "X": "continual-backprop", "p": "loss-taken",
           "D": "gains-copied"},
    GREEN: {"^": "control-1e-4", "p": "slower-target", ">": "synaptic-intelligence",
            "<": "synaptic-intelligence-told-boundaries", "X": "reservoir-replay",
            "v": "control-100", "D": "modified", "h": "redo", "*": "hidden-zeros",
            "P": "shrink-and-perturb"},
    PURPLE: {"D": "control-1e-5", "v": "online-ewc", "^": "control-1000", "h": "directional",
             "<": "lookahead", "X": "hidden-copy"},
    SKY: {"v": "control-1e-6", "<": "larger-epsilon", "D": "control-10000", "o": "mas",
          "*": "cascade-replay", "X": "hare-and-tortoise", "P": "control-large-replay",
          "^": "ungated"},
    BLACK: {"X": "stream-q", ">": "stream-q-chain", "P": "control-100000", "^": "upgd",
            "D": "control-reset", "o": "schedule-free", "h": "gain-before"},
    ORANGE: {"*": "slow-weights", "D": "two-beakers", "v": "ema", "o": "l2-init",
             "P": "time-out-bootstrap", "^": "permanent-transient-told-boundaries"},
    GREY: {"P": "annealed", "v": "ademamix", "X": "control-per-task", "o": "target-update",
           "D": "gains-drawn"},
}  # fmt: skip
STRANGERS = (BLUE, GREEN, PURPLE, SKY, BLACK, ORANGE, GREY)  # of names that are not in the table


def _style(colour: str, marker: str, longer: int = 1) -> Style:
    lengths = tuple(longer * length for length in DASHES[marker])
    return Style(colour, marker, (0, lengths) if lengths else "-")


KNOWN = {
    name: _style(colour, marker) for colour, row in TABLE.items() for marker, name in row.items()
}
KNOWN["default"] = KNOWN["benna-fusi"]
KNOWN["fast-weights"] = KNOWN["slow-weights"]  # the same, as an agent's


def leads(variant: str) -> bool:
    """Whether it is an agent that the figures are about, by its name."""
    return variant.startswith("benna-fusi") or variant.endswith("default")


def known(name: str) -> Style | None:
    """The style of a name in the table, or of the longest one there that is a part of it.

    Example:
        >>> known("try-online-ewc") == known("online-ewc"), known("breakout-control").colour
        (True, '#0072B2')
        >>> known("mine") is None
        True
    """
    within = [one for one in KNOWN if f"-{one}-" in f"-{name}-"]
    return KNOWN[max(within, key=len)] if within else None


def styles(variants: Iterable[str]) -> dict[str, Style]:
    """A style for each agent of one figure, no two alike.

    It follows from the name (:func:`known`), whoever is beside it. If somebody else in the figure
    has that style, as the control agent has that of ``try-control``, only the colour does. Names
    that nobody knows get what is left, in their order.

    Example:
        >>> {name: style.marker for name, style in styles(["control", "benna-fusi"]).items()}
        {'control': 'o', 'benna-fusi': 's'}
        >>> {name: style[:2] for name, style in styles(["try-control", "control", "mine"]).items()}
        {'try-control': ('#0072B2', '^'), 'control': ('#0072B2', 'o'), 'mine': ('#009E73', 'D')}
    """
    names = list(dict.fromkeys(variants))
    own, found = {name: known(name) for name in names}, dict[str, Style]()
    for name in sorted(names, key=lambda name: name not in KNOWN):
        style = own[name]
        if style is not None and style not in found.values():
            found[name] = style
    for name in names:
        if name not in found:
            style = own[name]
            colours = STRANGERS if style is None else (style.colour,)
            found[name] = _free(colours, list(found.values()))
    return {name: found[name] for name in names}


def _free(colours: Sequence[str], taken: Sequence[Style]) -> Style:
    """What is not taken: the colour that fewest have, then the marker that fewest have."""
    colour = min(colours, key=[style.colour for style in taken].count)
    markers = sorted(DASHES, key=[style.marker for style in taken].count)
    # With all markers in use their dashes grow longer.
    every = (_style(colour, marker, longer) for longer in count(1) for marker in markers)
    return next(style for style in every if style not in taken)


def on_a_page(variants: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The styles of agents as a page draws them: colour, dashes, and the corners of a marker.

    Example:
        >>> on_a_page(["benna-fusi"])["benna-fusi"]["corners"]
        '-0.5,0.5 0.5,0.5 0.5,-0.5 -0.5,-0.5 -0.5,0.5'
    """
    return {
        name: {
            "colour": style.colour,
            "dashes": [] if isinstance(style.dashes, str) else list(style.dashes[1]),
            "corners": _corners(style.marker),
        }
        for name, style in styles(variants).items()
    }


def _corners(marker: str) -> str:
    """Of a marker that is 1 wide; on a page heights grow downwards."""
    form = MarkerStyle(marker)
    polygon = np.asarray(form.get_path().transformed(form.get_transform()).to_polygons()[0])
    rounded = np.round(polygon * (1, -1), 2) + 0.0  # which makes 0 of -0
    return " ".join(f"{x:g},{y:g}" for x, y in rounded)

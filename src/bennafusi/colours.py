"""The colours of Okabe and Ito, which everybody can tell apart; below all rooms."""

from __future__ import annotations

VERMILION, ORANGE, GREEN = "#D55E00", "#E69F00", "#009E73"
BLUE, PURPLE, SKY, YELLOW = "#0072B2", "#CC79A7", "#56B4E9", "#F0E442"
# Grey is not theirs: it is for lines, because yellow ones are not seen on paper. So dark, the
# colour-blind tell it from green and purple.
BLACK, GREY = "#000000", "#606060"


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, from 0 to 255.

    Example:
        >>> rgb(VERMILION)
        (213, 94, 0)
    """
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue

"""Words that every room says alike: how long something takes, and what may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def duration(seconds: float | None) -> str:
    """A time as people say it.

    Example:
        >>> duration(42.4), duration(600), duration(9000), duration(360_000), duration(None)
        ('42 s', '10 min', '2 h 30 min', '100 h', '–')
    """
    if seconds is None:
        return "–"  # noqa: RUF001
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest and hours < 10 else f"{round(minutes / 60):,} h"


def suggestion(
    name: str, known: Iterable[str], prefix: str = "", likely: Sequence[str] = ()
) -> str:
    """What was probably meant, or all there is.

    Args:
        name: what is not there.
        known: what is.
        prefix: what all of them begin with, which is no likeness.
        likely: what is more likely than any that is spelt alike, best first.

    Example:
        >>> suggestion("memry", ["memory", "two-task"]), suggestion("x", ["memory", "two-task"])
        ("did you mean 'memory'?", 'there is: memory, two-task')
    """
    options = list(known)
    close = [*likely, *difflib.get_close_matches(name, options, n=1, cutoff=0.5)]
    if close:
        return f"did you mean {prefix + close[0]!r}?"
    return f"there is: {', '.join(prefix + option for option in options)}"

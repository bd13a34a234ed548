"""Options that several commands have, and what the user gave to them, checked."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bennafusi.cli.printing import refuse
from bennafusi.experiments.experiment import Scale

Where = Annotated[Path, typer.Argument(help="The folder given to --out, or a part of it.")]
# Options of all commands that plan runs.
HowMuch = Annotated[Scale, typer.Option(help="How much of it to run.")]
Seeds = Annotated[
    int | None,
    typer.Option(min=1, max=10_000, help="How many seeds.", show_default="as the experiment says"),
]
FirstSeed = Annotated[int, typer.Option(min=0, max=2**30, help="The first seed.")]
Variants = Annotated[
    str | None,
    typer.Option(help="Only these, with commas between; bennafusi list EXPERIMENT has them."),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Change a setting; may be repeated."),
]
Grid = Annotated[
    list[str] | None,
    typer.Option("--sweep", metavar="FIELD=A,B,...", help="Run all these values; may be repeated."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")]


def named(variants: str | None) -> tuple[str, ...]:
    """The variants of an option; none if it was not given."""
    found = tuple(name for name in (variants or "").split(",") if name)
    if variants is not None and not found:
        refuse(f"--variants {variants!r}: names no agent; leave it out for the usual ones")
    return found


def changes(
    words: Sequence[str], option: str = "--set", example: str = "epochs=12"
) -> dict[str, str]:
    """The words given to ``--set``, by the path of a field.

    Example:
        >>> changes(["epochs=3", "chain.n=5"])
        {'epochs': '3', 'chain.n': '5'}
    """
    found: dict[str, str] = {}
    for word in words:
        field, equals, value = word.partition("=")
        if not equals or not field:
            refuse(f"{option} {word}: must be FIELD=VALUE, such as {option} {example}")
        if field in found:
            refuse(f"{option} {word}: {field} is given twice")
        found[field] = value
    return found


def prepare(folder: Path) -> None:
    """Make the folder and see that a file can be written there."""
    try:
        if folder.exists() and not folder.is_dir():
            refuse(f"cannot write to --out {folder}: it is a file, not a folder")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        refuse(f"cannot write to --out {folder}: {error.strerror or error}")


def need(option: str, package: str, extra: str) -> None:
    """Refuse an option whose package is not installed."""
    if importlib.util.find_spec(package) is None:
        refuse(f"{option} needs {package}: pip install 'bennafusi[{extra}]'")

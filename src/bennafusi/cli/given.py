"""What the user gave to a command, made ready or refused."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

from bennafusi.cli.show import refuse


def changes(words: list[str]) -> dict[str, str]:
    """The words given to ``--set``, by field."""
    found = {}
    for word in words:
        field, equals, value = word.partition("=")
        if not equals or not field:
            refuse(f"--set {word}: must be FIELD=VALUE, such as --set epochs=12")
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

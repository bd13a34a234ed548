"""The command ``bennafusi``, also as ``python -m bennafusi``, where its packages are installed."""

from __future__ import annotations

import importlib.util
import sys

# What the extra `experiments` brings, by the names that are imported.
NEEDED = ("gymnasium", "jinja2", "matplotlib", "rich", "typer")


def main() -> None:
    """Run the command; without its packages, say in one line what to install."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(
            f"bennafusi: the command needs {', '.join(missing)}: "
            "pip install 'bennafusi[experiments]'"
        )
    from bennafusi.cli import main as command

    command()


if __name__ == "__main__":  # processes that Dask spawns import this file, too
    main()

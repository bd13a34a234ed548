"""Writes docs/cli.md from the command itself; a test holds the two together.

python docs/tools/cli_page.py
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from typer.models import ArgumentInfo, OptionInfo

PAGE = Path(__file__).parents[1] / "cli.md"
_INTRO = (
    "Every command of `bennafusi`, with its options; written by `python docs/tools/cli_page.py` "
    "from the command itself. `bennafusi COMMAND --help` says the same in a terminal, "
    "`bennafusi --install-completion` makes the shell complete names. How they work together: "
    "[Runs that survive](runs.md)."
)
HEAD = f"# The command\n\n{_INTRO}\n\n| command | what it does |\n|---|---|\n"
_MARKUP = re.compile(r"\[/?bold\]")


def page() -> str:
    """The page, as it should be."""
    from bennafusi.cli import app

    group: Any = typer.main.get_command(app)
    shown = {name: one for name, one in group.commands.items() if not one.hidden}
    rows = [f"| [`{name}`](#{name}) | {_line(one.help)} |" for name, one in shown.items()]
    return HEAD + "\n".join(rows) + "\n" + "".join(_section(*item) for item in shown.items())


def _section(name: str, command: Any) -> str:
    # From the signature, which is ours, and not from typer's own objects, which change.
    given = inspect.signature(command.callback, eval_str=True).parameters.values()
    params = [(one, *get_args(one.annotation)[:2]) for one in given]
    arguments = [one.name.upper() for one, _, info in params if isinstance(info, ArgumentInfo)]
    parts = [f"\n## {name}", _line(command.help)]
    parts.append("```\n" + " ".join(["bennafusi", name, *arguments, "[OPTIONS]"]) + "\n```")
    options = [_row(*row) for row in params if isinstance(row[2], OptionInfo)]
    if options:
        parts.append("| option | meaning |\n|---|---|\n" + "\n".join(options))
    examples = re.findall(r"\[bold\](.*?)\[/bold\]", command.epilog or "")
    if examples:
        parts.append("```\n" + "\n".join(examples) + "\n```")
    return "\n\n".join(parts) + "\n"


def _row(param: inspect.Parameter, kind: Any, info: OptionInfo) -> str:
    # In an annotation, typer takes the first name for the default until the command is built.
    first = [info.default] if str(info.default).startswith("-") else []
    names = [*first, *(info.param_decls or ())] or [f"--{param.name.replace('_', '-')}"]
    value = "" if kind is bool else f" {info.metavar or _kind(kind)}"
    word = f"`{', '.join(names)}{value}`"
    return f"| {word} | {_line(info.help)}{_default(param.default, info)} |"


def _kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return r"\|".join(get_args(kind))
    plain = next((one for one in get_args(kind) if one is not type(None)), kind)
    return {str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}.get(plain, "TEXT")


def _default(value: Any, info: OptionInfo) -> str:
    if value is inspect.Parameter.empty:
        return " Required."
    if isinstance(info.show_default, str):
        return f" Default: {info.show_default}."
    return "" if value in (None, "") or value is False else f" Default: {value}."


def _line(text: str | None) -> str:
    return " ".join(_MARKUP.sub("`", text or "").split()).replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")

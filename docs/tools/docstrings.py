r"""Docstrings are written for `help()`; here their roles become Markdown for the reference.

``:math:`x``` and ``.. math::`` become equations, ``:class:`Chain``` a link where there is a target.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe
from promised_names import promised

_BLOCK = re.compile(r"^( *)\.\. math::([^\n]*)\n((?:(?:\1 +[^\n]*)?\n)*)", re.M)
_INLINE = re.compile(r":math:`([^`]+)`", re.S)
_RETURNS = re.compile(r"^( *)Returns:\n(?:\1 +[^\n]+\n)+", re.M)
_ROLE = re.compile(r":(?:class|func|mod|data|meth):`([^`]+)`")


class Roles(griffe.Extension):
    """Rewrites each docstring as it is read."""

    def __init__(self) -> None:
        self.targets = {}
        for name, _ in reversed(list(promised())):  # the shortest path to a name is the last one
            self.targets[name] = self.targets[name.rsplit(".", 1)[1]] = name

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = self.as_markdown(obj.docstring.value)

    def as_markdown(self, text: str) -> str:
        """A docstring without roles."""
        text = re.sub(r"^( *)Example:$", r"\1Examples:", text, flags=re.M)  # griffe's name for it
        text = _BLOCK.sub(_equation, text + "\n")
        # A colon in the sentence would be taken for the end of a type.
        text = _RETURNS.sub(lambda m: m[0].replace(": ", "&#58; "), text)
        text = _INLINE.sub(lambda m: f"${' '.join(m[1].split())}$", text)
        return _ROLE.sub(self._link, text).rstrip()

    def _link(self, match: re.Match[str]) -> str:
        name = match[1].lstrip("~")
        short = name.rsplit(".", 1)[-1]
        target = self.targets.get(name)
        return f"[`{short}`][{target}]" if target else f"`{name}`"


def _equation(match: re.Match[str]) -> str:
    indent, first, rest = match.groups()
    latex = first.strip() or " ".join(textwrap.dedent(rest).split())
    after = rest if first.strip() else ""
    return f"{indent}$$\n{indent}{latex}\n{indent}$$\n\n{after}"

"""Hooks of `mkdocs build`: equations become MathML, and no public name may be left out.

Equations are turned into MathML while the pages are built. Browsers draw that by themselves: the
pages need no JavaScript and no font from a network for it, and work from a folder without one.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from promised_names import complaints

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.S)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.S)


def mathml(latex: str, display: str) -> str:
    """One equation as MathML; several lines of it become a table, aligned at their signs."""
    text = html.unescape(latex).strip()
    if r"\\" in text and r"\begin" not in text:
        lines = text.replace("&&", r"\qquad ")  # a remark beside a line is part of it
        text = rf"\begin{{align*}}{lines}\end{{align*}}"
    result = convert(text, display=display)
    if "\\" in result:
        raise PluginError(f"an equation holds a command that the converter does not know: {latex}")
    return result


def on_page_content(content: str, **_: Any) -> str:
    """Replace what the Markdown extension has marked as an equation."""
    content = _BLOCK.sub(lambda m: f'<div class="equation">{mathml(m[1], "block")}</div>', content)
    return _INLINE.sub(lambda m: mathml(m[1], "inline"), content)


def on_post_build(config: Any) -> None:
    """Fail where a public name has no docstring, or is not in the API reference."""
    pages = sorted(Path(config.site_dir, "api").rglob("*.html"))
    found = complaints(" ".join(page.read_text() for page in pages))
    if found:
        raise PluginError("the API reference is not complete:\n  " + "\n  ".join(found))

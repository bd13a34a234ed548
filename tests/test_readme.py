"""What the README and the guide show is run, and what they link to exists."""

import re
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md"]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_blocks_run(block, capsys):
    # In a namespace of its own; the blocks are ours, as trusted as this file.
    with jax.numpy_dtype_promotion("standard"):
        exec(compile(block, "block", "exec"), {})
    printed = capsys.readouterr().out
    # What a comment says comes out: a shape, a chain, or the numbers of the first steps.
    for expected in re.findall(r"#\s*(\([\d, ]+\)|torch\.Size\(.*?\)|Chain\(.*|target .*)", block):
        assert expected.strip() in printed


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_there_are_blocks():
    assert len(BLOCKS) >= 5

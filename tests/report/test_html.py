"""The report is one file that loads nothing and runs nothing."""

import re
from html.parser import HTMLParser

import pytest

from bennafusi.report import content, html

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}"


class Tags(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def page(tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    section = content.Section(
        title=HOSTILE,
        lead=HOSTILE,
        findings=[
            content.Finding(HOSTILE, HOSTILE, HOSTILE, True),
            content.Finding("no", "1", "2", False),
        ],
        pictures=[content.Picture(HOSTILE, HOSTILE, picture)],
    )
    provenance = content.Provenance(HOSTILE, 1.5, {HOSTILE: HOSTILE}, {HOSTILE: HOSTILE})
    html.write(tmp_path / "report.html", HOSTILE, [section], provenance)
    assert {p.name for p in tmp_path.iterdir()} == {"a.png", "report.html"}
    return (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def tags(page):
    parser = Tags()
    parser.feed(page)
    return parser.found


def test_hostile_text_stays_text(page, tags):
    assert "script" not in {tag for tag, _ in tags}
    assert not [name for _, attrs in tags for name in attrs if name.startswith("on")]
    assert "&lt;script&gt;" in page
    assert "{{ 7 * 7 }}" in page


def test_nothing_is_loaded(page, tags):
    assert not re.search(r"https?:|url\(|@import|//\w", page)
    assert not {"link", "iframe", "object", "base", "form"} & {tag for tag, _ in tags}
    sources = [attrs["src"] for tag, attrs in tags if tag == "img"]
    assert sources == ["data:image/png;base64,iVBORw=="]


def test_policy_forbids_everything_else(tags):
    policies = [a["content"] for tag, a in tags if tag == "meta" and "http-equiv" in a]
    assert len(policies) == 1
    parts = policies[0].split("; ")
    assert {"default-src 'none'", "img-src data:", "style-src 'unsafe-inline'"} <= set(parts)


def test_verdicts(page):
    assert "1 of 2 findings hold" in page
    assert "✓ holds" in page
    assert "✗ does not hold" in page


def test_light_dark_and_small_screens(page):
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page


def test_only_known_pictures(tmp_path):
    with pytest.raises(ValueError, match="a figure must be one of"):
        _ = content.Picture("a", "b", tmp_path / "a.html").uri

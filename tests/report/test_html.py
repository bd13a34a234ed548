"""The report is one file that loads nothing, and runs nothing but its own scripts."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from bennafusi import results
from bennafusi.report import html

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}</script><!--"
SURROGATE = "\ud800"  # JSON can hold it, UTF-8 cannot


class Page(HTMLParser):
    """Every tag with its attributes, and what stands in scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inside, self.open = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open = (tag, dict(attrs)) if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.inside.append((*self.open, data))


def section(picture, hostile=HOSTILE):
    films = [{"agent": hostile, "seed": hostile, "shape": [0, 1, 1, 1], "values": {}}]
    runs = results.Table(hostile, hostile, (hostile,), [(hostile,), (1,), (float("nan"),)])
    return results.Section(
        title=hostile,
        lead=hostile,
        findings=[
            results.Finding(hostile, hostile, hostile, True),
            results.Finding("no", "1", "2", False, hostile, hostile, hostile),
            results.Finding("no", "1", "2", None),
        ],
        pictures=[results.Picture(hostile, hostile, picture)],
        tables=[runs],
        name=hostile,
        see=[hostile],
        exhibits=[
            results.Exhibit("values", hostile, hostile, {"films": films}),
            results.Exhibit("seeds", hostile, hostile, {"charts": [{"title": hostile}]}),
        ],
        provenance=results.Provenance(
            hostile, 1.5, 1, runs, {hostile: hostile, "jax": hostile}, {hostile: hostile}
        ),
        problems=[hostile],
    )


@pytest.fixture
def text(tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    html.write(tmp_path / "report.html", HOSTILE, [section(picture)], [HOSTILE, SURROGATE])
    assert {p.name for p in tmp_path.iterdir()} == {"a.png", "report.html"}
    return (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def page(text):
    return Page(text)


def test_hostile_text_stays_text(text, page):
    kinds = [attrs.get("type") for tag, attrs in page.tags if tag == "script"]
    assert kinds.count(None) == 1, "one script, which is ours"
    assert set(kinds) == {None, "application/json"}
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert not [attrs for _, attrs in page.tags if "style" in attrs], "the policy forbids them"
    assert "&lt;script&gt;" in text
    assert "{{ 7 * 7 }}" in text
    data = [json.loads(part) for _, attrs, part in page.inside if "type" in attrs]
    assert data[0]["films"][0]["agent"] == HOSTILE, "data come through whole"
    assert data[1]["charts"][0]["title"] == HOSTILE
    assert HOSTILE.replace('"', '""') in data[2]["csv"]


def test_nothing_is_loaded(text, page):
    namespace = '"http://www.w3.org/2000/svg"'
    assert not re.search(r"https?:|url\(|@import|\bimport\(", text.replace(namespace, ""))
    assert not re.search(r"\b(eval|Function|fetch|XMLHttpRequest|innerHTML)\b", text)
    assert not {"link", "iframe", "object", "base", "form"} & {tag for tag, _ in page.tags}
    sources = [attrs["src"] for _, attrs in page.tags if "src" in attrs]
    assert sources == ["data:image/png;base64,iVBORw=="]


def test_policy_names_what_may_run(page):
    policies = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert len(policies) == 1
    rules = dict(part.split(" ", 1) for part in policies[0].split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert "unsafe" not in policies[0]
    for rule, wanted in (("script-src", "script"), ("style-src", "style")):
        ours = [part for tag, attrs, part in page.inside if tag == wanted and not attrs]
        digest = base64.b64encode(hashlib.sha256("".join(ours).encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_verdicts_have_marks_and_words(text):
    words = re.sub(r"<[^>]*>|\s+", " ", text)
    words = " ".join(words.split())
    for part in ("✓ 1 hold", "✗ 1 fail", "1 not enough data", "✓ holds", "✗ fails"):
        assert part in words


def test_light_dark_print_and_small_screens(text):
    for part in ("prefers-color-scheme: dark", "@media print", "width=device-width"):
        assert part in text
    assert "prefers-reduced-motion" in text


def test_large_tables_are_named_and_left_out():
    rows = [(number, 0.1) for number in range(100_000)]
    table = results.Table("beakers", "Many", ("a", "b"), rows)
    page = html.render("T", [results.Section("S", "L", tables=[table])])
    assert len(page) < 100_000
    assert "100,000 rows, 1.0 MB, too many for this page" in page
    assert "numbers/beakers.csv" in page


def test_no_page_without_a_known_exhibit():
    with pytest.raises(ValueError, match="kind='film': choose one of seeds, depths"):
        results.Exhibit("film", "", "", {})


def test_only_known_pictures(tmp_path):
    with pytest.raises(ValueError, match="a figure must be one of"):
        html.uri(results.Picture("a", "b", tmp_path / "a.html"))


def test_pixels_instead_of_very_many_vectors(tmp_path, monkeypatch):
    monkeypatch.setattr(html, "MOST_VECTORS", 3)
    (tmp_path / "a.svg").write_text("<svg/>")
    picture = results.Picture("a", "b", tmp_path / "a.svg")
    assert html.uri(picture).startswith("data:image/svg+xml")
    (tmp_path / "a.png").write_bytes(b"png")
    assert html.uri(picture).startswith("data:image/png")

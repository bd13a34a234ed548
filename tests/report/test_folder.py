"""Results as a folder of small files: nothing is lost in the CSV, nothing escapes in the page."""

import csv
import json

from bennafusi.report import results_folder
from bennafusi.results import Finding, Picture, Provenance, Section, Table

HOSTILE = "a|b\n<script>alert(1)</script> [x](javascript:y) `c`"
INF = float("inf")
RUNS = Table("runs", "Runs", ("variant", "seed"), [("a", 0)])


def write(tmp_path):
    picture = tmp_path / "figures" / "one.svg"
    picture.parent.mkdir()
    picture.write_text("<svg/>")
    picture.with_suffix(".png").write_bytes(b"png")
    columns = ("variant", "measure", "seeds", "mean", "sd", "low 95%", "high 95%", "median")
    rows = [("a", "x", 2, 0.1 + 0.2, 0.5, 0.0, 1.0, 0.3), ("b", "x", 2, INF, INF, INF, INF, 7.0)]
    section = Section(
        "Title",
        "Lead.",
        [
            Finding(HOSTILE, "rule", "measured", None),
            Finding("s", "r", "m", False, "5% of it", "too hot", "docs/a.md#b"),
        ],
        [Picture("Figure", "Caption.", picture)],
        [Table("summary", "All", columns, rows)],
        name="two-task",
        provenance=Provenance("make it", 7.0, 0, RUNS, {"jax": "1.2", "cpu": None}),
    )
    return results_folder.contents(tmp_path, section)


def test_the_page(tmp_path):
    page = write(tmp_path)["README.md"]
    assert page.startswith(
        "# two-task: Title\n\nLead.\n\n```\nmake it\n```\n\nMade with jax 1.2.\n"
    )
    assert "**0 of 1 runs are finished**" in page
    assert "![Figure](figures/one.png)" in page  # a page shows pixels, the vectors lie beside
    assert "| x | 0.3 ± 0.5 | median 7 |" in page
    assert "| s | r | m | **does not hold** Why: too hot (docs/a.md#b) |" in page
    assert "## Claims\n\nJudged at 5% of it.\n\n| the paper" in page
    row = next(line for line in page.splitlines() if "alert" in line)
    assert r"a\|b \<script\>" in row
    assert "<script>" not in page
    assert "[x](" not in page


def test_a_reason_is_a_link_where_the_documentation_lies_above(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# B\n", encoding="utf-8")
    folder = tmp_path / "results" / "paper"
    folder.mkdir(parents=True)
    assert "too hot ([docs/a.md#b](../../docs/a.md#b)) |" in write(folder)["README.md"]


def test_files_for_programs(tmp_path):
    found = write(tmp_path)
    rows = list(csv.DictReader(found["numbers/summary.csv"].splitlines()))
    assert float(rows[0]["mean"]) == 0.1 + 0.2  # to the last digit
    assert float(rows[1]["mean"]) == INF
    claims = json.loads(found["claims.json"])
    assert [claim["holds"] for claim in claims] == [None, False]
    assert claims[1]["scale"] == "5% of it"
    assert (claims[1]["why"], claims[1]["see"]) == ("too hot", "docs/a.md#b")
    assert found["numbers/runs.csv"] == "variant,seed\na,0\n"

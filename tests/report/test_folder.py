"""Results as a folder of small files: nothing is lost in the CSV, nothing escapes in the page."""

import csv
import json

from bennafusi.report import folder
from bennafusi.results import Finding, Picture, Section, Table

HOSTILE = "a|b\n<script>alert(1)</script> [x](javascript:y) `c`"
INF = float("inf")


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
        [Finding(HOSTILE, "rule", "measured", None), Finding("s", "r", "m", False)],
        [Picture("Figure", "Caption.", picture)],
        [Table("summary", "All", columns, rows)],
    )
    runs = Table("runs", "Runs", ("variant", "seed"), [("a", 0)])
    folder.write(tmp_path, section, "two-task", ["Made by hand."], runs)
    return (tmp_path / "README.md").read_text()


def test_the_page(tmp_path):
    page = write(tmp_path)
    assert page.startswith("# two-task: Title\n\nLead.\n\nMade by hand.\n")
    assert "![Figure](figures/one.png)" in page  # a page shows pixels, the vectors lie beside
    assert "| x | 0.3 ± 0.5 | median 7 |" in page
    assert "| s | r | m | **does not hold** |" in page
    row = next(line for line in page.splitlines() if "alert" in line)
    assert r"a\|b \<script\>" in row
    assert "<script>" not in page
    assert "[x](" not in page
    assert not list(tmp_path.rglob("*.part"))


def test_files_for_programs(tmp_path):
    write(tmp_path)
    with (tmp_path / "numbers" / "summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["mean"]) == 0.1 + 0.2  # to the last digit
    assert float(rows[1]["mean"]) == INF
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert [claim["holds"] for claim in claims] == [None, False]
    assert (tmp_path / "numbers" / "runs.csv").read_text() == "variant,seed\na,0\n"

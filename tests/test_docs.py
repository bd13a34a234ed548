"""The documentation builds without a warning, is complete, and needs no network to be read."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mkdocs.exceptions import PluginError

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "tools"))  # where mkdocs finds its hooks

import cli_page  # noqa: E402
import hooks  # noqa: E402
import promised_names  # noqa: E402


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built pages; a broken link or an undocumented name makes mkdocs fail."""
    folder = tmp_path_factory.mktemp("site")
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_public_name_is_in_the_reference_and_has_a_docstring(site):
    pages = " ".join(page.read_text() for page in (site / "api").glob("*.html"))
    assert promised_names.complaints(pages) == []
    without = pages.replace('id="bennafusi.consolidate"', "")
    assert any("bennafusi.consolidate" in c for c in promised_names.complaints(without))


def test_names_that_are_promised():
    names = [name for name, _ in promised_names.promised()]
    assert {"bennafusi.Chain", "bennafusi.torch.Consolidated"} <= set(names)
    assert "bennafusi.agents.q_lambda.learn" in names
    assert not any(name.rsplit(".", 1)[1].startswith("_") for name in names)


def test_equations_are_mathml_and_none_is_left_over(site):
    assert "<math" in (site / "paper.html").read_text()
    assert "<math" in (site / "api" / "bennafusi.html").read_text()
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert 'class="arithmatex"' not in text, page
        assert not re.search(r":(?:math|class|func|data|mod):`|\.\. math::", text), page


def test_nothing_is_fetched_from_elsewhere(site):
    fetched = re.compile(r"<(?:script|img|iframe)[^>]*\ssrc=\"?https?:|<link[^>]*href=\"?https?:")
    for page in site.rglob("*.html"):
        assert not fetched.search(page.read_text()), page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\"?https?:", sheet.read_text()), sheet


def test_an_equation():
    line = hooks.mathml(r"a &amp;= b \\ c &amp;= d", "block")
    assert line.count("<mtr>") == 2
    assert "&amp;" not in line
    with pytest.raises(PluginError, match="does not know"):
        hooks.mathml(r"\nosuchcommand x", "inline")


def test_figures_are_drawn(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "make_figures.py", tmp_path],
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn
    assert drawn <= {path.name for path in (ROOT / "docs" / "images").glob("*.png")}
    assert all(path.stat().st_size > 5_000 for path in tmp_path.glob("*.png"))


def test_every_test_that_the_table_of_faults_names_is_there_and_run_by_make_faults():
    page = (ROOT / "docs" / "runs.md").read_text()
    table = page[page.index("| fault |") : page.index("`make faults`")]
    rows = [line.split("|")[3] for line in table.splitlines()[2:] if line.startswith("|")]
    assert len(rows) > 20
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    taken = re.search(r"^FAULTS := (.+)", makefile, re.MULTILINE)[1].split()
    for row in rows:
        names = re.findall(r"`((?:\w+/)?test_\w+\.py)`", row)
        assert names
        for name in names:
            paths = [Path("tests/runs") / name, Path("tests") / name]
            (path,) = [path for path in paths if (ROOT / path).exists()]
            assert any(path.is_relative_to(part) for part in taken), name


def test_the_page_of_the_command_is_what_the_command_says():
    found = cli_page.PAGE.read_text(encoding="utf-8")
    assert found == cli_page.page(), "run python docs/tools/cli_page.py"
    for text in ("## run", "`--set FIELD=VALUE`", "`--sweep FIELD=A,B,...`", "## slurm-script"):
        assert text in found
    assert "## work" not in found  # hidden: started by the other commands
    assert "inspect" not in found  # what stands for a default where there is none

"""The report in a real browser: it moves, sorts, downloads, and says nothing on the console."""

import io
import os
import re
import shutil
from importlib.resources import files

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from bennafusi import results
from bennafusi.cli import sections
from bennafusi.cli.playing import EpisodeCache
from bennafusi.experiments.deep import game_frames
from bennafusi.experiments.figure_style import write
from bennafusi.report import html
from bennafusi.results import Finding, Table
from bennafusi.runs.folder import Folder
from tests.report import made
from tests.report.test_html import HOSTILE

MOVING = ("values", "beakers", "play")
NAMES = ("chromium", "chromium-browser", "google-chrome")
ADVICE = (
    "no browser to test the report in: install chromium (apt-get install chromium) or set "
    "CHROMIUM=/path/to/it, and playwright with pip install -c constraints.txt -e '.[dev]'"
)


def missing():
    """Where tests must not be left out in silence, a browser must be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(ADVICE)
    pytest.skip(ADVICE)


@pytest.fixture(scope="module")
def browser():
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing()
    if program is None:
        missing()
    with sync_playwright() as playwright:
        words = ["--no-sandbox"] if os.geteuid() == 0 else []
        found = playwright.chromium.launch(executable_path=program, args=words)
        yield found
        found.close()


class Depths(EpisodeCache):
    """The networks of all depths at play: here every depth plays as the agent does."""

    def depths(self, group, runs):
        played = self.exhibit(group, runs, None)
        if not played:
            return {}
        mine = [one for one in played[0].data["episodes"] if one["agent"] == "benna-fusi"]
        found = {}
        for seed in (0, 1):
            own = [{**one, "depth": k} for one in mine if one["seed"] == seed for k in (1, 2, 3)]
            found["benna-fusi", seed] = {"time": 80, "episodes": own}
        return found


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with every kind of exhibit."""
    root = tmp_path_factory.mktemp("report")
    made.grid(root)
    made.deep(root, seeds=(0, 1))
    sections.write_page(root / "report.html", root, Depths())
    return root / "report.html"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A report of runs that bring hostile names wherever they can."""
    root = tmp_path_factory.mktemp("hostile")
    made.deep(root, seeds=(0, 1), finished=False)
    for config in root.rglob("config.json"):
        text = config.read_text()
        config.write_text(text.replace("3.11.7", "<img src=x onerror=alert(1)>"))
    for run in root.glob("two-task/*/seed-1/metrics.jsonl"):
        name = HOSTILE.replace('"', "'")
        run.write_text(run.read_text().replace('"catcher"', f'"{name}"'))
        made.seal(Folder(run.parent))
    sections.write_page(root / "report.html", root, None)
    return root / "report.html"


@pytest.fixture
def open_page(browser, report):
    """Opens the report, and fails if the browser has anything to say about it."""
    said, contexts = [], []

    def opened(width=1280, path=report, **options):
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: said.append(request.url) if _outside(request) else None)
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []


def _outside(request):
    return not request.url.startswith(("file:", "data:", "blob:"))


def picture(page, exhibit, number=0):
    """What a canvas shows, as a string."""
    canvas = page.locator(f"[data-kind={exhibit}] canvas").nth(number)
    return canvas.evaluate("canvas => canvas.toDataURL()")


def sliders(page, exhibit):
    return page.locator(f"[data-kind={exhibit}] input[type=range]")


def test_the_slider_moves_the_picture(open_page):
    page = open_page()
    for exhibit in MOVING:
        slider, output = sliders(page, exhibit), page.locator(f"[data-kind={exhibit}] output")
        slider.fill("0")
        first, said = picture(page, exhibit), output.inner_text()
        slider.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert slider.input_value() == "2", "the arrow keys move it"
        assert picture(page, exhibit) != first
        assert output.inner_text() != said
        slider.fill("0")
        assert picture(page, exhibit) == first


def test_play_goes_on_and_ends(open_page):
    page = open_page()
    for exhibit in MOVING:
        slider, button = sliders(page, exhibit), page.locator(f"[data-kind={exhibit}] button.act")
        slider.fill("0")
        before = picture(page, exhibit)
        slider.focus()
        page.keyboard.press("Space")
        assert button.get_attribute("aria-pressed") == "true"
        page.wait_for_function("slider => Number(slider.value) > 1", arg=slider.element_handle())
        assert picture(page, exhibit) != before
        # In one go: a slow machine may be at the end by now.
        pause = "b => { if (b.getAttribute('aria-pressed') === 'true') b.click(); }"
        button.evaluate(pause)
        assert button.get_attribute("aria-pressed") == "false"
        last = int(slider.get_attribute("max"))
        slider.fill(str(last - 1))
        button.click()
        over = "button => button.getAttribute('aria-pressed') === 'false'"
        page.wait_for_function(over, arg=button.element_handle())
        assert slider.input_value() == str(last)


def test_nothing_moves_unasked_and_calm_is_slow(open_page):
    page = open_page(reduced_motion="reduce")
    slider = sliders(page, "play")
    slider.fill("0")
    page.locator("[data-kind=play] button.act").click()
    page.wait_for_function("slider => Number(slider.value) > 0", arg=slider.element_handle())
    assert int(slider.input_value()) <= 2


def test_a_cell_and_its_beakers(open_page):
    page = open_page()
    before = picture(page, "values", 1)
    maps = page.locator("[data-kind=values] canvas").first
    maps.click(position={"x": 10, "y": 40})
    words = page.locator("[data-kind=values] .stage p")
    assert words.inner_text() == "Beakers of the cell in column 1, row 4 from below"
    assert picture(page, "values", 1) != before
    page.keyboard.press("ArrowDown")
    assert words.inner_text() == "Beakers of the cell in column 1, row 3 from below"


def test_a_click_on_the_band_goes_there(open_page):
    page = open_page()
    band = page.locator("[data-kind=beakers] canvas").nth(1)
    slider, size = sliders(page, "beakers"), band.bounding_box()
    for share, place in ((0.95, "4"), (0.1, "0")):
        band.click(position={"x": share * size["width"], "y": 8})
        assert slider.input_value() == place


def test_other_agents_and_parameters(open_page):
    page = open_page()
    for exhibit, place in {"values": 0, "beakers": 0, "play": 1}.items():
        before = picture(page, exhibit)
        page.locator(f"[data-kind={exhibit}] select").last.select_option(index=place)
        assert picture(page, exhibit) != before


def opened_table(page, name):
    box = page.locator("details.numbers", has_text=name).first
    box.locator("summary").click()
    return box


def test_tables_sort(open_page):
    page = open_page()
    box = opened_table(page, "Of each epoch")
    column = "td:nth-child(5)"
    for way in ("ascending", "descending"):
        box.get_by_role("button", name="good policy").click()
        assert box.locator("th").nth(4).get_attribute("aria-sort") == way
        cells = box.locator(column).all_inner_texts()
        numbers = [float("inf") if c == "never" else float(c.replace(",", "")) for c in cells]
        assert float("inf") in numbers
        assert numbers == sorted(numbers, reverse=way == "descending")


def test_the_download_is_the_file(open_page, report, tmp_path):
    from bennafusi.cli import gather
    from bennafusi.experiments.registry import find
    from bennafusi.report.results_folder import as_csv

    page = open_page()
    box = opened_table(page, "Of each epoch: steps to the first reward")
    with page.expect_download() as download:
        box.locator("button.csv").click()
    assert download.value.suggested_filename == "epochs.csv"
    download.value.save_as(tmp_path / "got.csv")
    groups = gather.gather(report.parent).groups
    grid = next(group for group in groups if group.experiment.name == "grid-switch")
    tables = find("grid-switch").tables(gather.load(report.parent, grid, []))
    wanted = next(table for table in tables if table.name == "epochs")
    assert (tmp_path / "got.csv").read_bytes() == as_csv(wanted).encode()


def test_agents_seeds_and_tasks_are_switched(open_page):
    page = open_page()
    box = page.locator("[data-kind=seeds]").nth(1)
    lines = box.locator(".chart g")
    assert lines.count() == 6, "two agents with two seeds each, and the mean of either"
    box.get_by_role("button", name="control-1e-3").click()
    assert lines.count() == 3
    box.get_by_role("button", name="seed 1").click()
    assert lines.count() == 1, "one seed has no mean"
    box.get_by_role("button", name="control-1e-3").click()
    assert lines.count() == 2
    before = box.locator(".chart").inner_html()
    box.locator("select").last.select_option(index=1)
    assert box.locator(".chart").inner_html() != before, "another task"
    box.locator("select").first.select_option(label="Test reward")
    assert box.locator("select").count() == 1, "which is of all tasks"


def test_lines_are_drawn_as_in_the_figures(open_page):
    page = open_page()
    box = page.locator("[data-kind=seeds]").first
    own = box.locator(".chart g[data-agent=control]")
    drawn = own.last.locator("path")
    assert (drawn.get_attribute("stroke"), drawn.get_attribute("stroke-dasharray")) == (
        "#0072B2",
        "11.0 3.3",  # 5 and 1.5 of a width of 2.2
    )
    assert own.first.locator("path").get_attribute("stroke-dasharray") == "none", "a single seed"
    assert box.locator(".switch polygon").count() == 3, "a marker for each agent"


def test_pointing_reads_a_line_off(open_page):
    page = open_page()
    box = page.locator("[data-kind=seeds]").first
    spot = box.locator(".chart .mark").first
    spot.scroll_into_view_if_needed()
    at = spot.bounding_box()
    page.mouse.move(at["x"] + 1, at["y"] + 1)
    said = box.locator("output").inner_text()
    assert re.fullmatch(r"control, (seed \d|mean of 2 seeds): [\d,.]+ at epoch 1", said)
    page.mouse.move(2, 2)
    assert box.locator("output").inner_text() == "Point at a line to read it off."


def test_profiles_beside_means(open_page):
    page = open_page()
    box = page.locator("[data-kind=profiles]").first
    assert box.locator(".chart g").count() == 3
    heads = box.locator("thead th").all_inner_texts()
    assert heads == ["agent", "runs", "mean", "interquartile mean [95%]"]
    assert box.locator("tbody tr").count() == 3
    box.get_by_role("button", name="modified").click()
    assert box.locator("tbody tr").count() == box.locator(".chart g").count() == 2


def test_the_depths_over_time(open_page):
    page = open_page()
    box = page.locator("[data-kind=depths]")
    first, moment = picture(page, "depths"), sliders(page, "depths").first
    assert box.locator(".readout").first.inner_text() == "episode 80, epoch 4 of Catcher"
    assert "Cart-Pole, u₃ at episode 80: mean reward 43" in box.inner_text(), "the best one"
    assert box.locator(".onstage canvas").count() == 1, "its network plays"
    page.locator("[data-kind=depths] .onstage input").fill("3")
    assert "step 3" in box.inner_text()
    moment.fill("1")
    assert picture(page, "depths") != first
    assert box.locator(".onstage").inner_text() == "This depth was not reached yet."
    maps = box.locator(".maps canvas").nth(1)
    maps.focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert "Catcher, u₂ at episode 40: mean reward -2" in box.inner_text()


def test_a_cell_of_the_depths_plays(open_page):
    page = open_page()
    box = page.locator("[data-kind=depths]")
    maps = box.locator(".maps canvas").first
    size = maps.bounding_box()
    right = size["width"] - 100 - 46 - 5  # the last column, left of timescales and bars
    maps.click(position={"x": right, "y": 34 + 30})
    assert "Cart-Pole, u₂ at episode 80: mean reward 42" in box.inner_text()
    assert "u₂ of benna-fusi, seed 0" in box.locator(".onstage h4").inner_text()
    maps.click(position={"x": 36, "y": 34 + 5})
    assert "Cart-Pole, u₁ at episode 0: mean reward 1" in box.inner_text()
    stage = box.locator(".onstage")
    assert "No game of this moment was kept" in stage.inner_text()
    box.locator("select").select_option(index=1)
    assert "u₃ of benna-fusi, seed 1" in stage.locator("h4").inner_text()
    maps.click(position={"x": 36, "y": 34 + 5})
    assert "This run kept no games" in stage.inner_text()


def test_a_cell_of_an_earlier_switch_plays_the_game_that_was_kept(open_page):
    page = open_page()
    box = page.locator("[data-kind=depths]")
    stage, moment = box.locator(".onstage"), sliders(page, "depths").first
    maps = box.locator(".maps canvas").first
    across = maps.bounding_box()["width"] - 34 - 100 - 46  # five columns of equal width
    maps.click(position={"x": 34 + 0.5 * across, "y": 34 + 30})
    assert "Cart-Pole, u₂ at episode 40: mean reward 22" in box.inner_text()
    assert moment.input_value() == "2"
    assert "u₂ of benna-fusi, seed 0" in stage.locator("h4").inner_text()
    assert "The first of the games that this cell averages." in stage.inner_text()
    slider = stage.locator("input[type=range]")
    assert slider.get_attribute("max") == "22", "a picture of each step"
    first = picture(page, "depths", 2)
    stage.locator("button.act").click()
    page.wait_for_function("slider => Number(slider.value) > 1", arg=slider.element_handle())
    assert picture(page, "depths", 2) != first, "it moves"
    page.wait_for_function("slider => slider.value === '22'", arg=slider.element_handle())
    assert "return 22, → right" in stage.inner_text()
    catcher = box.locator(".maps canvas").nth(1)
    catcher.click(position={"x": 34 + 0.7 * across, "y": 34 + 55})
    assert "Catcher, u₃ at episode 60: mean reward -3" in box.inner_text()
    assert "one picture for every 2 steps" in stage.inner_text()
    slider.fill(slider.get_attribute("max"))
    assert slider.input_value() == "150"
    assert "step 300" in stage.inner_text()
    assert "return -3" in stage.inner_text()
    maps.click(position={"x": 36, "y": 34 + 55})
    assert "This depth was not reached yet." in stage.inner_text()


def test_a_kept_game_is_drawn_as_it_was(browser):
    """Lists of changes add up to what was kept, and a strange one does not fill the memory."""
    whole = made.catcher(-2)
    page, source = browser.new_page(), (files("bennafusi") / "report/page/play.js").read_text()
    unpacked = f"game => {{ {source}; return unpackGame(game); }}"
    found = page.evaluate(unpacked, game_frames.packed(whole))
    shown = [*range(0, 300, 2), 300]
    for name in ("column", "row", "paddle", "totals"):
        assert found[name] == [whole[name][step] for step in shown]
    endless = {"moves": {"x": {"unit": 1, "runs": [[1, 1e12]]}}}
    assert len(page.evaluate(unpacked, endless)["x"]) == 10_000
    page.close()


def test_all_agents_play(open_page):
    page = open_page()
    names = page.locator("[data-kind=play] h4").all_inner_texts()
    assert names == ["benna-fusi, seed 0", "control-1e-3, seed 0"]
    page.locator("[data-kind=play] select").first.select_option(index=1)
    names = page.locator("[data-kind=play] h4").all_inner_texts()
    assert names == ["benna-fusi, seed 1", "control-1e-3, seed 1"]


def test_the_first_screen_shows_and_tells(open_page):
    page = open_page()
    cards = page.locator(".cards > div")
    assert cards.count() == 2
    for card in cards.all():
        image = card.locator("img")
        assert image.evaluate("image => image.naturalWidth") > 100
        assert image.bounding_box()["y"] < 500
        assert "% of the paper's scale" in card.inner_text()
        assert "runs finished" in card.inner_text()


def test_ticks_link_to_their_claim(open_page):
    page = open_page()
    ticks = page.locator(".cards > div").first.locator(".tally a")
    claims = page.locator("#s1 details.claims")
    assert ticks.count() == claims.locator("tbody tr").count()
    assert claims.get_attribute("open") is None
    for place in (2, 2, 0):
        ticks.nth(place).click()
        row = page.locator(f"#c1-{place + 1}")
        row.wait_for(state="visible")
        assert ticks.nth(place).get_attribute("title") in row.inner_text()
        claims.evaluate("box => { box.open = false; }")


@pytest.mark.parametrize(
    ("low", "high"), [(1e18, 1e18 + 1024), (0, 1e300), (-1e308, 1e308), (9e15, 9e15 + 4), (5, 5)]
)
def test_no_number_freezes_the_axes(browser, low, high):
    """Opening Seeds apart with absurd episode numbers used to count for ever."""
    source = (files("bennafusi.report") / "page" / "chart.js").read_text(encoding="utf-8")
    page = browser.new_page()
    found = page.evaluate(f"(() => {{ {source}; return ticks({low}, {high}, false); }})()")
    page.close()
    assert len(found) <= 12


def test_absurd_numbers_are_drawn(browser, tmp_path):
    huge, runs = [0, 1, int(1e300)], {"agent": "a", "seed": 0}
    line = {"variant": "a", "seed": 0, "x": huge, "y": [-1e308, None, 1e308]}
    chart = {"title": "t", "x": "epoch", "log": True, "lines": [line, {**line, "seed": 1}]}
    panel = {"task": "t", "values": [[-1e308, 1e308, None]] * 3}
    film = {**runs, "unit": "u", "along": "episode", "times": huge, "epochs": [0, 1, int(1e18)]}
    film |= {"trained": ["", "t", "t"], "timescales": [1e300], "panels": [panel], "played": None}
    one = {"variant": "a", "seeds": 1, "mean": 1e308, "middle": None, "interval": None}
    measure = {"title": "m", "levels": [-1e308, 1e308], "agents": [{**one, "share": [1, 0]}]}
    shown = [
        results.Exhibit("seeds", "", "", {"charts": [chart], "styles": {}}),
        results.Exhibit("depths", "", "", {"films": [film]}),
        results.Exhibit("profiles", "", "", {"measures": [measure], "styles": {}}),
    ]
    html.write(tmp_path / "a.html", "T", [results.Section("S", "L", exhibits=shown)])
    page, said = browser.new_page(), []
    page.set_default_timeout(10_000)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "a.html").as_uri())
    assert page.locator(".chart svg").count() == 2
    page.locator("[data-kind=depths] canvas").hover(position={"x": 60, "y": 50})
    page.locator("[data-kind=depths] canvas").press("ArrowLeft")
    said_there = page.locator("[data-kind=depths] .onstage").inner_text()
    assert said_there == "The page has no game of this run."
    page.close()
    assert said == []


def test_light_and_dark(open_page):
    def colours(page):
        style = "getComputedStyle(document.body)"
        return page.evaluate(f"[{style}.backgroundColor, {style}.color]"), picture(page, "values")

    light, dark = (colours(open_page(color_scheme=name)) for name in ("light", "dark"))
    assert light[0] == ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]
    assert dark[0] == ["rgb(20, 23, 27)", "rgb(230, 233, 237)"]
    assert light[1] != dark[1], "pictures follow"


def test_no_grey_slabs_in_the_dark(open_page):
    """A figure's paper is the page itself, on which its ink can be read."""
    page = open_page(color_scheme="dark")
    for figure in page.locator("figure > img:visible").all():
        shot = Image.open(io.BytesIO(figure.screenshot())).convert("L")
        counts = shot.histogram()
        assert sum(counts[:64]) > 0.5 * sum(counts), "most of it is dark"
        assert max(place for place, count in enumerate(counts) if count) > 180, "ink is light"


def test_names_are_not_broken(open_page):
    page = open_page(width=390)
    broken = """nodes => nodes.map(node => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return [node.textContent, new Set([...range.getClientRects()].map(r => r.top)).size];
    })"""
    for box in page.locator("details:not(.numbers)").all():
        box.evaluate("box => { box.open = true; }")
    found = page.locator(".name").evaluate_all(broken)
    names = {"control-1e-3", "grid-switch", "control-1e-3, seed 0", "Benna-Fusi"}
    assert names <= {text for text, _ in found}
    assert [text for text, lines in found if lines > 1 and len(text) < 30] == []


def test_a_narrow_screen(open_page):
    page = open_page(width=390)
    for box in page.locator("details").all():
        box.evaluate("box => { box.open = true; }")
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("[data-kind=values] canvas").first.bounding_box()["width"] <= 358


def test_print(open_page):
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator(".player").first.is_visible()
    assert page.locator("figure img").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert 1 <= sheets(page) <= 6, "of two experiments"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    claims = page.locator("details.claims").first
    assert claims.get_attribute("open") is not None
    places = page.locator("#s1 figure > img:visible").all()
    assert len(places) == 2
    top = claims.bounding_box()["y"]
    assert all(image.bounding_box()["y"] < top for image in places), "figures first"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert claims.get_attribute("open") is None


def sheets(page):
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(format="A4")))


@pytest.mark.parametrize(("experiments", "claims"), [(4, 11), (18, 22)])
def test_paper_has_ten_sheets_at_most(open_page, tmp_path, experiments, claims):
    """As many experiments and claims as the main job has, and all; every claim fails."""
    figure = Figure(figsize=(9, 5))
    figure.subplots().plot([0, 1])
    write(tmp_path / "a", figure)
    words = "what the paper says of agents with and without chains in so many words " * 2
    why = "they learn the second task late, and earn little until then"
    failed = Finding(words, words, "benna-fusi 4.58 [3.2, 5.83], control 6.82 [6.68, 7.1]", False)
    findings = [failed._replace(why=why, see="docs/results.md#two-tasks")] * claims
    pictures = [results.Picture(f"Figure {place}", words, tmp_path / "a.svg") for place in range(3)]
    rows = tuple((agent, measure, *range(6)) for agent in "abc" for measure in "defghij")
    columns = ("variant", "measure", "seeds", "mean", "sd", "95% low", "95% high", "median")
    measured = Table("summary", "Measures", columns, rows)
    whole = [
        results.Section(f"Question {place}?", words, findings, pictures, [measured], f"e-{place}")
        for place in range(experiments)
    ]
    html.write(tmp_path / "report.html", "T", whole)
    page = open_page(path=tmp_path / "report.html")
    assert 2 <= sheets(page) <= 10
    page.emulate_media(media="print")
    for section in page.locator(".experiment").all():
        picture, fails = section.locator("img").first, section.locator(".fails li").first
        assert picture.bounding_box()["height"] > 100
        assert fails.is_visible()
        assert picture.bounding_box()["x"] < fails.bounding_box()["x"]


def test_pixels_in_the_dark(open_page, tmp_path):
    """A picture that is too large as vectors: its paper is the page, its ink can be read."""
    figure = Figure(figsize=(4, 3))
    figure.subplots().plot([0, 1], color="black")
    write(tmp_path / "a", figure)
    shown = results.Picture("T", "C", tmp_path / "a.png")
    html.write(tmp_path / "a.html", "T", [results.Section("S", "L", pictures=[shown])])
    for scheme, paper in {"light": (255, 255, 255), "dark": (20, 23, 27)}.items():
        page = open_page(path=tmp_path / "a.html", color_scheme=scheme)
        shot = Image.open(io.BytesIO(page.locator("figure > img").screenshot())).convert("RGB")
        counts = sorted(shot.getcolors(1 << 20))
        assert np.allclose(counts[-1][1], paper, atol=2), "most of it is the page"
        ink = [colour for _, colour in counts]
        assert max(abs(sum(colour) - sum(paper)) for colour in ink) > 500


def test_focus_is_seen(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid"


def test_hostile_text_stays_text(open_page, hostile):
    page = open_page(path=hostile)
    for box in page.locator("details").all():
        box.evaluate("box => { box.open = true; }")
    page.wait_for_timeout(200)
    for chosen in page.locator("select").all():
        for place in range(chosen.locator("option").count()):
            chosen.select_option(index=place)
    assert page.locator("main img[src=x], main [onerror], main script:not([type])").count() == 0
    assert "<img src=x onerror=alert(1)>" in page.locator("main").inner_text()


def test_a_missing_browser_is_told(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        missing()
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        missing()

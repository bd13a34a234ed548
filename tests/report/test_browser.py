"""The report in a real browser: it moves, sorts, downloads, and says nothing on the console."""

import os
import shutil
from importlib.resources import files

import pytest

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


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with every kind of exhibit, and hostile names wherever a run can bring them."""
    from bennafusi.cli import sections

    root = tmp_path_factory.mktemp("report")
    made.grid(root)
    made.deep(root, seeds=(0, 1))
    for config in root.rglob("config.json"):
        text = config.read_text()
        config.write_text(text.replace("3.11.7", "<img src=x onerror=alert(1)>"))
    for run in root.glob("two-task/*/seed-1/metrics.jsonl"):
        name = HOSTILE.replace('"', "'")
        run.write_text(run.read_text().replace('"catcher"', f'"{name}"'))
        made.seal(Folder(run.parent))
    sections.write_page(root / "report.html", root, sections.Plays())
    return root / "report.html"


@pytest.fixture
def open_page(browser, report):
    """Opens the report, and fails if the browser has anything to say about it."""
    said, contexts = [], []

    def opened(width=1280, **options):
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: said.append(request.url) if _outside(request) else None)
        page.goto(report.as_uri())
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
        page.keyboard.press("Space")
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


def test_seeds_are_drawn_apart_on_request(open_page):
    page = open_page()
    box = page.locator("details.exhibit").first
    assert box.locator(".stage svg").count() == 0
    box.locator("summary").click()
    box.locator(".panels svg").first.wait_for()  # the browser says later that it was opened
    assert box.locator(".panels svg").count() == 3, "one for each agent"
    assert box.locator(".panels svg").first.locator("g").count() == 2, "one for each seed"
    before = box.locator(".panels").inner_html()
    box.locator("select").select_option(index=1)
    assert box.locator(".panels").inner_html() != before


@pytest.mark.parametrize(
    ("low", "high"), [(1e18, 1e18 + 1024), (0, 1e300), (-1e308, 1e308), (9e15, 9e15 + 4), (5, 5)]
)
def test_no_number_freezes_the_axes(browser, low, high):
    """Opening Seeds apart with absurd episode numbers used to count for ever."""
    source = (files("bennafusi.report") / "page" / "seeds.js").read_text(encoding="utf-8")
    page = browser.new_page()
    found = page.evaluate(f"(() => {{ {source}; return ticks({low}, {high}, false); }})()")
    page.close()
    assert len(found) <= 12


def test_light_and_dark(open_page):
    def colours(page):
        style = "getComputedStyle(document.body)"
        return page.evaluate(f"[{style}.backgroundColor, {style}.color]"), picture(page, "values")

    light, dark = (colours(open_page(color_scheme=name)) for name in ("light", "dark"))
    assert light[0] == ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]
    assert dark[0] == ["rgb(20, 23, 27)", "rgb(230, 233, 237)"]
    assert light[1] != dark[1], "pictures follow"


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
    assert page.pdf().startswith(b"%PDF")


def test_focus_is_seen(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid"


def test_hostile_text_stays_text(open_page):
    page = open_page()
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

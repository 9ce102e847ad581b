"""report.html in a browser: on a phone, on a desk and on paper nothing is cut off, unreadable or fetched."""

import re
import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from gnav_agents.arena.html import report_html
from gnav_agents.arena.summary import Summary
from summaries import TRICKY, ZOO, make_summary

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--no-sandbox",  # Chromium refuses to run as root with it, and containers often are root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
)
KINDS: dict[str, Callable[[], Summary]] = {
    "zoo": lambda: make_summary(has_invasion=True, num_level=2),
    "several seats": lambda: make_summary(ZOO[:5], seats=(2, 6, 20), has_invasion=True, has_cycle=True, forfeits=3),
    "tricky names": lambda: make_summary(TRICKY, has_invasion=True, forfeits=2),
    "twenty agents": lambda: make_summary([f"runs/experiment-{number}/best" for number in range(20)]),
}
PHONE, DESK = 360, 1280
PAPER = (695, 1017)
"""A4 less the page's margins, in CSS pixels."""

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser: install chromium, chromium-browser or google-chrome"
)


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=KINDS)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    """The report as a file, and what it is about."""
    summary = KINDS[request.param]()
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_html(summary), encoding="utf-8")
    return path, summary


class Windows:
    """Windows on one report, one for each width, and all that happened in them."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser = browser
        self.url = url
        self.open: dict[int, Page] = {}
        self.fetched: list[str] = []
        self.complaints: list[str] = []

    def __getitem__(self, width: int) -> Page:
        if width not in self.open:
            page = self.browser.new_page(viewport={"width": width, "height": 740})
            page.on("request", lambda request: self.fetched.append(request.url))
            page.on("console", lambda message: self.complaints.append(message.text))
            page.on("pageerror", lambda error: self.complaints.append(str(error)))
            page.goto(self.url)
            self.open[width] = page
        return self.open[width]


@pytest.fixture(scope="module")
def windows(browser: Browser, report: tuple[Path, Summary]) -> Generator[Windows]:
    windows = Windows(browser, report[0].as_uri())
    yield windows
    for page in windows.open.values():
        page.close()


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_is_fetched_and_nothing_complained_of(width: int, windows: Windows) -> None:
    windows[width].wait_for_load_state("networkidle")
    assert set(windows.fetched) == {windows.url}
    assert windows.complaints == []


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_page_does_not_scroll_sideways(width: int, windows: Windows) -> None:
    page = windows[width]
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    too_wide = """[...document.querySelectorAll("body *")].filter(
        element => !element.parentElement.closest(".scroll") && element.getBoundingClientRect().right > innerWidth + 0.5
    ).map(element => element.outerHTML.slice(0, 80))"""
    assert page.evaluate(too_wide) == []


def test_a_table_scrolls_in_its_own_box_on_a_phone(windows: Windows) -> None:
    page = windows[PHONE]
    box = page.locator("#leaderboard .scroll").first
    width, held = box.evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert width > held
    box.evaluate("box => { box.scrollLeft = box.scrollWidth }")
    agent = page.locator("#leaderboard tbody th[scope=row]").first.bounding_box()
    assert agent is not None
    assert 0 <= agent["x"] < PHONE / 2, "the agents' names stay in sight"


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_every_plot_is_seen_named_and_readable(width: int, windows: Windows) -> None:
    page = windows[width]
    plots = page.locator("svg")
    assert plots.count() >= 5
    for plot in plots.all():
        assert plot.is_visible()
        box = plot.bounding_box()
        assert box is not None
        assert box["width"] > 0.8 * min(width, 400)
        assert box["height"] > 50
        assert plot.get_attribute("role") == "img"
        assert len(plot.get_attribute("aria-label") or "") > 20
    sizes = """[...document.querySelectorAll("svg text")].map(
        text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().d)"""
    assert min(page.evaluate(sizes)) >= 6.99
    # ponderous for the reader: letters of a plot that are much larger than those of the page
    assert max(page.evaluate(sizes)) <= 17


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_text_in_plots_stays_inside_of_them(width: int, windows: Windows) -> None:
    outside = """[...document.querySelectorAll("svg")].flatMap(svg => {
        const frame = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].filter(text => {
            const box = text.getBoundingClientRect();
            return box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1;
        }).map(text => text.textContent);
    })"""
    assert windows[width].evaluate(outside) == []


def test_the_first_row_is_the_best_agent(windows: Windows, report: tuple[Path, Summary]) -> None:
    page = windows[DESK]
    best = report[1].leaderboard[0].agent
    assert page.locator("#leaderboard tbody tr").first.locator("th[scope=row]").inner_text() == best
    assert page.locator(".answer strong").first.inner_text() == best
    assert page.locator("#leaderboard tbody tr").count() == len(report[1].leaderboard)


def test_the_links_lead_to_the_sections(windows: Windows) -> None:
    page = windows[PHONE]
    for link in page.locator("nav a").all():
        target = page.locator(link.get_attribute("href") or "nothing")
        assert target.locator("h2").inner_text() == link.inner_text()
    page.locator("nav a").last.click()
    assert page.evaluate("scrollY") > 0


def test_on_paper_nothing_is_cut(windows: Windows) -> None:
    page = windows[PAPER[0]]
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    cut = """[...document.querySelectorAll(".scroll, pre, dl")].filter(
        box => box.scrollWidth > box.clientWidth + 1 || getComputedStyle(box).overflowX != "visible"
    ).map(box => `${box.outerHTML.slice(0, 80)}: ${box.scrollWidth} in ${box.clientWidth}`)"""
    assert page.evaluate(cut) == []
    heights = page.locator("figure").evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
    assert max(heights) <= PAPER[1]
    paper = page.pdf(prefer_css_page_size=True)
    assert paper.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 4

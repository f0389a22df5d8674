"""The HTML report opened from disk with the network cut off: every chart drawn, none asked for."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from profiler_core.cli.main import main
from tests.browser.conftest import PAGE_TIMEOUT_MS, at_rest, empty_tab, ready
from tests.report.made_up import hostile_contents

ROOT = Path(__file__).parents[2]
SAMPLES = ("bert", "breaky")

pytestmark = pytest.mark.browser

_DRAWN = """() => Array.from(document.querySelectorAll(".chart")).map(chart => {
  const plot = chart.querySelector(".js-plotly-plot");
  const box = plot && plot.getBoundingClientRect();
  const marks = chart.querySelectorAll(".main-svg path, .main-svg text").length;
  return {drawn: !!plot, width: box ? box.width : 0, height: box ? box.height : 0, marks};
})"""

_WIDTH_OF_FIRST = "document.querySelector('.js-plotly-plot .main-svg').clientWidth"


@pytest.fixture(scope="module")
def reports(tmp_path_factory, columns):
    folder = tmp_path_factory.mktemp("reports")
    (folder / "home").mkdir()
    (folder / "home" / "cache").symlink_to(columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(folder / "home"))
        for name in SAMPLES:
            words = ["report", str(ROOT / "sample_traces" / name)]
            assert main([*words, "-o", str(folder / f"{name}.html")]) == 0
    return folder


@dataclass(frozen=True)
class Offline:
    """A tab without a network: what it complained of and asked for since it opened a report."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: Path, width: int = 1280) -> None:
        """Every request beside the file itself is refused."""

        def refuse(route: Route) -> None:
            if route.request.url.split("#")[0] == path.as_uri():
                route.continue_()
            else:
                self.requests.append(route.request.url)
                route.abort()

        self.complaints.clear()
        self.requests.clear()
        self.page.unroute_all()
        self.page.route(re.compile(".*"), refuse)
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.goto(path.as_uri(), timeout=PAGE_TIMEOUT_MS)


@pytest.fixture(scope="module")
def offline(browser: Browser) -> Iterator[Offline]:
    """One for all reports: its process has compiled the charts' library, a second of a core."""
    context = browser.new_context()
    context.set_offline(True)
    tab = Offline(context.new_page())
    tab.page.on("console", lambda m: tab.complaints.append(m.text) if m.type == "error" else None)
    tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    yield tab
    context.close()


@pytest.mark.parametrize("name", SAMPLES)
def test_every_chart_is_drawn_from_disk_without_a_network(offline, reports, name):
    """Opened on a phone, then in a large window."""
    offline.open(reports / f"{name}.html", 390)
    page = offline.page
    n_written = (reports / f"{name}.html").read_text().count("Plotly.newPlot(")
    for width, at_least in ((390, 250), (1280, 391)):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"w => {_WIDTH_OF_FIRST} >= w", arg=at_least)
        charts = page.evaluate(_DRAWN)
        # Bars, map and waterfall of each candidate, phases of each compilation, kernels.
        assert len(charts) >= 8
        assert len([c for c in charts if c["drawn"]]) == len(charts) <= n_written
        assert all(c["width"] > 250 and c["height"] > 60 and c["marks"] > 5 for c in charts), charts
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    assert offline.complaints == [] and offline.requests == []
    expect_the_width_of_the_paper(page)
    assert offline.complaints == []


def expect_the_width_of_the_paper(page: Page) -> None:
    """Charts take it before they are printed, and come back."""
    before = page.evaluate(_WIDTH_OF_FIRST)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function(f"w => {_WIDTH_OF_FIRST} < w", arg=700)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.wait_for_function(f"w => Math.abs({_WIDTH_OF_FIRST} - w) < 40", arg=before)


def test_hostile_names_run_nothing(offline, tmp_path):
    from profiler_core.report.html.document import html_report

    path = tmp_path / "hostile.html"
    path.write_text(html_report(hostile_contents()), encoding="utf-8")
    offline.open(path)
    page = offline.page
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.reload()
    assert all(c["drawn"] for c in page.evaluate(_DRAWN))
    assert page.locator("a[href*=evil], script[src], img, iframe").count() == 0
    assert dialogs == [] and offline.complaints == [] and offline.requests == []


def test_the_overview_hands_out_the_report(offline, page, server, tmp_path):
    """What the button gives is the file that the command writes: it opens and draws alike."""
    keys = {"baseline": "sample/customcnn/eager", "candidate": "sample/customcnn/default"}
    page.goto(server.link(**keys))
    at_rest(page)
    page.get_by_role("button", name="Report", exact=True).click()
    page.get_by_text("Leave out folders, host, user and source lines").click()
    at_rest(page)  # the button gives what was chosen when the page last ran
    with page.expect_download(timeout=300_000) as found:
        page.get_by_role("button", name="Download the report").click()
    assert found.value.suggested_filename == "report-customcnn.html"
    path = tmp_path / "handed.html"
    found.value.save_as(path)
    offline.open(path)
    assert all(chart["drawn"] for chart in offline.page.evaluate(_DRAWN))
    assert "are left out" in offline.page.locator("footer").inner_text()
    assert offline.complaints == [] and offline.requests == []


def test_a_report_that_cannot_be_made_says_why_and_what_to_do(browser, server):
    """The candidate is gone between the page and the click."""
    folder = server.home / "runs" / "gone"
    for variant in ("eager", "default"):
        shutil.copytree(ROOT / "sample_traces" / "customcnn" / variant, folder / variant)
    # A tab whose console nobody watches: Streamlit notes there that the download failed.
    with empty_tab(browser) as page:
        page.goto(server.link(baseline="run/gone/eager", candidate="run/gone/default"))
        at_rest(page)
        page.get_by_role("button", name="Report", exact=True).click()
        ready(page)
        shutil.rmtree(folder / "default")
        page.get_by_role("button", name="Download the report").click()
        page.get_by_text("default does not exist").wait_for(timeout=PAGE_TIMEOUT_MS)
        expect(page.get_by_text("Pass a run directory")).to_have_count(1)


def test_the_pdf_has_its_summary_on_the_first_page(reports, tmp_path, monkeypatch):
    """Printed by the installed browser; text is text, so it can be searched."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    path = tmp_path / "report.pdf"
    assert main(["report", str(ROOT / "sample_traces" / "bert"), "-o", str(path)]) == 0
    data = path.read_bytes()
    assert data.startswith(b"%PDF-") and len(data) > 100_000
    n_pages = len(re.findall(rb"/Type\s*/Page\b", data))
    assert 6 <= n_pages <= 20
    if shutil.which("gs") is None:
        return  # nothing here reads a PDF's text; that it was printed is shown above
    text = subprocess.run(
        ["gs", "-q", "-sDEVICE=txtwrite", "-dLastPage=1", "-o", "-", str(path)],
        capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    for word in ("1.25 times", "Step time", "one step, ms", "What to do next"):
        assert word in " ".join(text.split()), word

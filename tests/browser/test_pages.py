"""The pages in a real browser: cold links, light and dark, small and large windows, two traces."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from profiler_core.page_specs import page_specs
from tests.browser.conftest import (
    CAPTURES,
    ROOT,
    Server,
    at_rest,
    ready,
    running_server,
    watched_page,
)
from tests.browser.waiting import expect_to_fit, widths
from tests.test_page_specs import MADE_UP

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"
PAGES = tuple(spec.path for spec in page_specs() if not spec.for_admins)
COMPARISON = {"baseline": "run/cnn/eager", "candidate": "run/cnn/reduce-overhead"}


@pytest.fixture(scope="module")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One comparison of a name that is HTML, and two bare traces as an upload leaves them."""
    home = tmp_path_factory.mktemp("pages-home")
    for variant in ("eager", "reduce-overhead"):
        folder = home / "runs" / "cnn" / variant
        shutil.copytree(CAPTURES / f"customcnn_b1.{variant}", folder)
        record = json.loads((folder / "run.json").read_text())
        record |= {"workload": HOSTILE, "error": HOSTILE}
        (folder / "run.json").write_text(json.dumps(record))
    for number, run in (("1", "breaky.eager"), ("2", "breaky.default")):
        (home / "uploads" / "u" / number).mkdir(parents=True)
        shutil.copy(CAPTURES / run / "trace.json.gz", home / "uploads" / "u" / number)
    return home


@pytest.fixture(scope="module")
def own_server(own_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(own_home, tmp_path_factory.mktemp("pages-server") / "log.txt") as server:
        yield server


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_cold_from_a_link(
    browser: Browser, own_server: Server, name: str, scheme: str
) -> None:
    for page in watched_page(browser, color_scheme=scheme):
        page.goto(own_server.link(name, **COMPARISON))
        ready(page)
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        ground = page.evaluate(
            "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
        )
        assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(17, 19, 24)")
        assert page.locator("img[onerror]").count() == 0


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_its_window(browser: Browser, own_server: Server, name: str) -> None:
    for page in watched_page(browser):
        for width in widths(page, own_server.link(name, **COMPARISON)):
            expect_to_fit(page, width)
            if width == 390:  # a phone sees the page, not the menu over it
                expect(page.get_by_role("heading", level=1).first).to_be_in_viewport()


def test_two_bare_traces_are_compared(page: Page, own_server: Server) -> None:
    page.goto(own_server.link(baseline="upload/u/1", candidate="upload/u/2"))
    ready(page)
    expect(page.get_by_text("a measurement, not a verdict")).to_be_visible()
    expect(page.get_by_role("rowheader", name="Kernels per step")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(3)  # step, difference, fusion


def test_the_chosen_runs_go_along_to_other_pages(page: Page, own_server: Server) -> None:
    page.goto(own_server.link(baseline="upload/u/2", candidate="upload/u/1"))
    ready(page)
    page.get_by_role("link", name="Compare the kernels").click()
    expect(page).to_have_url(re.compile(r"/kernels\?.*baseline=upload%2Fu%2F2"))
    ready(page)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Overview").click()
    # The address of the page that is left has the runs too, so its path must be gone as well.
    page.wait_for_url(lambda url: "/kernels" not in url and "baseline=upload%2Fu%2F2" in url)
    ready(page)
    # The address without and with the runs may be two steps of the history, never more.
    page.go_back()
    if "/kernels" not in page.url:
        at_rest(page)
        page.go_back()
    expect(page).to_have_url(re.compile("/kernels"))
    # Streamlit runs the page a moment after the address.
    expect(page.get_by_role("heading", name="Kernels", exact=True)).to_be_visible()


def test_a_selected_kernel_is_in_the_link(page: Page, own_server: Server) -> None:
    page.goto(own_server.link("kernels", q="gemm", **COMPARISON))
    at_rest(page)  # a grid that is drawn anew takes no click
    table = page.get_by_test_id("stDataFrame")
    expect(table.get_by_test_id("data-grid-canvas")).to_be_visible()
    table.scroll_into_view_if_needed()
    table.click(position={"x": 18, "y": 55})
    expect(page.get_by_text("Selected kernel")).to_be_visible()
    page.wait_for_url("**kernel=*")
    page.goto(page.url)
    ready(page)
    expect(page.get_by_text("Selected kernel")).to_be_visible()


def test_a_comparison_opens_from_the_list(page: Page, own_server: Server) -> None:
    page.goto(own_server.link("runs"))
    ready(page)
    page.get_by_role("link", name=HOSTILE).click()
    ready(page)
    expect(page.get_by_text("Side by side")).to_be_visible()
    expect(page).to_have_url(re.compile("run%2Fcnn%2Feager"))


def test_nothing_is_fetched_from_elsewhere(page: Page, own_server: Server) -> None:
    foreign: list[str] = []
    page.on(
        "request",
        lambda request: (
            foreign.append(request.url)
            if not request.url.startswith((own_server.url, "data:", "blob:"))
            else None
        ),
    )
    for name in PAGES:
        page.goto(own_server.link(name, **COMPARISON))
        ready(page)
    assert foreign == []


def test_the_overview_answers_to_its_name_too(page: Page, own_server: Server) -> None:
    page.goto(own_server.link("overview", **COMPARISON))
    expect(page).to_have_url(
        re.compile(r"^http://localhost:\d+/\?.*baseline=run%2Fcnn%2Feager.*candidate=run%2Fcnn%2Fr")
    )
    ready(page)
    expect(page.get_by_text("Page not found")).to_have_count(0)
    expect(page.get_by_text("Side by side")).to_be_visible()
    # It stands once in the menu.
    expect(page.get_by_test_id("stSidebarNavLink").filter(has_text="Overview")).to_have_count(1)


def test_a_page_of_one_file_is_in_the_menu_and_opens(
    page: Page, own_home: Path, tmp_path: Path
) -> None:
    """In a copy of the product with that file more, and nothing else changed."""
    copy = tmp_path / "checkout"
    skipped = shutil.ignore_patterns("__pycache__")
    for part in ("profiler_core", "pages", "static", ".streamlit"):
        shutil.copytree(ROOT / part, copy / part, ignore=skipped)
    shutil.copy(ROOT / "app.py", copy)
    (copy / "pages" / "made_up.py").write_text(MADE_UP)
    with running_server(own_home, tmp_path / "log.txt", copy / "app.py") as server:
        page.goto(server.link("kernels", **COMPARISON))
        ready(page)
        page.get_by_test_id("stSidebarNav").get_by_role("link", name="Made up").click()
        expect(page.get_by_text("Is one file enough?")).to_be_visible()
        expect(page).to_have_url(re.compile("/made_up"))
        page.goto(server.link("made_up", colour="green"))  # cold
        expect(page.get_by_text("It is green.")).to_be_visible()
        expect(page).to_have_title("Made up · Fusionscope")

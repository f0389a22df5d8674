"""The pages in a real browser: cold links, light and dark, small and large windows, two traces."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

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
from tests.browser.waiting import content_width, widths
from tests.copied import UNFINISHED
from tests.quick_python import variables
from tests.test_page_specs import MADE_UP

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"
PAGES = tuple(spec.path for spec in page_specs() if not (spec.for_admins or spec.for_members))
COMPARISON = {"baseline": "run/cnn/eager", "candidate": "run/cnn/reduce-overhead"}


@pytest.fixture(scope="module")
def own_home(tmp_path_factory: pytest.TempPathFactory, columns: Path) -> Path:
    """One comparison of a name that is HTML, and two bare traces as an upload leaves them."""
    home = tmp_path_factory.mktemp("pages-home")
    (home / "cache").symlink_to(columns)
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
def own_server(
    own_home: Path, tmp_path_factory: pytest.TempPathFactory, quick_python: Path
) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("pages-server") / "log.txt"
    with running_server(own_home, log, **variables(quick_python)) as server:
        yield server


# An interval lay over the title beside it, and a map showed its right end first.
CUT_ON_A_PHONE = """() => {
  const wide = (e) => e.scrollWidth > e.clientWidth
  const cut = [...document.querySelectorAll(".fs-stake")].filter(wide).map((e) => e.textContent)
  const map = document.querySelector(".st-key-fs_map_scroll")
  const hosts = map ? [...map.querySelectorAll("*")].filter((e) => e.shadowRoot) : []
  const strip = hosts.map((e) => e.shadowRoot.querySelector(".strip")).find((e) => e)
  if (strip) {
    const ahead = strip.getBoundingClientRect().left - map.getBoundingClientRect().left
    if (ahead < -1) cut.push(`${Math.round(ahead)} px of the map's first strip`)
  }
  return cut
}"""


@dataclass(frozen=True)
class Look:
    """What was seen of a page that a link opened cold; a second of a core, so seen once."""

    ground: str
    n_hostile_images: int
    requests: tuple[str, ...]
    resources: tuple[str, ...]  # also what the browser had in its memory
    on_a_phone: bool = False  # its heading, beside the menu
    width_at: dict[int, int] = field(default_factory=dict)  # window's width -> content's


def look_at(page: Page, address: str, *, at_all_widths: bool = False) -> Look:
    requests: list[str] = []

    def note(request: Request) -> None:
        requests.append(request.url)

    page.on("request", note)
    heading = page.get_by_role("heading", level=1).first
    on_a_phone, width_at = False, {}
    if at_all_widths:
        for width in widths(page, address):
            width_at[width] = content_width(page, width)
            if width == 390:
                expect(heading).to_be_in_viewport()
                assert page.evaluate(CUT_ON_A_PHONE) == []
                on_a_phone = True
    else:
        page.goto(address)
        ready(page)
    expect(heading).to_be_visible()
    page.remove_listener("request", note)
    return Look(
        page.evaluate(
            "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
        ),
        page.locator("img[onerror]").count(),
        tuple(requests),
        tuple(page.evaluate("performance.getEntriesByType('resource').map((e) => e.name)")),
        on_a_phone,
        width_at,
    )


@pytest.fixture(scope="module", params=PAGES)
def in_light(request: pytest.FixtureRequest, browser: Browser, own_server: Server) -> Look:
    """A page in a large window in light mode."""
    (look,) = [
        look_at(page, own_server.link(request.param, **COMPARISON))
        for page in watched_page(browser)
    ]
    return look


@pytest.fixture(scope="module", params=PAGES)
def in_the_dark(request: pytest.FixtureRequest, browser: Browser, own_server: Server) -> Look:
    """A page in dark mode, on a phone first and in larger windows then."""
    (look,) = [
        look_at(page, own_server.link(request.param, **COMPARISON), at_all_widths=True)
        for page in watched_page(browser, color_scheme="dark")
    ]
    return look


def test_a_page_opens_cold_from_a_link(in_light: Look) -> None:
    assert in_light.ground == "rgb(255, 255, 255)"
    assert in_light.n_hostile_images == 0


def test_nothing_is_fetched_from_elsewhere(in_light: Look, own_server: Server) -> None:
    ours = (own_server.url, "data:", "blob:")
    assert in_light.requests
    assert [url for url in in_light.requests if not url.startswith(ours)] == []
    assert any("app/static/fonts/inter" in name for name in in_light.resources)


def test_a_page_opens_cold_in_the_dark(in_the_dark: Look) -> None:
    assert in_the_dark.ground == "rgb(17, 19, 24)"
    assert in_the_dark.n_hostile_images == 0


def test_no_page_is_wider_than_its_window(in_the_dark: Look) -> None:
    assert in_the_dark.on_a_phone
    assert {width: at for width, at in in_the_dark.width_at.items() if at > width} == {}
    assert len(in_the_dark.width_at) == 3


def test_two_bare_traces_are_compared(page: Page, own_server: Server) -> None:
    page.goto(own_server.link(baseline="upload/u/1", candidate="upload/u/2"))
    ready(page)
    expect(page.get_by_text("a measurement, not a verdict")).to_be_visible()
    expect(page.get_by_role("rowheader", name="Kernels per step")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(1)  # the difference
    expect(page.locator(".st-key-overview_fusion_map .strip").first).to_be_attached()
    bars = page.locator(".fs-steps-bar")
    expect(bars).to_have_count(2)


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
    table.click(position={"x": 60, "y": 55})
    expect(page.locator(".fs-dossier-title")).to_be_visible()
    page.wait_for_url("**item=kernel*")
    page.goto(page.url)
    ready(page)
    expect(page.locator(".fs-dossier-title")).to_be_visible()


def test_a_comparison_opens_from_the_list(page: Page, own_server: Server) -> None:
    page.goto(own_server.link("runs"))
    ready(page)
    page.get_by_role("link", name=HOSTILE).click()
    ready(page)
    expect(page.get_by_text("Side by side")).to_be_visible()
    expect(page).to_have_url(re.compile("run%2Fcnn%2Feager"))


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


def test_pages_of_a_teams_server_answer_on_ones_own_machine_too(
    page: Page, own_server: Server
) -> None:
    for name, sentence in (("activity", "Retention"), ("api_tokens", "Nobody signs in here")):
        page.goto(own_server.link(name))
        ready(page)
        expect(page.get_by_text(sentence).first).to_be_visible()
        expect(page.get_by_text("Page not found")).to_have_count(0)
        expect(page).to_have_url(re.compile(f"/{name}"))
        for title in ("Activity", "API tokens"):
            in_menu = page.get_by_test_id("stSidebarNavLink").filter(has_text=title)
            expect(in_menu).to_have_count(0)


def test_a_page_of_one_file_is_in_the_menu_and_opens(
    page: Page, own_home: Path, tmp_path: Path
) -> None:
    """In a copy of the product with that file more, and nothing else changed."""
    copy = tmp_path / "checkout"
    for part in ("profiler_core", "pages", "static", ".streamlit"):
        shutil.copytree(ROOT / part, copy / part, ignore=UNFINISHED)
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


def test_a_page_follows_a_change_of_the_theme_by_itself(page: Page, server: Server) -> None:
    """Words, figures, logo and code kept the colours of the mode before until the next click."""
    page.goto(
        server.link("overview", baseline="sample/breaky/eager", candidate="sample/breaky/default")
    )
    verdict, app = page.locator("h1.fs-verdict"), page.get_by_test_id("stApp")
    logo = page.get_by_test_id("stHeaderLogo").or_(page.get_by_test_id("stSidebarLogo")).first
    in_figure = page.locator(".js-plotly-plot svg .xtick text").first
    light = "rgb(102, 112, 133)"
    expect(verdict).to_have_css("color", "rgb(21, 24, 30)")
    expect(in_figure).to_have_css("fill", light)
    light_logo = logo.get_attribute("src") or ""
    page.emulate_media(color_scheme="dark")
    expect(app).to_have_css("background-color", "rgb(17, 19, 24)")
    expect(verdict).to_have_css("color", "rgb(232, 234, 238)", timeout=5_000)
    expect(in_figure).not_to_have_css("fill", light)
    expect(logo).not_to_have_attribute("src", light_logo)
    expect(page.locator("html")).to_have_css("color-scheme", "dark")

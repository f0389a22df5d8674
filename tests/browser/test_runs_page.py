"""The page Runs in a real browser: trends, their filters, a click on a point, the mixing form.

The runs are re-dated copies of the shipped H200 captures; one is made 8 % slower on purpose.
"""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Server, at_rest, ready, running_server
from tests.browser.waiting import expect_to_fit
from tests.quick_python import variables
from tests.store.history.samples import redated_copy

pytestmark = pytest.mark.browser

SLOWER = "What became slower"  # above the trends

# The first visit records nine runs in a process of its own, on a busy machine.
RECORDING_TIMEOUT_MS = 300_000


@pytest.fixture(scope="module")
def own_server(
    tmp_path_factory: pytest.TempPathFactory, columns: Path, quick_python: Path
) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("trend-home")
    (home / "cache").symlink_to(columns)
    for n in range(3):
        for variant in ("eager", "default"):
            redated_copy(
                home,
                f"redated-bert-{n}",
                sample="bert",
                variant=variant,
                created_at=f"2026-11-{10 + n}T12:00:00Z",
                environment={
                    "torch": "2.10.0" if n == 0 else "2.11.0",
                    "git_commit": f"{n}abcdef",
                    "git_branch": "main",
                },
                slower=1.08 if n == 2 and variant == "default" else 1.0,
                whole=n > 0,
            )
    for n in range(2):
        redated_copy(home, f"redated-breaky-{n}", created_at=f"2026-11-{14 + n}T12:00:00Z")
    log = tmp_path_factory.mktemp("trend-server") / "log.txt"
    with running_server(home, log, **variables(quick_python)) as server:
        yield server


def open_trends(page: Page, server: Server, **query: str) -> None:
    page.goto(server.link("runs", view="Trends", **query))
    expect(charts(page).first).to_be_visible(timeout=RECORDING_TIMEOUT_MS)
    ready(page)


def charts(page: Page) -> Locator:
    return page.locator(".stPlotlyChart .main-svg")


@pytest.fixture(scope="class")
def opened(request: pytest.FixtureRequest, page_of_class: Page, own_server: Server) -> Page:
    """The trends as the class asks for them, opened once for its tests."""
    open_trends(page_of_class, own_server, **request.cls.QUERY)
    return page_of_class


class TestAllTrends:
    QUERY: ClassVar[dict[str, str]] = {}

    def test_trends_show_each_workload_with_its_changes(self, opened: Page) -> None:
        page = opened
        expect(page.locator("h2.fs-h")).to_have_text([SLOWER, "breaky", "bert"])
        main = page.get_by_test_id("stMain")
        expect(main).to_contain_text("torch 2.11.0")
        expect(main).to_contain_text("+8 %")
        expect(page.locator(".fs-legend").last).to_have_text(re.compile("eager.*default"))
        told = page.locator("[class*=st-key-fs_slower] p").first.text_content() or ""
        assert "\u00a0µs" in told
        assert not re.search(r"\d [mµ]s", told)  # nowhere a line may end before the unit
        # 2 lines of 3 points and 1 of 2: every run is drawn.
        expect(page.locator(".stPlotlyChart path.point")).to_have_count(8)

    def test_filters_and_the_number_are_in_the_address(self, opened: Page) -> None:
        page = opened
        pick_first(page, "Workload", "bert")
        expect(page.locator("h2.fs-h")).to_have_text([SLOWER, "bert"])
        expect(page).to_have_url(re.compile(r"workload=bert"))
        page.get_by_role("radio", name="Kernels").click()
        ready(page)
        # The first capture has run.json alone, and so no kernels.
        expect(page.get_by_test_id("stMain")).to_contain_text("2 runs are not drawn")
        expect(page).to_have_url(re.compile(r"(?=.*workload=bert)(?=.*number=Kernels)"))
        page.goto(page.url)
        ready(page)
        expect(page.locator("h2.fs-h")).to_have_text([SLOWER, "bert"])
        expect(page.get_by_test_id("stMain")).to_contain_text("2 runs are not drawn")


class TestOnePoint:
    QUERY: ClassVar = {"point": "redated-bert-1.eager", "workload": "bert"}

    def test_a_point_in_the_address_leads_to_its_zip(self, opened: Page, tmp_path: Path) -> None:
        page = opened
        with page.expect_download(timeout=300_000) as download:
            page.get_by_role("link", name="Download as .zip").click()
        target = tmp_path / "run.zip"
        download.value.save_as(target)
        assert download.value.suggested_filename == "redated-bert-1.eager.zip"
        with zipfile.ZipFile(target) as archive:
            assert archive.testzip() is None
            assert {"eager/run.json", "eager/trace.json.gz"} <= set(archive.namelist())

    def test_tags_are_set_on_the_page_and_filter(self, opened: Page, own_server: Server) -> None:
        page = opened
        at_rest(page)
        page.get_by_role("button", name="Tags").click()
        field = page.get_by_label("Tags, separated by commas")
        field.fill("weekly, <b>")
        field.press("Enter")
        expect(page.get_by_text("cannot be the name of a tag")).to_be_visible()
        at_rest(page)
        field.fill("weekly")
        field.press("Enter")
        expect(page.locator(".fs-note", has_text="#weekly")).to_be_visible()
        open_trends(page, own_server, tag="weekly")
        expect(page.locator(".stPlotlyChart path.point")).to_have_count(1)


def test_a_commit_filters_by_its_beginning(page: Page, own_server: Server) -> None:
    open_trends(page, own_server, commit="1abc")
    expect(page.locator("h2.fs-h")).to_have_text([SLOWER, "bert"])
    expect(page.locator(".stPlotlyChart path.point")).to_have_count(2)


def test_a_click_on_a_point_opens_its_run(page: Page, own_server: Server) -> None:
    open_trends(page, own_server, workload="bert", axis="By run")
    # The last point of the last line: the one that was made slower. Plotly takes the click on a
    # layer above the points, so it goes to a place, not to an element.
    at_rest(page)
    point = page.locator(".stPlotlyChart .trace").last.locator("path.point").last
    box = point.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".hoverlayer .hovertext")).to_contain_text("against the run before")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("+8 % against the run before, beyond the noise")
    expect(page).to_have_url(re.compile(r"point=redated-bert-2\.default"))
    page.get_by_role("link", name="Compare with the run before").click()
    expect(page).to_have_url(
        re.compile(r"baseline=run%2Fredated-bert-1%2Fdefault&candidate=run%2Fredated-bert-2")
    )
    ready(page)


def test_trends_fit_on_a_phone_in_the_dark(dark_page: Page, own_server: Server) -> None:
    dark_page.set_viewport_size({"width": 390, "height": 844})
    open_trends(dark_page, own_server)
    expect_to_fit(dark_page, 390, of="[data-testid=stMainBlockContainer]")


def test_runs_of_different_captures_are_compared_by_the_form(
    page: Page, own_server: Server
) -> None:
    page.goto(own_server.link("runs"))
    ready(page)
    at_rest(page)
    page.get_by_text("Compare runs of different captures").click()
    at_rest(page)  # a fold that still grows closes a list that opens
    pick_first(page, "Baseline", "bert · 1")  # of November: not the sample
    pick_first(page, "Candidates", "breaky · 1")
    compare = page.get_by_role("button", name="Compare", exact=True)
    expect(compare).to_be_enabled()
    compare.click()
    expect(page).to_have_url(
        re.compile(r"baseline=run%2Fredated-bert-\d%2F\w+&candidate=run%2Fredated-breaky-\d%2F\w+")
    )
    main = page.get_by_test_id("stMain")  # both traces are read for the first time
    expect(main).to_contain_text("Side by side", timeout=RECORDING_TIMEOUT_MS)
    ready(page)


def pick_first(page: Page, label: str, words: str) -> None:
    """Choose the first option with these words, with the keyboard alone.

    An open list is drawn anew while the page runs, and a click on an option of the old one is
    lost; typing and Enter go to the field, which stays.
    """
    field = page.get_by_role("combobox", name=label)
    field.click()
    # A list takes the focus while it opens; what is typed in these milliseconds closes it.
    expect(page.get_by_role("option").first).to_be_visible()
    at_rest(page)
    field.fill(words)
    expect(page.get_by_role("option").filter(has_text=words).first).to_be_visible()
    focused = page.locator("[role=option][data-focused=true]")
    if words not in focused.inner_text():  # "Select 5 matches" comes first where there are several
        field.press("ArrowDown")
    expect(focused).to_contain_text(words)
    field.press("Enter")
    if page.get_by_test_id("stMultiSelect").filter(has=field).count():
        field.press("Escape")  # its list stays open for more; in a single choice this undoes it
    expect(page.get_by_role("option")).to_have_count(0)
    at_rest(page)

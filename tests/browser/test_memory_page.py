"""The memory page in a real browser: light and dark, small and large windows, its controls."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, Server, capture_of, ready
from tests.browser.marks import click_mark
from tests.browser.waiting import expect_to_fit, widths
from tests.ingest.memory_snapshot.snapshots import a_snapshot, pickled

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"
PAIR: dict[str, str | list[str]] = {"baseline": "run/bert/eager", "candidate": "run/bert/default"}


@pytest.fixture(scope="module")
def own_server(server: Server) -> Iterator[Server]:
    """BERT's sample, with a snapshot of names that are HTML for the graphs' run."""
    with capture_of(server, "bert") as folder:
        for variant in ("eager", "default", "reduce-overhead"):
            shutil.copytree(ROOT / "sample_traces" / "bert" / variant, folder / variant)
        frames = [{"name": HOSTILE, "filename": f"/{HOSTILE}.py", "line": 1}]
        event = {"action": "alloc", "addr": 1000, "size": 1024, "time_us": 1, "frames": frames}
        (folder / "reduce-overhead" / "memory_snapshot.pickle").write_bytes(
            pickled(a_snapshot(device_traces=[[event]]))
        )
        yield server


def expect_the_page(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text("549 MB against 566 MB")
    expect(page.get_by_role("rowheader", name="12 × gelu")).to_be_visible()
    # The curve, two icicles, two pictures of segments.
    expect(page.locator(".js-plotly-plot")).to_have_count(5)


@pytest.fixture(scope="class")
def opened(page_of_class: Page, own_server: Server) -> Page:
    """The page, opened cold once for the tests of a class."""
    page_of_class.goto(own_server.link("memory", **PAIR))
    ready(page_of_class)
    return page_of_class


class TestOneWindow:
    def test_it_opens_cold_and_says_where_the_memory_went(self, opened: Page) -> None:
        expect_the_page(opened)
        expect_to_fit(opened, 1440)

    def test_what_is_drawn_is_in_the_address(self, opened: Page) -> None:
        opened.get_by_role("radio", name="Everything held").click()
        ready(opened)
        opened.wait_for_url(lambda url: "Everything" in url)
        opened.reload()
        ready(opened)
        expect(opened.get_by_role("radio", name="Everything held")).to_be_checked()
        expect(opened.locator(".js-plotly-plot .scatterlayer .trace")).to_have_count(4)


def test_in_the_dark_it_is_not_wider_than_its_window(dark_page: Page, own_server: Server) -> None:
    for width in widths(dark_page, own_server.link("memory", **PAIR)):
        expect_to_fit(dark_page, width)
    expect_the_page(dark_page)


def test_a_box_of_a_line_opens_its_dossier(page: Page, own_server: Server) -> None:
    """A click zoomed in and opened nothing; the search has the line, and its dossier."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(own_server.link("memory", **PAIR))
    ready(page)
    boxes = page.locator("[class*=st-key-memory_icicle] .icicle.trace").first
    label = boxes.locator("text.slicetext", has_text=".py:").first
    line = (label.text_content() or "").split()[0]
    click_mark(page, label)
    expect(page.locator(".st-key-fs_dossier")).to_contain_text(line.rstrip("…"))
    expect(page.locator(".st-key-fs_dossier")).to_contain_text("source line")
    page.wait_for_url("**item=source%3A*")


def test_names_out_of_a_snapshot_are_text(page: Page, own_server: Server) -> None:
    runs: dict[str, str | list[str]] = {
        "baseline": "run/bert/eager",
        "candidate": "run/bert/reduce-overhead",
    }
    page.goto(own_server.link("memory", **runs))
    ready(page)
    label = page.locator("text.slicetext", has_text="img src=x")
    expect(label.first).to_be_attached()  # as text; too long a label is not drawn
    assert page.locator("img[onerror]").count() == 0
    expect(page.get_by_text("has no line. Its steps replay a CUDA graph")).to_be_visible()

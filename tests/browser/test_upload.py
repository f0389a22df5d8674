"""Uploads in a real browser: two traces become a comparison, garbage becomes one sentence."""

import gzip
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from profiler_core.jobs.directory import queue_lock
from tests.browser.conftest import CAPTURES, Server, ready, without_uploads

pytestmark = pytest.mark.browser

EAGER = CAPTURES / "customcnn_b1" / "eager" / "trace.json.gz"
COMPILED = CAPTURES / "customcnn_b1" / "reduce-overhead" / "trace.json.gz"
# A process that imports polars and reads two small traces, on a busy two-core machine.
READING_TIMEOUT_MS = 180_000


@pytest.fixture(scope="module")
def own_server(server: Server) -> Iterator[Server]:
    """The shared dashboard; what is uploaded here is nothing to other tests."""
    yield server
    without_uploads(server)


def open_runs(page: Page, server: Server) -> None:
    page.goto(server.link("runs"))
    ready(page)
    expect(page.get_by_role("button", name="Choose files")).to_be_visible()


def choose(page: Page, *files: Path | dict[str, object]) -> None:
    page.locator("input[type=file]").first.set_input_files(list(files))


def drop(page: Page, name: str, data: bytes) -> None:
    """Drop a file beside the zone, as people do: the whole window takes it."""
    transfer = page.evaluate_handle(
        """([name, data]) => {
            const transfer = new DataTransfer()
            transfer.items.add(new File([new Uint8Array(data)], name))
            return transfer
        }""",
        [name, list(data)],
    )
    for event in ("dragover", "drop"):
        page.dispatch_event("h1", event, {"dataTransfer": transfer, "bubbles": True})


def test_two_traces_open_as_a_comparison(page: Page, own_server: Server, tmp_path: Path) -> None:
    plain = tmp_path / "plain.json"
    plain.write_bytes(gzip.decompress(EAGER.read_bytes()))
    open_runs(page, own_server)
    choose(page, COMPILED)
    expect(page.get_by_text("drop a second trace to compare")).to_be_visible()
    drop(page, plain.name, plain.read_bytes())
    page.get_by_role("button", name="Open 2 files").click()
    page.wait_for_url(
        re.compile(r"/\?baseline=upload%2F.+&candidate=upload%2F.+"), timeout=READING_TIMEOUT_MS
    )
    ready(page)
    # The eager one is the baseline, whatever was dropped first.
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("plain", timeout=READING_TIMEOUT_MS)
    assert not list((own_server.home / "uploads" / ".incoming").glob("*"))

    # The address is enough: another visit needs nothing of this session.
    page.goto(page.url)
    ready(page)
    expect(main).to_contain_text("plain")


def test_leaving_the_page_while_an_upload_is_read_loses_nothing(
    page: Page, own_server: Server
) -> None:
    open_runs(page, own_server)
    choose(page, COMPILED)
    jobs = own_server.home / "jobs"
    before = set((jobs / "live").glob("*"))
    page.get_by_role("button", name="Open", exact=True).click(no_wait_after=True)
    while set((jobs / "live").glob("*")) <= before:
        time.sleep(0.001)
    with queue_lock(jobs):  # its process waits for its turn: two small traces take no time
        expect(page.get_by_text("Reading what arrived")).to_be_visible()
        page.get_by_role("link", name="Timeline").click()
        ready(page)
    # Received files are there before their job is, and go shortly before it ends.
    left = (own_server.home / "uploads" / ".incoming", jobs / "live")
    deadline = time.monotonic() + READING_TIMEOUT_MS / 1000
    while any(list(folder.glob("*")) for folder in left) and time.monotonic() < deadline:
        page.wait_for_timeout(200)
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_text("Read while you were away")).to_be_visible()
    page.get_by_role("link", name="Open what you dropped").click()
    page.wait_for_url(re.compile("baseline=upload%2F"), timeout=READING_TIMEOUT_MS)


@pytest.fixture(scope="class")
def runs_page(page_of_class: Page, own_server: Server) -> Page:
    """The page Runs, opened once for the tests of a class."""
    open_runs(page_of_class, own_server)
    return page_of_class


class TestWhatIsNoTrace:
    def test_an_empty_file_is_refused_beside_its_name(self, runs_page: Page) -> None:
        choose(runs_page, {"name": "empty.json", "mimeType": "application/json", "buffer": b""})
        expect(runs_page.get_by_text("The file is empty.")).to_be_visible()
        runs_page.get_by_role("button", name="Remove empty.json").click()
        expect(runs_page.get_by_text("empty.json")).to_have_count(0)

    def test_garbage_is_one_sentence_and_the_page_goes_on(self, runs_page: Page) -> None:
        page = runs_page
        picture = {"name": "holiday.jpg", "mimeType": "image/jpeg", "buffer": b"\xff\xd8 no trace"}
        choose(page, picture)
        page.get_by_role("button", name="Open", exact=True).click()
        sentence = "holiday.jpg is neither a trace, nor a log, nor a run."
        expect(page.get_by_text(sentence)).to_be_visible(timeout=READING_TIMEOUT_MS)
        expect(page.get_by_role("button", name="Choose files")).to_be_visible()
        expect(page.get_by_text("arrived")).to_have_count(0)

    def test_a_name_with_markup_is_only_a_name(self, runs_page: Page) -> None:
        page = runs_page
        name = "<img src=x onerror=alert(1)>.json"
        choose(page, {"name": name, "mimeType": "application/json", "buffer": b"nothing"})
        expect(page.get_by_text(name)).to_be_visible()
        expect(page.locator("img[src=x]")).to_have_count(0)
        page.get_by_role("button", name="Open", exact=True).click()
        sentence = page.get_by_text(f"{name} is neither a trace").first
        expect(sentence).to_be_visible(timeout=READING_TIMEOUT_MS)
        expect(page.locator("img[src=x]")).to_have_count(0)

"""Recordings of Nsight Systems in a real browser: dropped, compared, their steps chosen."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, at_rest, ready, without_uploads
from tests.ingest.nsight_systems.build import a_loop

pytestmark = pytest.mark.browser

READING_TIMEOUT_MS = 180_000


@pytest.fixture(scope="module")
def own_server(server: Server) -> Iterator[Server]:
    yield server
    without_uploads(server)


def choose(page: Page, server: Server, *files: Path) -> None:
    page.goto(server.link("runs"))
    ready(page)
    expect(page.get_by_role("button", name="Choose files")).to_be_visible()
    page.locator("input[type=file]").first.set_input_files(list(files))


def test_two_recordings_open_as_a_comparison_and_their_steps_can_be_chosen(
    page: Page, own_server: Server, tmp_path: Path
) -> None:
    eager = a_loop()
    for n in range(6):
        eager.push(1_002_000 + n * 50_000, 1_003_000 + n * 50_000, "half")
    choose(
        page,
        own_server,
        eager.write(tmp_path / "eager.sqlite"),
        a_loop("2022.2.1").write(tmp_path / "compiled.sqlite"),
    )
    page.get_by_role("button", name="Open 2 files").click()
    page.wait_for_url(re.compile(r"/\?baseline=upload%2F.+"), timeout=READING_TIMEOUT_MS)
    ready(page)
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("eager: steps are the NVTX ranges", timeout=READING_TIMEOUT_MS)
    at_rest(page)
    page.get_by_text("Which ranges are the steps").click()
    at_rest(page)  # a list that is opened while the fold still grows closes again
    page.get_by_role("combobox", name=re.compile("Steps of eager")).click()
    page.get_by_role("option", name="half · 6 times").click()
    expect(main).to_contain_text("NVTX ranges “half”", timeout=READING_TIMEOUT_MS)


def test_a_binary_report_is_answered_with_the_command_that_exports_it(
    page: Page, own_server: Server, tmp_path: Path
) -> None:
    report = tmp_path / "report1.nsys-rep"
    report.write_bytes(b"NVIDIA Tegra Profiler Report 1.\n\x0bLocal (CLI)")
    choose(page, own_server, report)
    page.get_by_role("button", name="Open", exact=True).click()
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("a binary report of Nsight Systems", timeout=READING_TIMEOUT_MS)
    expect(main).to_contain_text("nsys export --type sqlite")

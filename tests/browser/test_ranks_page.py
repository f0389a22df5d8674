"""The page ranks in a real browser: cold, light and dark, narrow and wide."""

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, Server, at_rest, ready, without_uploads
from tests.browser.waiting import expect_to_fit, expect_whole_words_in_heads, widths

pytestmark = pytest.mark.browser

PAIR: dict[str, str | list[str]] = {
    "baseline": "sample/ddp/eager",
    "candidate": "sample/ddp/default",
}
SAMPLE = ROOT / "sample_traces" / "ddp"


@pytest.fixture(scope="module")
def ranks_server(server: Server) -> Iterator[Server]:
    """The shared dashboard; everything was read and asked before, which takes long."""
    folders = [str(SAMPLE / variant) for variant in ("eager", "default")]
    subprocess.run(
        [sys.executable, "-m", "profiler_core", "ranks", *folders, "--hta", "--json"],
        cwd=ROOT, env={**os.environ, "FUSIONSCOPE_HOME": str(server.home)},
        stdout=subprocess.DEVNULL, check=True, timeout=240,
    )  # fmt: skip
    yield server
    without_uploads(server)


def expect_the_slow_rank(page: Page) -> None:
    heading = page.get_by_role("heading", level=1).first
    expect(heading).to_contain_text("Rank 0 waits for rank 1")
    bars = page.locator(".js-plotly-plot").first
    expect(bars).to_contain_text("one step, ms")
    expect(bars).to_contain_text("rank 1")
    expect(page.get_by_role("rowheader", name="Bus bandwidth, all-reduce")).to_be_visible()


def test_it_opens_cold_names_the_slow_rank_and_opens_the_second_opinion(
    page: Page, ranks_server: Server
) -> None:
    page.goto(ranks_server.link("ranks", **PAIR))
    ready(page)
    expect_the_slow_rank(page)
    at_rest(page)
    page.get_by_text("Temporal breakdown · agrees with ours").click()
    expect(page.get_by_role("rowheader", name="rank 0: compute")).to_be_visible()


def test_in_the_dark_it_is_not_wider_than_its_window(dark_page: Page, ranks_server: Server) -> None:
    for width in widths(dark_page, ranks_server.link("ranks", **PAIR)):
        expect_to_fit(dark_page, width)
        expect_whole_words_in_heads(dark_page)
    expect_the_slow_rank(dark_page)


def test_rank_traces_are_dropped_and_compared(
    page: Page, ranks_server: Server, tmp_path: Path
) -> None:
    """A zip of two folders, as two torchrun jobs leave them."""
    with zipfile.ZipFile(tmp_path / "jobs.zip", "w") as archive:
        for job, variant in (("eager", "eager"), ("compiled", "default")):
            for rank, below in enumerate(("", "ranks/1/")):
                file = SAMPLE / variant / f"{below}trace.json.gz"
                archive.write(file, f"traces/{job}/rank{rank}.json.gz")
    page.goto(ranks_server.link("ranks", baseline="sample/resnet50/eager"))
    ready(page)
    expect(page.get_by_role("link", name="Look at ddp (sample)")).to_be_visible()
    page.locator("input[type=file]").first.set_input_files(tmp_path / "jobs.zip")
    page.locator("button.go").click()
    page.wait_for_url(re.compile(r"/ranks\?baseline=upload.+&candidate=upload.+"), timeout=120_000)
    heading = page.get_by_role("heading", level=1).first
    expect(heading).to_contain_text(
        "Rank 0 waits for rank 1, in eager and compiled alike", timeout=120_000
    )

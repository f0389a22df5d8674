"""The page ranks in a real browser: cold, light and dark, narrow and wide."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.analysis.ranks.mesh_job import Mesh, Planted, play, write
from tests.browser.conftest import (
    ROOT,
    Server,
    at_rest,
    capture_of,
    ready,
    without_uploads,
)
from tests.browser.marks import click_mark
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
    page.wait_for_url(re.compile(r"/ranks\?baseline=upload.+&candidate=upload.+"), timeout=300_000)
    heading = page.get_by_role("heading", level=1).first
    expect(heading).to_contain_text(
        "Rank 0 waits for rank 1, in eager and compiled alike", timeout=300_000
    )


MESH, LATE = Mesh(4, 1, 1), 2


@pytest.fixture
def late_job(server: Server) -> Iterator[Server]:
    """The shared dashboard with a job of four ranks, of which one spins for 3 ms."""
    with capture_of(server, "late") as folder:
        for variant, planted in (("eager", None), ("default", Planted(LATE, "spin", 3000.0))):
            own = folder / variant
            write(own, MESH, play(MESH, planted))
            (own / "rank0.json.gz").rename(own / "trace.json.gz")
            for rank in range(1, MESH.n):
                (own / "ranks" / str(rank)).mkdir(parents=True)
                trace = own / f"rank{rank}.json.gz"
                trace.rename(own / "ranks" / str(rank) / "trace.json.gz")
            record = {"workload": "made-up", "variant": variant, "world_size": MESH.n}
            (own / "run.json").write_text(json.dumps({"schema_version": 1, **record}))
        yield server


def click_cell(page: Page, of: str, number: int) -> None:
    """Click near the left edge of a cell, which is wider than Plotly's points reach."""
    page.get_by_role("heading", name="Waiting in each step").scroll_into_view_if_needed()
    cell = page.locator(f"[class*=st-key-{of}] .scatterlayer .trace .point").nth(number)
    click_mark(page, cell, -60)


def test_a_click_on_the_heat_map_opens_that_step_of_the_rank_and_leads_to_its_timeline(
    page: Page, late_job: Server
) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(late_job.link("ranks", baseline="run/late/eager", candidate="run/late/default"))
    ready(page)
    at_rest(page)
    if shots := os.environ.get("RANKS_SHOTS"):
        page.screenshot(path=f"{shots}/before.png", full_page=True)
    click_cell(page, "ranks_waiting", 2 * MESH.n + MESH.n + 1)  # of default: rank 1, step 2
    panel = page.locator(".st-key-fs_dossier:has(.fs-dossier)")
    expect(panel.get_by_role("heading", name="rank 1, step 2")).to_be_visible()
    expect(page).to_have_url(re.compile(r"item=rank(:|%3A)1\.1\.1"))
    expect(panel).to_contain_text("It waits 3.00 ms in collectives")
    at_rest(page)
    too_wide = page.evaluate(
        """() => [...document.querySelectorAll(".fs-scroll")]
        .filter((each) => each.scrollWidth > each.clientWidth + 1)
        .map((each) => [each.innerText.slice(0, 60), each.scrollWidth, each.clientWidth])"""
    )
    if shots:
        page.screenshot(path=f"{shots}/dossier.png", full_page=True)
    assert too_wide == []
    panel.get_by_role("link", name="step 1").click()
    expect(panel.get_by_role("heading", name="rank 1, step 1")).to_be_visible()
    panel.get_by_role("link", name="On the timeline, default").click()
    expect(page).to_have_url(re.compile(r"/timeline\?.*rank=1\.1"))
    ready(page)
    expect(page.locator("canvas").first).to_be_visible()
    if shots:
        page.screenshot(path=f"{shots}/timeline.png")


def test_a_click_on_a_bar_opens_its_rank(page: Page, late_job: Server) -> None:
    page.goto(late_job.link("ranks", baseline="run/late/default"))
    ready(page)
    at_rest(page)
    bar = page.locator("[class*=st-key-ranks_bars] .barlayer .trace.bars").first
    click_mark(page, bar.locator(".point path").nth(LATE))
    panel = page.locator(".st-key-fs_dossier:has(.fs-dossier)")
    expect(panel.get_by_role("heading", name="rank 2")).to_be_visible()
    expect(panel).to_contain_text("The others wait for it.")
    expect(panel).to_contain_text("Rank 2 needs more than the other ranks: 3.00 ms more work")

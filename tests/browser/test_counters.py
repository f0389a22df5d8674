"""Hardware counters on the kernels, fusion and overview pages: samples with a CSV beside them."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, Server, capture_of, ready

pytestmark = pytest.mark.browser

COUNTERS = ROOT / "tests" / "fixtures" / "counters"
PAIR = {"baseline": "run/measured/eager", "candidate": "run/measured/default"}
KERNEL = "triton_poi_fused__native_batch_norm_legit_no_training_add_relu_7"


@pytest.fixture(scope="module")
def measured(server: Server) -> Iterator[Server]:
    """The dashboard with the ResNet-50 samples as a capture, and counters in each run."""
    with capture_of(server, "measured") as folder:
        for variant in ("eager", "default"):
            run = folder / variant
            shutil.copytree(ROOT / "sample_traces" / "resnet50" / variant, run)
            shutil.copy(COUNTERS / f"resnet50_b32.{variant}.ncu.csv.gz", run / "counters.csv.gz")
        yield server


def test_a_kernel_shows_what_it_moved(page: Page, measured: Server) -> None:
    page.goto(measured.link("kernels", **PAIR, kernel=KERNEL))
    ready(page)
    table = page.locator(".fs-dossier")
    expect(table).to_contain_text("DRAM read, per step")
    expect(table).to_contain_text("411 MB")
    expect(table).to_contain_text("87 % of the peak")
    expect(table).to_contain_text("Nearly all of it goes through the memory.")
    expect(table).to_contain_text("not used")


def test_a_kernel_without_counters_has_no_empty_lines(page: Page, measured: Server) -> None:
    sample = {"baseline": "sample/resnet50/eager", "candidate": "sample/resnet50/default"}
    page.goto(measured.link("kernels", **sample, kernel=KERNEL))
    ready(page)
    expect(page.locator(".fs-dossier")).to_contain_text("calls")
    expect(page.locator(".fs-dossier")).not_to_contain_text("DRAM")


def test_a_fusion_group_shows_both_sides(page: Page, measured: Server) -> None:
    page.goto(measured.link("fusion", **PAIR, of="1", group="9"))
    ready(page)
    expect(page.get_by_text("read from DRAM and")).to_have_count(2)
    expect(page.get_by_text("of its peak; L2:")).to_have_count(2)


def test_the_overview_says_what_fusion_removed(page: Page, measured: Server) -> None:
    page.goto(measured.link("", **PAIR))
    ready(page)
    expect(page.get_by_text("of DRAM traffic per step.")).to_be_visible()
    expect(page.get_by_text("10.2 GB → 5.30 GB")).to_be_visible()


def test_a_damaged_file_costs_the_counters_only(page: Page, measured: Server) -> None:
    with capture_of(measured, "damaged") as folder:
        run = folder / "eager"
        shutil.copytree(ROOT / "sample_traces" / "resnet50" / "eager", run)
        (run / "counters.csv").write_text('"ID","Kernel Name"\n\x00,<script>alert(1)</script>')
        page.goto(measured.link("kernels", baseline="run/damaged/eager"))
        ready(page)
        problem = page.get_by_text("No hardware counters: counters.csv has the columns")
        expect(problem).to_be_visible()
        expect(page.get_by_text("Download", exact=False)).to_be_visible()

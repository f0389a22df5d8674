"""Nine questions, each from the overview by two clicks or one search at the most.

Asked of a sample and of foreign files: traces of torch.profiler with the compiler's logs beside
them, without run.json, samples or rounds. The rank traces of a foreign job are in
`test_ranks_page.py`, which drops them.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import ROOT, Server, at_rest, capture_of, ready

pytestmark = pytest.mark.browser

SAMPLES = ROOT / "sample_traces"
VARIANTS = ("eager", "default")
# What somebody has who never ran `capture`.
FOREIGN_FILES = ("trace.json.gz", "torch_logs.txt", "torch_trace")


@pytest.fixture(scope="module")
def foreign(server: Server) -> Iterator[None]:
    """Three pairs of the shared dashboard, of foreign files alone."""
    with ExitStack() as stack:
        for workload in ("bert", "breaky", "customcnn"):
            folder = stack.enter_context(capture_of(server, f"foreign-{workload}"))
            for variant in VARIANTS:
                (folder / variant).mkdir()
                for name in FOREIGN_FILES:
                    file = SAMPLES / workload / variant / name
                    if file.is_dir():
                        shutil.copytree(file, folder / variant / name)
                    elif file.exists():
                        shutil.copy(file, folder / variant)
        yield


@pytest.fixture(params=["sample", "foreign"])
def prefix(request: pytest.FixtureRequest, foreign: None) -> str:
    """Before the name of a workload, of the keys of its runs."""
    return "sample/" if request.param == "sample" else "run/foreign-"


def open_overview(page: Page, server: Server, runs: str) -> None:
    """Of eager against default."""
    page.goto(server.link(baseline=f"{runs}/eager", candidate=f"{runs}/default"))
    ready(page)


def dossier(page: Page) -> Locator:
    """The open panel."""
    return page.locator(".st-key-fs_dossier:has(.fs-dossier)")


def search(page: Page, words: str) -> Locator:
    """The first thing that the search has for these words."""
    # What listens for the key is drawn by the browser after the page has run.
    at_rest(page)
    expect(page.get_by_role("button", name="Search everything")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("dialog", name="Search everything")).to_be_visible()
    page.keyboard.type(words)
    first = page.get_by_role("option").first
    expect(first).to_be_visible()
    return first


def test_the_most_expensive_operator_after_compiling(
    page: Page, server: Server, prefix: str
) -> None:
    open_overview(page, server, f"{prefix}bert")
    page.get_by_role("link", name="Most expensive operators").click()
    expect(page.get_by_role("heading", name="Modules", exact=True)).to_be_visible()
    expect(page.get_by_text("linear takes the most time of default")).to_be_visible()
    expect(page.get_by_text("operators", exact=True)).to_be_visible()


def test_why_a_kernel_is_slow(page: Page, server: Server, prefix: str) -> None:
    open_overview(page, server, f"{prefix}customcnn")
    page.get_by_role("link", name="Compare the kernels").click()
    page.wait_for_url("**/kernels?*")
    at_rest(page)  # a grid that is drawn anew takes no click
    table = page.get_by_test_id("stDataFrame").first
    expect(table.get_by_test_id("data-grid-canvas")).to_be_visible()
    table.scroll_into_view_if_needed()
    at_rest(page)
    table.click(position={"x": 70, "y": 55})
    page.wait_for_url("**item=kernel*")
    opened = dossier(page)
    expect(opened.locator(".fs-dossier-answer")).to_contain_text(re.compile("%|[a-z]"))
    expect(opened.get_by_text("Launch and occupancy")).to_be_visible()
    expect(opened.get_by_text("Fusion groups, slowest first")).to_be_visible()
    expect(opened.get_by_role("link", name=re.compile("On the timeline")).first).to_be_attached()
    # Docked: the page stays beside it, and nothing lies below the other.
    main = page.get_by_test_id("stMainBlockContainer").get_by_role("heading").first
    beside, own = main.bounding_box(), opened.bounding_box()
    assert beside is not None and own is not None and page.viewport_size is not None
    assert own["x"] + own["width"] <= page.viewport_size["width"] + 1
    assert beside["x"] + beside["width"] <= own["x"]


def test_which_break_costs_what_and_where(page: Page, server: Server, prefix: str) -> None:
    open_overview(page, server, f"{prefix}breaky")
    at_rest(page)
    page.locator(".fs-finding a[data-item^='break:']").first.click()
    opened = dossier(page)
    cost = re.compile(r"Costs [\d.]+\sµs per step; what the other break costs is not known")
    expect(opened).to_contain_text(cost)
    expect(opened.locator(".fs-facts, .fs-code, .fs-mono").first).to_be_visible()
    expect(opened).to_contain_text(re.compile(r"\w+\.py:\d+"))
    if prefix == "sample/":  # a capture keeps the code around it
        expect(opened.locator("pre.fs-code b").first).to_contain_text("x.sum().item()")


def test_whether_memory_became_better_and_through_what(
    page: Page, server: Server, prefix: str
) -> None:
    open_overview(page, server, f"{prefix}bert")
    page.get_by_role("link", name="Where the memory went").click()
    page.wait_for_url("**/memory?*")
    ready(page)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text(re.compile(r"default (reserves|allocates) [\d.]+\s%\sless"))
    expect(page.get_by_role("rowheader", name="12 × gelu")).to_be_visible()


def test_the_code_of_a_layers_norm_and_what_a_layer_gained(
    page: Page, server: Server, prefix: str
) -> None:
    open_overview(page, server, f"{prefix}bert")
    search(page, "layer.3 layernorm attention")
    page.keyboard.press("Enter")
    opened = dossier(page)
    expect(opened.get_by_text("encoder.layer.3.attention.output.LayerNorm").first).to_be_visible()
    expect(opened.get_by_text("Generated code", exact=True)).to_be_visible()
    expect(page.get_by_role("option")).to_have_count(0)  # the box is closed

    first = search(page, "layer.7")
    expect(first).to_contain_text("encoder.layer.7")
    first.click()
    expect(opened.locator(".fs-dossier-answer")).to_contain_text("→")
    expect(opened.get_by_text("encoder.layer.7", exact=True).first).to_be_visible()


def test_which_group_became_slower_and_why(page: Page, server: Server, prefix: str) -> None:
    """By one search; by the bar of the waterfall that holds it: `test_dossier.py`."""
    open_overview(page, server, f"{prefix}bert")
    search(page, "slower")
    page.get_by_role("option").filter(has_text="slower by").first.click()
    opened = dossier(page)
    answer = opened.locator(".fs-dossier-answer")
    expect(answer).to_contain_text(re.compile(r"→ .* per step \(\+"))
    expect(opened.get_by_text("Kernels, slowest first")).to_be_visible()
    # A kernel of it is one click more, and back leads to the group.
    group = opened.locator(".fs-dossier-title").inner_text()
    opened.locator(".fs-related a[data-item^='kernel:']").first.click()
    page.wait_for_url("**item=kernel*")
    page.go_back()
    expect(opened.locator(".fs-dossier-title")).to_have_text(group)


def test_who_waits_for_whom(page: Page, server: Server) -> None:
    open_overview(page, server, "sample/ddp")
    page.get_by_role("link", name="Who waits for whom").click()
    heading = page.get_by_role("heading", level=1).first
    expect(heading).to_contain_text("Rank 0 waits for rank 1", timeout=300_000)


def test_what_to_try_next(page: Page, server: Server, prefix: str) -> None:
    open_overview(page, server, f"{prefix}bert")
    expect(page.get_by_role("heading", name="What to do next")).to_be_visible()
    first = page.locator(".fs-finding").first
    expect(first.locator(".fs-stake")).to_contain_text(re.compile(r"\d.*per step"))
    expect(first).to_contain_text("torch.autocast")
    first.get_by_role("link", name="kernels").click()
    page.wait_for_url("**/kernels?*finding=1.*item=finding*")
    expect(dossier(page).get_by_text("Kernels, slowest first")).to_be_visible()
    page.get_by_role("button", name="Show all kernels").click()
    expect(page.get_by_role("button", name="Show all kernels")).to_have_count(0)

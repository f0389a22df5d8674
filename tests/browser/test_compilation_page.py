"""The page about compiling in a real browser: breaks, recompiles, code, skips, odd logs."""

import gzip
import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from profiler_core.store import incoming, uploads
from tests.browser.conftest import (
    ROOT,
    Server,
    at_rest,
    capture_of,
    ready,
    watched_page,
    without_uploads,
)
from tests.browser.waiting import (
    expect_to_fit,
    expect_what_is_beyond_an_edge_to_fade,
    widths,
)

pytestmark = pytest.mark.browser

# Traces that are met for the first time are read first; two cores may be shared with much else.
FIRST_MS = 180_000

SAMPLES = ROOT / "sample_traces"
LOGS = ROOT / "tests" / "fixtures" / "torch_logs"
HOSTILE = "<img src=x onerror=alert(1)>"
BREAK = "V1121 08:26:46.212000 123 torch/_dynamo/symbolic_convert.py:415] [0/0] [__graph_breaks] "
HOSTILE_LOG = "".join(
    f"{BREAK}{line}\n"
    for line in (
        f"Graph break in user code at /x/{HOSTILE}.py:7",
        f"Reason: Unsupported: <script>alert(2)</script> {HOSTILE}",
        "User code traceback:",
        f'  File "/x/{HOSTILE}.py", line 7, in f',
        f'    print("{HOSTILE}")',
    )
)


@pytest.fixture(scope="module")
def own_server(server: Server) -> Iterator[Server]:
    """The shared dashboard, with a run that has breaks in a loop and one without logs."""
    eager = SAMPLES / "breaky" / "eager"
    with capture_of(server, "loop") as loop, capture_of(server, "plain") as plain:
        for folder in (loop / "default", plain / "eager"):
            folder.mkdir()
            shutil.copy(eager / "trace.json.gz", folder)
        shutil.copy(SAMPLES / "breaky" / "default" / "run.json", loop / "default")
        shutil.copy(
            LOGS / "2.15.0" / "b2_break_places" / "torch_logs.rg.txt.gz",
            loop / "default" / "torch_logs.txt.gz",
        )
        shutil.copy(eager / "run.json", plain / "eager")
        yield server


@pytest.fixture(scope="module")
def uploaded(own_server: Server) -> Iterator[dict[str, str]]:
    """The keys of uploaded logs: one alone, one full of markup."""
    text = gzip.decompress((LOGS / "2.15.0/b2_break_places/torch_logs.rg.txt.gz").read_bytes())
    keys = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(own_server.home))
        for name, content in (("alone", text), ("hostile", HOSTILE_LOG.encode())):
            upload_id = incoming.new_upload_id()
            part = incoming.part_path(upload_id, 0)
            part.write_bytes(content)
            incoming.keep(part, "stderr.txt")
            keys[name] = uploads.accept(upload_id, (0,), lambda *_: None).keys[0]
    yield keys
    without_uploads(own_server)


def sample(name: str, candidate: str) -> dict[str, str]:
    return {"baseline": f"sample/{name}/eager", "candidate": f"sample/{name}/{candidate}"}


def expect_the_break(page: Page) -> None:
    expect(page.locator("h1.fs-verdict")).to_contain_text("graph breaks", timeout=FIRST_MS)
    at_rest(page)
    page.locator("a[data-item^='break:']").first.click()
    panel = page.locator(".fs-dossier")
    expect(panel).to_contain_text(re.compile(r"child/models\.py:\d+"))
    expect(panel).to_contain_text(re.compile(r"Costs [\d.]+\sµs per step"))
    expect(panel.locator("pre.fs-code b").first).to_contain_text("x.sum().item()")
    link = panel.get_by_role("link", name="PyTorch")
    expect(link).to_have_attribute("href", re.compile(r"compile-graph-break-site/gb/gb\d{4}"))
    for heading in ("Recompiles", "Where compile time went", "Guards and wrappers"):
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    # Recompiles over the steps, and the icicle of the phases.
    expect(page.locator(".js-plotly-plot")).to_have_count(2)


def test_a_break_shows_its_price_its_line_and_its_remedy(page: Page, own_server: Server) -> None:
    page.goto(own_server.link("compilation", **sample("breaky", "default")))
    ready(page)
    expect_the_break(page)


def test_on_a_phone_the_price_of_a_break_is_in_view(page: Page, server: Server) -> None:
    """The name of the cause did not wrap: "25.5 µ" stood at the edge, and "met" beyond it."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(server.link("compilation", **sample("breaky", "default")))
    ready(page)
    table = page.locator("table.fs-told").first
    expect(table).to_contain_text("25.5")
    assert table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
    # "What to change" lay beyond the edge, and nothing said so.
    expect(page.locator(".fs-recompiles")).to_contain_text("Keep counters out of the module")
    expect_to_fit(page, 390 - 2 * 14, of=".fs-scroll:has(.fs-recompiles)")
    expect_what_is_beyond_an_edge_to_fade(page)


def test_generated_code_is_searched_and_stands_beside_its_graph(
    browser: Browser, own_server: Server
) -> None:
    for page in watched_page(browser):
        page.goto(own_server.link("compilation", **sample("bert", "default")))
        ready(page)
        expect(page.get_by_role("heading", name="Generated code", exact=True)).to_be_visible()
        expect(page.get_by_text("def triton_", exact=False).first).to_be_visible()
        expect(page.locator("table.fs-nodes")).to_be_visible()
        at_rest(page)  # what is typed while the page runs may be lost
        search = page.get_by_label("Search", exact=True)
        search.fill("gelu")
        search.press("Enter")
        expect(page.get_by_text(re.compile(r"Kernel \(1 of \d+\)"))).to_be_visible()
        at_rest(page)
        search.fill("no kernel is called like this")
        search.press("Enter")
        expect(page.get_by_text("No kernel matches all of these words.")).to_be_visible()


def test_replayed_kernels_are_counted(browser: Browser, own_server: Server) -> None:
    for page in watched_page(browser):
        page.goto(own_server.link("compilation", **sample("customcnn", "reduce-overhead")))
        ready(page)
        expect(
            page.get_by_text(re.compile(r"\d+ % of the kernels .* are replayed"))
        ).to_be_visible()


def test_a_skipped_frame_comes_first_and_says_what_is_lost(
    browser: Browser, own_server: Server
) -> None:
    for page in watched_page(browser):
        page.goto(own_server.link("compilation", baseline="run/loop/default"))
        ready(page)
        headings = page.get_by_role("heading", level=2).or_(page.get_by_role("heading", level=3))
        expect(headings.first).to_have_text("Functions that run eager")
        expect(page.get_by_text(re.compile("^Frame skipped · ")).first).to_be_visible()
        expect(page.get_by_text("What that loses cannot be known here")).to_be_visible()


def test_a_log_alone_is_shown_without_prices(
    browser: Browser, own_server: Server, uploaded: dict[str, str]
) -> None:
    for page in watched_page(browser):
        page.goto(own_server.link("compilation", baseline=uploaded["alone"]))
        ready(page)
        expect(
            page.get_by_text("This run has no trace, so what breaks and regions cost is not known.")
        ).to_be_visible()


def test_markup_in_a_log_is_text(
    browser: Browser, own_server: Server, uploaded: dict[str, str]
) -> None:
    for page in watched_page(browser):
        page.goto(own_server.link("compilation", baseline=uploaded["hostile"]))
        ready(page)
        expect(page.locator("table.fs-t").first).to_contain_text(HOSTILE)
        assert page.locator("img[onerror]").count() == 0


def test_a_run_without_logs_says_how_to_get_them(browser: Browser, own_server: Server) -> None:
    for page in watched_page(browser):
        page.goto(own_server.link("compilation", baseline="run/plain/eager"))
        ready(page)
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_contain_text("has a log of the compiler")
        page.goto(own_server.link("compilation", baseline="sample/bert/eager"))
        ready(page)
        expect(heading).to_contain_text("say nothing about compiling")


def test_in_the_dark_the_page_is_never_wider_than_its_window(
    dark_page: Page, own_server: Server
) -> None:
    for width in widths(dark_page, own_server.link("compilation", **sample("breaky", "default"))):
        expect(dark_page.locator("h1.fs-verdict")).to_be_visible(timeout=FIRST_MS)
        expect_to_fit(dark_page, width, of="[data-testid=stMain]")
    expect_the_break(dark_page)


def test_run_and_search_stay_in_the_address_though_sections_move(
    page: Page, own_server: Server
) -> None:
    """The runs have other sections above the search: it is drawn at another place for each."""
    page.goto(
        own_server.link(
            "compilation",
            baseline="sample/bert/eager",
            candidate=["sample/bert/default", "sample/bert/reduce-overhead"],
        )
    )
    field = page.get_by_label("Search", exact=True)
    expect(field).to_be_visible(timeout=2 * FIRST_MS)
    ready(page)
    page.get_by_role("radio", name="default", exact=True).click()
    expect(page).to_have_url(re.compile("of=1"))
    at_rest(page)
    for words in ("triton", "fused"):
        field.fill(words)
        field.press("Enter")
        expect(page).to_have_url(re.compile(f"(?=.*of=1)(?=.*code={words})"))
    field.fill("")
    field.press("Enter")
    expect(page).not_to_have_url(re.compile("code="))
    expect(page).to_have_url(re.compile("of=1"))
    page.get_by_role("radio", name="reduce-overhead").click()
    expect(page).to_have_url(re.compile("of=2"))

"""The page about compiling in a real browser: breaks, recompiles, code, skips, odd logs."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROOT, Server, at_rest, ready, running_server, watched_page
from tests.browser.waiting import expect_to_fit, widths

pytestmark = pytest.mark.browser

# Traces that are met for the first time are read first; two cores may be shared with much else.
FIRST_MS = 60_000

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
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("compilation-home")
    loop = home / "runs" / "loop" / "default"
    loop.mkdir(parents=True)
    shutil.copy(SAMPLES / "breaky" / "default" / "run.json", loop)
    shutil.copy(SAMPLES / "breaky" / "eager" / "trace.json.gz", loop)
    shutil.copy(
        LOGS / "2.15.0" / "b2_break_places" / "torch_logs.rg.txt.gz", loop / "torch_logs.txt.gz"
    )
    plain = home / "runs" / "plain" / "eager"
    plain.mkdir(parents=True)
    for name in ("run.json", "trace.json.gz"):
        shutil.copy(SAMPLES / "breaky" / "eager" / name, plain)
    return home


@pytest.fixture(scope="module")
def uploaded(own_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The keys of uploaded logs: one alone, one full of markup."""
    text = gzip.decompress((LOGS / "2.15.0/b2_break_places/torch_logs.rg.txt.gz").read_bytes())
    code = (
        "import sys; from pathlib import Path\n"
        "from profiler_core.store import incoming, uploads\n"
        "one = incoming.new_upload_id(); place = incoming.part_path(one, 0)\n"
        "place.write_bytes(Path(sys.argv[1]).read_bytes()); incoming.keep(place, 'stderr.txt')\n"
        "print(uploads.accept(one, (0,), lambda *_: None).keys[0])\n"
    )
    keys = {}
    for name, content in (("alone", text), ("hostile", HOSTILE_LOG.encode())):
        path = tmp_path_factory.mktemp("logs") / name
        path.write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            cwd=ROOT, env={**os.environ, "FUSIONSCOPE_HOME": str(own_home)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        keys[name] = done.stdout.split()[-1]
    return keys


@pytest.fixture(scope="module")
def own_server(
    own_home: Path, uploaded: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    del uploaded  # there before the server looks
    with running_server(own_home, tmp_path_factory.mktemp("c-server") / "log.txt") as server:
        yield server


def sample(name: str, candidate: str) -> dict[str, str]:
    return {"baseline": f"sample/{name}/eager", "candidate": f"sample/{name}/{candidate}"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_break_shows_its_price_its_line_and_its_remedy(
    browser: Browser, own_server: Server, scheme: str
) -> None:
    for page in watched_page(browser, color_scheme=scheme):
        page.goto(own_server.link("compilation", **sample("breaky", "default")))
        ready(page)
        expect(page.locator("h1.fs-verdict")).to_contain_text("graph breaks", timeout=FIRST_MS)
        first = page.get_by_test_id("stExpander").first
        expect(first).to_contain_text(re.compile(r"child/models\.py:\d+ · [\d.]+ µs per step"))
        expect(first.locator("pre.fs-code b").first).to_contain_text("x.sum().item()")
        link = first.get_by_role("link").first
        expect(link).to_have_attribute("href", re.compile(r"compile-graph-break-site/gb/gb\d{4}"))
        for heading in ("Recompiles", "Where compile time went", "Guards and wrappers"):
            expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        # Recompiles over the steps, and the icicle of the phases.
        expect(page.locator(".js-plotly-plot")).to_have_count(2)


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
        expect(page.get_by_text("No kernel holds all of these words.")).to_be_visible()


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
            page.get_by_text("This run has no trace, so nothing here has a price.")
        ).to_be_visible()


def test_markup_in_a_log_is_text(
    browser: Browser, own_server: Server, uploaded: dict[str, str]
) -> None:
    for page in watched_page(browser):
        page.goto(own_server.link("compilation", baseline=uploaded["hostile"]))
        ready(page)
        expect(page.get_by_test_id("stExpander").first).to_contain_text(HOSTILE)
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


def test_the_page_is_never_wider_than_its_window(browser: Browser, own_server: Server) -> None:
    for page in watched_page(browser):
        for width in widths(page, own_server.link("compilation", **sample("breaky", "default"))):
            expect(page.locator("h1.fs-verdict")).to_be_visible(timeout=FIRST_MS)
            expect_to_fit(page, width, of="[data-testid=stMain]")


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
    field = page.get_by_label("Search")
    expect(field).to_be_visible(timeout=2 * FIRST_MS)
    ready(page)
    page.get_by_role("radio", name="reduce-overhead").click()
    expect(page).to_have_url(re.compile("run=reduce-overhead"))
    at_rest(page)
    for words in ("triton", "fused"):
        field.fill(words)
        field.press("Enter")
        expect(page).to_have_url(re.compile(f"(?=.*run=reduce-overhead)(?=.*code={words})"))
    field.fill("")
    field.press("Enter")
    expect(page).not_to_have_url(re.compile("code="))
    expect(page).to_have_url(re.compile("run=reduce-overhead"))
    page.get_by_role("radio", name="default", exact=True).click()
    expect(page).not_to_have_url(re.compile("run="))

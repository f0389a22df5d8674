"""The dossier on its pages: opened, left and come back to; questions: test_questions."""

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import CAPTURES, Server, at_rest, capture_of, ready
from tests.browser.marks import click_mark

pytestmark = pytest.mark.browser

SAMPLE = {"baseline": "sample/breaky/eager", "candidate": "sample/breaky/default"}
CNN = {"baseline": "sample/customcnn/eager", "candidate": "sample/customcnn/default"}

_CUT_TABLES = """() => [...document.querySelectorAll(".fs-scroll")]
    .filter((box) => box.innerText && !box.closest(".fs-dossier"))
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.innerText.slice(0, 80))"""

_CUT_HINTS = """() => {
    const pen = document.createElement("canvas").getContext("2d");
    return [...document.querySelectorAll("[data-testid=stTextInput] input")].filter((field) => {
        const style = getComputedStyle(field);
        pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
        const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
        return pen.measureText(field.placeholder).width + padding > field.clientWidth;
    }).map((field) => field.placeholder);
}"""

_BROKEN_WORDS = """() => [...document.querySelectorAll(".fs-t :is(td, th)")].flatMap((cell) => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
    while (texts.nextNode()) {
        for (const word of texts.currentNode.data.matchAll(/[\\p{L}\\d]+/gu)) {
            const range = document.createRange();
            range.setStart(texts.currentNode, word.index);
            range.setEnd(texts.currentNode, word.index + word[0].length);
            const lines = [...range.getClientRects()].map((box) => Math.round(box.top));
            if (new Set(lines).size > 1) broken.push(cell.textContent);
        }
    }
    return broken;
})"""

_FINDINGS = """() => [...document.querySelectorAll("[class*=st-key-fs_finding_]")].flatMap(row => {
    const box = (name) => row.querySelector(name).getBoundingClientRect();
    if (!row.querySelector("button")) return [];
    const [link, button] = [box(".fs-finding > div:last-child a"), box("button p")];
    const middle = (each) => each.top + each.height / 2;
    return [[box(".fs-finding p").width / row.clientWidth, middle(button) - middle(link)]];
})"""

_UNEVEN_ROWS = """() => [...document.querySelectorAll(".fs-t:not(.fs-detail) tbody tr")]
    .filter((row) => {
    const middle = (cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const box = range.getBoundingClientRect();
        return box.top + box.height / 2;
    };
    const head = row.querySelector("th"), cell = row.querySelector("td");
    return head && cell?.innerText && Math.abs(middle(head) - middle(cell)) > 1.2;
}).map((row) => row.innerText)"""


@pytest.fixture(scope="module")
def bare(server: Server) -> Iterator[Server]:
    """The shared dashboard with two foreign traces: no record, no log, no counters."""
    with capture_of(server, "bare") as folder:
        for variant, name in (("a", "customcnn_b1.eager"), ("b", "customcnn_b1.reduce-overhead")):
            (folder / variant).mkdir()
            (trace,) = (CAPTURES / name).glob("trace.json.gz")
            shutil.copy(trace, folder / variant / "trace.json.gz")
        yield server


def panel(page: Page) -> Locator:
    return page.locator(".st-key-fs_dossier:has(.fs-dossier)")


def _first_row(page: Page) -> None:
    at_rest(page)  # a grid that is drawn anew takes no click
    table = page.get_by_test_id("stDataFrame").first
    expect(table.get_by_test_id("data-grid-canvas")).to_be_visible()
    table.scroll_into_view_if_needed()
    at_rest(page)
    table.click(position={"x": 70, "y": 55})


def _bar_of_difference(page: Page) -> None:
    """The second bar of the waterfall, the first change."""
    bars = page.locator(".st-key-waterfall .js-plotly-plot .barlayer .trace.bars").last
    bar = bars.locator(".point path").nth(1)
    at_rest(page)
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    expect(page.locator(".hoverlayer .hovertext").first).to_be_visible()
    page.mouse.click(*middle)


def test_a_bare_trace_alone_says_why_and_what_is_not_known(page: Page, bare: Server) -> None:
    page.goto(bare.link("kernels", baseline="run/bare/a"))
    ready(page)
    _first_row(page)
    expect(panel(page).get_by_text("that takes a baseline and a candidate")).to_be_visible()


@pytest.mark.parametrize("name", ["", "compilation", "fusion"])
def test_no_table_beside_it_hides_a_column(page: Page, server: Server, name: str) -> None:
    """What a change saves, what to change and what ranks take lay beyond the edge at 1 280 px."""
    page.set_viewport_size({"width": 1280, "height": 800})
    job = {"baseline": "sample/ddp/eager", "candidate": "sample/ddp/default"}
    page.goto(server.link(name, **job, item="break:1.0"))
    ready(page)
    expect(panel(page)).to_be_visible()
    at_rest(page)
    assert page.evaluate(_CUT_TABLES) == []


@pytest.mark.parametrize("name", ["compilation", "memory", "kernels"])
def test_words_beside_it_are_whole(page: Page, server: Server, name: str) -> None:
    """Guards lay beyond the edge, hints of searches were cut, names broke within a word."""
    page.set_viewport_size({"width": 1280, "height": 800})
    runs = {"baseline": "sample/breaky/eager", "candidate": "sample/breaky/default"}
    if name == "memory":
        runs = {key: run.replace("breaky", "simplecnn-training") for key, run in runs.items()}
    page.goto(server.link(name, **runs, item="group:1.0"))
    ready(page)
    expect(panel(page)).to_be_visible()
    at_rest(page)
    assert page.evaluate(_CUT_TABLES) == []
    assert page.evaluate(_CUT_HINTS) == []
    assert page.evaluate(_BROKEN_WORDS) == []


def test_back_closes_it_forward_opens_it_and_the_map_fits_beside_it(
    page: Page, server: Server
) -> None:
    page.goto(server.link(**SAMPLE))
    ready(page)
    at_rest(page)
    page.locator(".fs-finding a[data-item^='break:']").first.click()
    opened = panel(page)
    expect(opened).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    ready(page)
    page.wait_for_function(  # or the candidate's side of the map is out of sight
        "(() => { const map = document.querySelector('.st-key-fs_map_scroll');"
        " return map && map.scrollWidth <= map.clientWidth + 1 })()"
    )
    page.go_back()
    expect(opened).to_have_count(0)
    page.go_forward()
    expect(opened).to_be_visible()


def test_a_bar_of_the_waterfall_leads_to_a_group_and_its_kernels(page: Page, bare: Server) -> None:
    page.goto(bare.link(baseline="run/bare/a", candidate="run/bare/b"))
    ready(page)
    _bar_of_difference(page)
    page.locator("table.fs-opened a.fs-item").first.click()
    opened = panel(page)
    expect(opened.locator(".fs-dossier-answer")).to_contain_text(re.compile("→ .* per step"))
    expect(opened.get_by_text("Kernels, slowest first")).to_be_visible()
    # A kernel of it is one click more, and back leads to the group.
    group = opened.locator(".fs-dossier-title").inner_text()
    opened.locator(".fs-related a[data-item^='kernel:']").first.click()
    page.wait_for_url("**item=kernel*")
    page.go_back()
    expect(opened.locator(".fs-dossier-title")).to_have_text(group)


def test_a_finding_lands_on_its_page_filtered_and_with_its_evidence(
    page: Page, server: Server
) -> None:
    page.goto(server.link(**SAMPLE))
    ready(page)
    page.evaluate("window.isTheSameDocument = true")
    finding = page.locator(".fs-finding", has=page.locator("a[data-item^='break:']")).first
    finding.get_by_role("link", name="compilation").click()
    page.wait_for_url("**/compilation?*item=break*")
    ready(page)
    expect(panel(page)).to_be_visible()
    expect(page.locator("a.fs-here")).to_be_in_viewport()
    page.go_back()
    expect(page.locator(".fs-finding").first).to_be_visible()
    expect(panel(page)).to_have_count(0)
    assert page.evaluate("window.isTheSameDocument"), "the whole app was loaded anew"


def test_esc_closes_it_and_the_same_row_opens_it_again(page: Page, server: Server) -> None:
    page.goto(server.link("kernels", **CNN))
    ready(page)
    for _ in range(2):
        _first_row(page)
        expect(panel(page)).to_be_visible()
        ready(page)
        page.keyboard.press("Escape")
        expect(panel(page)).to_have_count(0)
        ready(page)
    assert "item=" not in page.url


def test_on_a_phone_it_is_a_sheet(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(server.link("compilation", **SAMPLE, item="break:1.0"))
    ready(page)
    box = panel(page).bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, 390)
    assert box["y"] > 150
    page.locator(".st-key-fs_dossier").get_by_role("button", name="Close").click()
    expect(panel(page)).to_have_count(0)


def test_an_event_of_the_timeline_opens_and_closes(page: Page, server: Server) -> None:
    page.goto(server.link("timeline", **CNN, event="1.device.3"))
    ready(page)
    expect(panel(page).get_by_text("Launch delay")).to_be_visible()
    at_rest(page)  # what is pressed while the page runs may be lost
    page.keyboard.press("Escape")
    expect(panel(page)).to_have_count(0)
    page.wait_for_url(lambda url: "event=" not in url)


def test_a_box_of_the_icicle_opens_its_dossier_and_the_bar_above_leads_back(
    page: Page, server: Server
) -> None:
    """A click zoomed in, opened nothing, and showed no way out."""
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(server.link("modules", baseline="sample/bert/eager", candidate="sample/bert/default"))
    ready(page)
    boxes = page.locator(".st-key-module_icicle .icicle.trace").first

    click_mark(page, boxes.get_by_text("encoder", exact=True).first)
    expect(panel(page)).to_contain_text("encoder")
    page.wait_for_url("**item=module%3Aencoder*")
    # As a click on its row does: the groups that work for it stand below.
    expect(page.get_by_text("all groups that work for it").first).to_be_visible()
    expect(boxes.locator(".pathbar").first).to_be_visible()
    expect(boxes.get_by_text("embeddings")).to_have_count(0)  # beside it: out of sight
    click_mark(page, boxes.get_by_text("step", exact=True).first)  # in the bar
    expect(boxes.locator(".pathbar")).to_have_count(0)


def test_findings_keep_the_width_beside_a_dossier_and_rows_stand_level(
    page: Page, server: Server
) -> None:
    """A finding had 62 % of the room beside its button, which hung above the link to its page."""
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(server.link(**SAMPLE))
    ready(page)
    rows = page.evaluate(_FINDINGS)
    assert rows and all(abs(offset) <= 2 for _, offset in rows), rows
    assert page.evaluate(_UNEVEN_ROWS) == []
    page.locator("[data-testid=stMain] a[data-item]").first.click()
    expect(panel(page)).to_be_visible()
    at_rest(page)
    assert all(width > 0.7 for width, _ in page.evaluate(_FINDINGS))
    assert page.evaluate(_UNEVEN_ROWS) == []


def test_a_row_is_told_beside_the_candidate_that_the_page_shows(page: Page, server: Server) -> None:
    """The dossier of a row of `default` was told beside reduce-overhead, which gained less."""
    three = {**CNN, "candidate": ["sample/customcnn/default", "sample/customcnn/reduce-overhead"]}
    page.goto(server.link("modules", **three, find="head", of="1"))
    ready(page)
    _first_row(page)
    answer = panel(page).locator(".fs-dossier-answer")
    expect(answer).to_contain_text(re.compile(r"→ 1\.9.*in default"))
    panel(page).get_by_role("link", name="reduce-overhead", exact=True).click()
    expect(answer).to_contain_text(re.compile(r"→ 2\.25.*in reduce-overhead"))
    page.locator(".st-key-fs_candidate").get_by_text("reduce-overhead").click()
    page.wait_for_url(re.compile("of=2"))
    ready(page)
    expect(answer).to_contain_text("in reduce-overhead")
    page.locator(".st-key-fs_candidate").get_by_text("default", exact=True).click()
    page.wait_for_url(re.compile("of=1"))
    expect(answer).to_contain_text("in default")
    page.go_back()
    expect(answer).to_contain_text("in reduce-overhead")
    expect(
        page.locator(".st-key-fs_candidate [aria-checked=true], "
                     ".st-key-fs_candidate [kind*=Active]").first
    ).to_contain_text("reduce-overhead")  # fmt: skip


def test_a_finding_leads_to_its_page_from_everywhere_but_there(page: Page, server: Server) -> None:
    broken = {**SAMPLE, "item": "finding:1.recompiles"}
    page.goto(server.link("modules", **broken))
    ready(page)
    panel(page).get_by_role("link", name="See it on Compilation").click()
    page.wait_for_url("**/compilation?*")
    ready(page)
    expect(panel(page).locator(".fs-dossier-title")).to_contain_text("recompil")
    expect(panel(page).get_by_role("link", name="See it on Compilation")).to_have_count(0)

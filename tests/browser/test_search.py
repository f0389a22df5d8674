"""The search that every page has; what it answers on the way from the overview: test_questions."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, at_rest, ready

pytestmark = pytest.mark.browser

BARE = {"baseline": "run/breaky.eager", "candidate": "run/breaky.default"}


def _search(page: Page, words: str) -> None:
    # What listens for the key is drawn by the browser after the page has run.
    at_rest(page)
    expect(page.get_by_role("button", name="Search everything")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("dialog", name="Search everything")).to_be_visible()
    page.keyboard.type(words)
    expect(page.get_by_role("option").first).to_be_visible()


def test_traces_without_logs_are_searched_too(dark_page: Page, server: Server) -> None:
    """And on a page without runs a result leads to the overview, beside its dossier."""
    page = dark_page
    page.goto(server.link("modules", **BARE))
    ready(page)
    _search(page, "linear")
    expect(page.get_by_role("option").first).to_contain_text("linear")
    page.keyboard.press("Control+a")
    page.keyboard.type("layer 3")
    dialog = page.get_by_role("dialog", name="Search everything")
    expect(dialog).to_contain_text("No file names modules")
    page.keyboard.press("Escape")
    expect(page.get_by_role("option")).to_have_count(0)
    page.goto(server.link("capture"))
    ready(page)
    _search(page, "bert")
    page.get_by_role("option", name="bert").first.click()
    expect(page).to_have_url(re.compile("baseline=sample.*bert"))


def test_keys_that_come_before_the_box_open_it_and_are_its_words(
    page: Page, server: Server
) -> None:
    """Two of ten presses of "/" did nothing on a slow machine: the page had not run yet."""
    page.goto(server.link("modules", **BARE), wait_until="domcontentloaded")
    page.keyboard.press("/")
    page.keyboard.type("line")
    dialog = page.get_by_role("dialog", name="Search everything")
    expect(dialog).to_be_visible()
    page.keyboard.type("ar")  # they took the place of what came before: it was selected
    expect(dialog.get_by_role("combobox")).to_have_value("linear")
    expect(page.get_by_role("option").first).to_contain_text("linear")
    at_rest(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("option")).to_have_count(0)


def test_a_page_that_a_link_leads_to_begins_at_its_top(page: Page, server: Server) -> None:
    """*Open each group* led to the middle of the map, as far down as the overview was."""
    page.goto(server.link(baseline="sample/bert/eager", candidate="sample/bert/default"))
    ready(page)
    at_rest(page)
    page.add_style_tag(content="[data-testid=stMainBlockContainer] { min-height: 4000px }")
    page.get_by_role("link", name="Open each group").click()
    expect(page.get_by_role("heading", name="Fusion", exact=True)).to_be_visible()
    at_rest(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0


def test_enter_opens_what_was_typed_not_what_the_list_still_shows(
    page: Page, server: Server
) -> None:
    page.goto(server.link("modules", **BARE))
    ready(page)
    _search(page, "linear")
    page.keyboard.press("Control+a")
    page.keyboard.type("gelu")
    page.keyboard.press("Enter")
    title = page.locator(".fs-dossier-title")
    expect(title).to_contain_text("gelu")
    expect(page.get_by_role("dialog", name="Search everything")).to_be_hidden()


def test_the_box_is_not_faded_while_the_page_runs(page: Page, server: Server) -> None:
    """Streamlit draws what is stale at a third: the page was read through "Searching …"."""
    page.goto(server.link("capture"))
    ready(page)
    box = page.locator(".st-key-fs_search [data-stale]").first
    box.evaluate("box => box.style.opacity = 0.33")
    expect(box).to_have_css("opacity", "1")


def test_kernels_of_one_family_are_told_apart(page: Page, server: Server) -> None:
    """Seven of bert read "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize… _kernel__5x_cublas"."""
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(server.link("kernels", **BARE))
    ready(page)
    _search(page, "xmma gemm")
    hits = page.get_by_role("option").filter(has=page.locator(".kind", has_text="kernel"))
    expect(hits).to_have_count(3)
    fronts = hits.locator(".front").evaluate_all(
        "spans => spans.map((span) => [span.textContent, span.scrollWidth <= span.clientWidth])"
    )
    assert all(is_whole for _, is_whole in fronts), fronts
    titles = hits.locator(".title").all_text_contents()
    assert len(set(titles)) == 3, titles

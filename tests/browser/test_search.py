"""Questions about one thing, by one search or two clicks from the overview."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, ready

pytestmark = pytest.mark.browser

BERT = {"baseline": "sample/bert/eager", "candidate": "sample/bert/default"}
BARE = {"baseline": "run/breaky.eager", "candidate": "run/breaky.default"}


def _search(page: Page, words: str) -> None:
    # What listens for the key is drawn by the browser after the page has run.
    expect(page.get_by_role("button", name="Search everything")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("dialog", name="Search everything")).to_be_visible()
    page.keyboard.type(words)
    expect(page.get_by_role("option").first).to_be_visible()


def test_the_code_of_a_layers_norm_and_what_a_layer_gained(page: Page, server: Server) -> None:
    page.goto(server.link(**BERT))
    ready(page)
    _search(page, "layer.3 layernorm attention")
    page.keyboard.press("Enter")
    dossier = page.locator(".st-key-fs_dossier")
    expect(dossier.get_by_text("encoder.layer.3.attention.output.LayerNorm").first).to_be_visible()
    expect(dossier.get_by_text("Generated code", exact=True)).to_be_visible()
    expect(page.get_by_role("option")).to_have_count(0)  # the box is closed

    page.keyboard.press("Control+k")
    page.keyboard.type("layer.7")
    option = page.get_by_role("option").first
    expect(option).to_contain_text("encoder.layer.7")
    option.click()
    expect(dossier.locator(".fs-dossier-answer")).to_contain_text("→")
    expect(dossier.get_by_text("encoder.layer.7", exact=True).first).to_be_visible()


def test_the_most_expensive_operator_is_one_click_away(page: Page, server: Server) -> None:
    page.goto(server.link(**BERT))
    ready(page)
    page.get_by_role("link", name="Most expensive operators").click()
    expect(page.get_by_role("heading", name="Modules", exact=True)).to_be_visible()
    expect(page.get_by_text("linear takes the most of default")).to_be_visible()
    expect(page.get_by_text("operators", exact=True)).to_be_visible()


def test_traces_without_logs_are_searched_too(dark_page: Page, server: Server) -> None:
    """And on a page without runs a result leads to the overview, beside its dossier."""
    page = dark_page
    page.goto(server.link("modules", **BARE))
    ready(page)
    _search(page, "linear")
    expect(page.get_by_role("option").first).to_contain_text("linear")
    page.keyboard.press("Escape")
    expect(page.get_by_role("option")).to_have_count(0)
    page.goto(server.link("capture"))
    ready(page)
    _search(page, "bert")
    page.get_by_role("option", name="bert").first.click()
    expect(page).to_have_url(re.compile("baseline=sample.*bert"))

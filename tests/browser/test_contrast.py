"""Text that Streamlit draws fainter than can be read: contrasts of 4.5 at the least (WCAG)."""

from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from benchmarks.page_matrix import COMPLAINTS
from tests.browser.conftest import Server, at_rest, ready
from tests.browser.experiments import ended_experiment

pytestmark = pytest.mark.browser

Mode = Literal["light", "dark"]


def weak(page: Page) -> list[str]:
    return [complaint for complaint in page.evaluate(COMPLAINTS) if "weak contrast" in complaint]


def test_true_in_code_can_be_read(
    page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had 4.15 in light mode."""
    with ended_experiment(server, monkeypatch) as experiment:
        page.goto(server.link("experiments", experiment=experiment.experiment_id))
        ready(page)
        expect(page.locator(".token.boolean").first).to_have_text("True")
        assert weak(page) == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_what_is_chosen_can_be_read_while_it_is_pointed_at(
    page: Page, server: Server, mode: Mode
) -> None:
    """*Trends* had 4.24 in light mode, on the tint of the pointer."""
    page.emulate_media(color_scheme=mode)
    page.goto(server.link("runs", view="Trends"))
    ready(page)
    chosen = page.get_by_role("radio", name="Trends")
    expect(chosen).to_have_attribute("aria-checked", "true")
    chosen.hover()
    at_rest(page)
    assert not [complaint for complaint in weak(page) if "Trends" in complaint]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_what_cannot_be_chosen_can_be_read(page: Page, server: Server, mode: Mode) -> None:
    """*Hardware counters* had 2.5 in light mode and 3.4 in dark mode where nothing counts."""
    page.emulate_media(color_scheme=mode)
    page.goto(server.link("capture"))
    ready(page)
    box = page.get_by_test_id("stCheckbox").filter(has_text="Hardware counters")
    box.locator("input").evaluate("input => input.disabled = true")
    faint = page.locator("body").evaluate(
        "body => { const text = body.appendChild(document.createElement('i'));"
        " text.style.color = 'var(--fs-muted)'; return getComputedStyle(text).color; }"
    )
    expect(box.locator("p").first).to_have_css("color", faint)

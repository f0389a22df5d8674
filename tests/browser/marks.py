"""Clicking marks of Plotly's figures: a layer of its own lies over them and takes the clicks."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import at_rest


def click_mark(page: Page, mark: Locator, right_px: float = 0) -> None:
    """Click where a mark's middle is, as soon as its figure rests and has told what lies there.

    Args:
        page: of the figure.
        mark: a bar, a point, a box, or the text on it.
        right_px: how far right of the middle.
    """
    mark.scroll_into_view_if_needed()
    at_rest(page)
    box = mark.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2 + right_px, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    expect(page.locator(".hoverlayer .hovertext").first).to_be_visible()
    page.mouse.click(*middle)

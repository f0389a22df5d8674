"""What a window needs a moment for after its page is ready: figures take their width last."""

from collections.abc import Iterator
from contextlib import suppress

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as NotInTime

from tests.browser.conftest import ready

# Opened on a phone, where the menu must be closed, then drawn out and in again.
_WIDTHS = (390, 1920, 1280)


def widths(page: Page, address: str) -> Iterator[int]:
    """Open the address in a narrow window, and say each width that the window is then given."""
    page.set_viewport_size({"width": _WIDTHS[0], "height": 844})
    page.goto(address)
    for width in _WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        ready(page)
        yield width


def content_width(page: Page, width: int, of: str = "html") -> int:
    """How wide the element `of` is, as soon as it is laid out within `width` pixels, or in vain."""
    wide = f"document.querySelector('{of}').scrollWidth"
    with suppress(NotInTime):  # the number says it
        page.wait_for_function(f"{wide} <= {width}")
    return int(page.evaluate(wide))


def expect_to_fit(page: Page, width: int, of: str = "html") -> None:
    """Nothing of the element `of` lies beyond `width` pixels, as soon as all of it is laid out."""
    assert content_width(page, width, of) <= width


_BROKEN_WORDS = """() => [...document.querySelectorAll(".fs-t thead th")].flatMap((head) => {
    const texts = document.createTreeWalker(head, NodeFilter.SHOW_TEXT), broken = [];
    while (texts.nextNode()) {
        for (const word of texts.currentNode.data.matchAll(/[\\p{L}\\d]+/gu)) {
            const range = document.createRange();
            range.setStart(texts.currentNode, word.index);
            range.setEnd(texts.currentNode, word.index + word[0].length);
            const lines = [...range.getClientRects()].map((box) => Math.round(box.top));
            if (new Set(lines).size > 1) broken.push(head.textContent);
        }
    }
    return broken;
})"""


def expect_whole_words_in_heads(page: Page) -> None:
    """The head of no table breaks within a word."""
    assert page.evaluate(_BROKEN_WORDS) == []


_FADES = """() => [...document.querySelectorAll(".fs-scroll, .st-key-fs_map_scroll")]
    .filter((box) => box.checkVisibility()
        && box.scrollWidth > box.clientWidth !== (getComputedStyle(box).maskImage !== "none"))
    .map((box) => `${box.textContent.slice(0, 40)}: ${box.scrollWidth} in ${box.clientWidth}`)"""


def expect_what_is_beyond_an_edge_to_fade(page: Page) -> None:
    """A table or picture that is wider than its place fades there, and no other one does."""
    page.wait_for_function(f"({_FADES})().length === 0")

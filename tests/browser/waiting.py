"""What a window needs a moment for after its page is ready: figures take their width last."""

from contextlib import suppress

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as NotInTime


def expect_to_fit(page: Page, width: int, of: str = "html") -> None:
    """Nothing of the element `of` lies beyond `width` pixels, as soon as all of it is laid out."""
    wide = f"document.querySelector('{of}').scrollWidth"
    with suppress(NotInTime):  # the line below says how wide it is
        page.wait_for_function(f"{wide} <= {width}")
    assert page.evaluate(wide) <= width

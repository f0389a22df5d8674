"""What stands in the timeline's box before its code has come, and without it."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Server

pytestmark = pytest.mark.browser

RUNS = {"baseline": "run/customcnn_b1/eager", "candidate": "run/customcnn_b1/reduce-overhead"}
CODE = "**/static/timeline/main.js"


def test_the_box_says_what_it_waits_for(page: Page, server: Server) -> None:
    """While the code of the canvas was on its way the box was empty, and stayed so without it."""
    held: list[Route] = []
    page.route(CODE, lambda route: held.append(route))  # noqa: PLW0108 - it takes no built-in
    with page.expect_request(CODE):
        page.goto(server.link("timeline", **RUNS))
    waiting = page.locator(".timeline .waiting")
    expect(waiting).to_have_text("Loading the timeline…")
    while not held:
        page.wait_for_timeout(50)
    held[0].fulfill(content_type="text/javascript", body="throw new Error()")
    expect(waiting).to_have_text("The server does not answer. Reload the page.")
    page.unroute(CODE)
    page.goto(server.link("timeline", **RUNS))
    page.locator(".timeline[data-ready]").wait_for()
    expect(waiting).to_have_count(0)

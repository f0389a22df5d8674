"""Deleting a capture and putting it back, in a real browser."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Server, capture_of, ready
from tests.store.history.samples import redated_copy

NEWEST = "2027-01-01T00:00:00Z"

pytestmark = pytest.mark.browser


def test_a_capture_is_deleted_undone_deleted_and_restored(page: Page, server: Server) -> None:
    with capture_of(server, "to-delete") as capture:
        for variant in ("eager", "default"):
            redated_copy(server.home, capture.name, variant=variant, created_at=NEWEST)
        page.goto(server.link("runs"))
        ready(page)
        delete(page)
        assert not capture.exists()
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(row(page)).to_be_visible()
        assert capture.exists()
        delete(page)
        page.reload()
        ready(page)
        page.get_by_text("Deleted (1, ").click()
        restore = page.get_by_role("button", name="Restore", exact=True)
        expect(restore).to_be_visible()
        restore.click()
        expect(row(page)).to_be_visible()
        assert capture.exists()


def row(page: Page) -> Locator:
    return page.locator(".st-key-fs_row_run-to-delete")


def delete(page: Page) -> None:
    row(page).get_by_role("button", name="Delete", exact=True).click()
    page.locator(".st-key-fs_delete_run-to-delete").get_by_role("button").click()
    expect(row(page)).to_have_count(0)
    ready(page)

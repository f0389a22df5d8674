"""A review in a real browser: begin, note, decide, sign, hand on; two people at once."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import (
    CAPTURES,
    Server,
    at_rest,
    capture_of,
    ready,
    watched_page,
)
from tests.browser.waiting import expect_to_fit, widths

pytestmark = pytest.mark.browser

COMPARISON = {"baseline": "run/cnn/eager", "candidate": "run/cnn/reduce-overhead"}
HOSTILE = "<img src=x onerror=alert(1)> **bold**"


@pytest.fixture(scope="module")
def own_server(server: Server) -> Iterator[Server]:
    """The shared dashboard, where nobody else reviews."""
    with capture_of(server, "cnn") as folder:
        for variant in ("eager", "reduce-overhead"):
            shutil.copytree(CAPTURES / f"customcnn_b1.{variant}", folder / variant)
        yield server


def begun(page: Page, server: Server, title: str, runs: dict[str, str] = COMPARISON) -> str:
    """The address of a new review."""
    page.goto(server.link("review", **runs))
    ready(page)
    name = page.get_by_role("textbox", name="Your name")
    name.fill("Ada")
    name.press("Tab")
    at_rest(page)  # what is typed while the page runs may be lost
    field = page.get_by_role("textbox", name="Title").last
    field.fill(title)
    field.press("Tab")
    at_rest(page)
    page.get_by_role("button", name="Begin the review").click()
    page.wait_for_url("**review=2*", timeout=300_000)
    expect(page.get_by_role("heading", level=1)).to_contain_text(title)
    ready(page)
    return page.url


def test_a_review_is_begun_noted_decided_signed_and_found_again(
    browser: Browser, own_server: Server
) -> None:
    for page in watched_page(browser):
        address = begun(page, own_server, "Week 47 · customcnn")
        expect(page.get_by_text("What stands out in reduce-overhead")).to_be_visible()
        told = "".join(page.locator(".fs-rv-side, .fs-finding").all_text_contents())
        assert "\u00a0µs" in told
        assert not re.search(r"\d [mµ]s", told)  # nowhere a line may end before the unit

        text = page.locator(".fs-finding > div").nth(1).bounding_box()
        task = page.locator(".fs-rv-task").first.bounding_box()
        assert text and task
        assert abs(text["x"] - task["x"]) <= 1  # state and owner stand below the finding's words

        page.get_by_role("button", name="Add a note").first.click()
        page.get_by_role("textbox", name="Note").fill(HOSTILE)
        page.get_by_role("button", name="Keep it").click()
        expect(page.locator(".fs-rv-note")).to_contain_text(HOSTILE)
        ready(page)
        # It would lie over the next finding.
        expect(page.get_by_role("textbox", name="Note")).to_have_count(0)

        page.get_by_test_id("stForm").get_by_text("Accept").click()
        page.get_by_role("textbox", name="Summary").fill("Faster at equal results.")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".fs-rv-summary")).to_have_text("Faster at equal results.")
        ready(page)

        sign_off = page.get_by_role("button", name="Sign off")
        sign_off.click()
        # In the dark the accent had a contrast of 4.0 on the grey of an open button.
        expect(sign_off.locator("p").first).to_have_css("color", "rgb(21, 24, 30)")
        page.get_by_role("button", name="Sign", exact=True).click()
        expect(page.locator(".fs-rv-sign")).to_contain_text("Ada")

        page.goto(address)  # cold, as somebody gets it who was sent the link
        ready(page)
        expect(page.locator(".fs-rv-title .fs-chip")).to_have_text("Accept")
        expect(page.locator(".fs-rv-note")).to_contain_text(HOSTILE)
        expect(page.locator(".fs-rv-sign")).to_contain_text("Accept")
        assert page.locator("img[onerror]").count() == 0

        page.get_by_role("button", name="Report").click()
        page.get_by_test_id("stPopoverBody").get_by_text("Markdown").click()
        at_rest(page)  # the button gives what was chosen when the page last ran
        with page.expect_download(timeout=300_000) as download:
            page.get_by_role("button", name="Download the report").click()
        text = Path(download.value.path()).read_text()
        assert f"({address})" in text
        assert "Faster at equal results." in text
        assert "Signed by Ada: accept" in text

        page.goto(own_server.link("review"))
        ready(page)
        row = page.locator(".fs-rv-row", has_text="Week 47 · customcnn")
        expect(row).to_contain_text("1 note · signed by Ada")
        row.get_by_role("link").click()
        page.wait_for_url("**review=2*")


@pytest.fixture
def later_run(own_server: Server) -> Iterator[str]:
    """The run_id of a later, twice as fast run of a pair that lies in the folder `first`."""
    with capture_of(own_server, "first") as first, capture_of(own_server, "later") as later:
        renamed(first / "eager", "2027-01-01T00:00:00Z")
        renamed(first / "reduce-overhead", "2027-01-01T00:00:00Z")
        renamed(later / "reduce-overhead", "2027-01-02T00:00:00Z", faster=2)
        yield "later.reduce-overhead"


def renamed(folder: Path, created_at: str, *, faster: int = 1) -> None:
    """A copy of a run of the small model, with an id, a date and a commit of its own."""
    shutil.copytree(CAPTURES / f"customcnn_b1.{folder.name}", folder)
    path = folder / "run.json"
    run = json.loads(path.read_text())
    run |= {
        "run_id": f"{folder.parent.name}.{folder.name}",
        "capture_id": folder.parent.name,
        "baseline_run_id": None,
        "created_at": created_at,
    }
    run["environment"]["git_commit"] = "abcdef0123456789"
    timed_round = run["measurement"]["rounds"][0]
    run["measurement"]["rounds"] = [
        {**timed_round, "index": n, "wall_ns": (timed_round["wall_ns"] + n) // faster}
        for n in range(10)
    ]
    path.write_text(json.dumps(run))


def test_a_finding_is_assigned_measured_again_and_closed_and_the_run_becomes_the_baseline(
    browser: Browser, own_server: Server, later_run: str
) -> None:
    for page in watched_page(browser):
        runs = {"baseline": "run/first/eager", "candidate": "run/first/reduce-overhead"}
        begun(page, own_server, "Closed with its difference", runs)
        finding = page.locator("[class*=st-key-fs_rv_finding]").first
        expect(finding.locator(".fs-rv-task").first).to_contain_text("no owner yet")

        finding.get_by_role("button", name="Assign").click()
        menu = page.get_by_test_id("stPopoverBody")
        menu.get_by_text("Doing", exact=True).click()
        at_rest(page)
        # No Enter follows: the click on Save is what ends the typing.
        menu.get_by_role("textbox", name="Somebody else").fill(HOSTILE)
        menu.get_by_role("button", name="Save").click()
        expect(finding.locator(".fs-chip").first).to_have_text("Doing")
        expect(finding.locator(".fs-rv-task").first).to_contain_text(HOSTILE)
        assert page.locator("img[onerror]").count() == 0
        ready(page)
        page.keyboard.press("Escape")

        finding.get_by_role("button", name="Re-measure").click()
        expect(menu.locator(".fs-rv-task")).to_contain_text("−50 %")
        run = menu.get_by_role("combobox", name="The run that shows what it brought")
        expect(run).to_have_value(re.compile(r"^reduce-overhead, .*, commit abcdef0, later"))
        menu.get_by_role("button", name="Close with this difference").click()
        expect(finding.locator(".fs-chip").first).to_have_text("Done")
        expect(finding).to_contain_text("95 % interval")
        ready(page)
        page.keyboard.press("Escape")

        page.goto(own_server.link("", baseline="run/later/reduce-overhead"))
        ready(page)
        page.get_by_role("button", name="Keep as baseline").click()
        menu.get_by_role("textbox", name="Name").fill("after the fix")
        menu.get_by_role("textbox", name="Name").press("Tab")
        at_rest(page)
        menu.get_by_role("button", name="Keep as baseline").click()
        expect(page.get_by_test_id("stToast")).to_contain_text(f"is now {later_run}")
        page.goto(own_server.link("runs"))
        ready(page)
        row = page.locator(".st-key-fs_bl_0")
        expect(row).to_contain_text("after the fix")
        expect(row).to_contain_text(later_run)
        row.get_by_role("button", name="Forget").click()
        page.get_by_role("button", name="Forget this baseline").click()
        expect(page.locator(".st-key-fs_bl_0")).to_have_count(0)


def test_who_comes_second_is_told_and_keeps_the_words(browser: Browser, own_server: Server) -> None:
    for page in watched_page(browser):
        address = begun(page, own_server, "Two at once")
        other = page.context.new_page()
        other.goto(address)
        ready(other)
        other.get_by_role("textbox", name="Summary").fill("theirs")
        other.get_by_role("button", name="Save").click()
        expect(other.locator(".fs-rv-summary")).to_have_text("theirs")

        page.get_by_role("textbox", name="Summary").fill("mine")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("changed this review while you wrote")).to_be_visible()
        expect(page.locator(".fs-rv-summary")).to_have_text("theirs")
        expect(page.get_by_role("textbox", name="Summary")).to_have_value("mine")
        page.get_by_role("button", name="Show me theirs to edit").click()
        expect(page.get_by_role("button", name="Show me theirs to edit")).to_have_count(0)
        expect(page.get_by_role("textbox", name="Summary")).to_have_count(1)
        expect(page.get_by_role("textbox", name="Summary")).to_have_value("theirs")
        page.get_by_role("textbox", name="Summary").fill("theirs and mine")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".fs-rv-summary")).to_have_text("theirs and mine")


def test_a_link_to_no_review_is_a_sentence(page: Page, own_server: Server) -> None:
    page.goto(own_server.link("review", review=HOSTILE))
    ready(page)
    expect(page.get_by_text("There is no review")).to_be_visible()
    assert page.locator("img[onerror]").count() == 0


def test_the_page_fits_its_window(page: Page, own_server: Server) -> None:
    for width in widths(page, own_server.link("review", **COMPARISON)):
        expect_to_fit(page, width)

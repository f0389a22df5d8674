"""The capture page in a real browser, with real captures of a tiny model on this machine's CPU."""

import os
import re
import sys
import textwrap
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, at_rest, ready, running_server
from tests.quick_python import variables

pytestmark = [pytest.mark.browser, pytest.mark.torch, pytest.mark.timeout(900)]

# Two processes that import torch and compile, on a busy two-core machine.
CAPTURE_TIMEOUT_MS = 600_000
CANCEL_TIMEOUT_MS = 180_000

TINY = """
    import torch

    def build():
        model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU())
        return model, (torch.randn(8, 16),)

    def broken():
        raise ValueError("no weights here")
"""


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory, quick_python: Path) -> Iterator[Server]:
    """A server with a home of its own: what is captured here is nothing to other tests.

    Its children are forked from a process that has imported torch, unless a test names an
    interpreter.
    """
    home = tmp_path_factory.mktemp("capture-home")
    log = tmp_path_factory.mktemp("capture-server") / "log.txt"
    with running_server(home, log, **variables(quick_python)) as server:
        yield server


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "tiny.py"
    path.write_text(textwrap.dedent(TINY))
    return path


def fill(page: Page, label: str, text: str) -> None:
    field = page.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Tab")
    # The run that this causes begins a moment later, and a text typed meanwhile would be lost.
    at_rest(page)
    # A field with decimals shows them once the run has ended: 0.00 for 0.
    expect(field).to_have_value(re.compile(rf"{re.escape(text)}(\.0+)?"))


def choose_own_code(page: Page, server: Server, code: str) -> None:
    page.goto(server.link("capture"))
    ready(page)
    page.get_by_role("radio", name="My own code").click()
    fill(page, "File and function", code)


def shorten(page: Page) -> None:
    """As little measuring as there can be: the page is tested, not the clock."""
    page.get_by_text("More: backends").click()
    fill(page, "Rounds", "2")
    fill(page, "Steps per round", "2")
    fill(page, "Seconds per round", "0")
    fill(page, "Seconds sampled", "0")
    fill(page, "Profiled steps", "1")
    for label in ("Warm compile time", "Check the answers", "Memory snapshot"):
        page.get_by_test_id("stCheckbox").filter(has_text=label).locator("label").click()
        at_rest(page)


def start(page: Page) -> str:
    """Press the button; returns the job's id from the URL."""
    page.get_by_role("button", name="Start capture").click()
    page.wait_for_url(re.compile(r"[?&]job="))
    return page.url.partition("job=")[2]


def state(page: Page) -> str:
    return page.locator(".fs-job-head .fs-state").inner_text()


def expect_state(page: Page, name: str, timeout_ms: int) -> None:
    expect(page.locator(".fs-job-head .fs-state")).to_have_text(name, timeout=timeout_ms)


def test_a_capture_runs_survives_a_reload_and_ends_in_its_comparison(
    page: Page, own_server: Server, model: Path
) -> None:
    choose_own_code(page, own_server, f"{model}:build")
    shorten(page)
    job_id = start(page)
    expect(page.locator(".fs-phases")).to_contain_text("starting", timeout=CAPTURE_TIMEOUT_MS)

    page.reload()
    ready(page)
    expect(page).to_have_url(re.compile(job_id))
    expect(page.locator(".fs-job-head")).to_contain_text("tiny.py:build")

    # Somebody else, on the bare page, sees it in the list and opens it from there.
    other = page.context.new_page()
    other.goto(own_server.link("capture"), wait_until="commit")
    ready(other)
    other.get_by_role("button", name="tiny.py:build").click()
    expect(other.locator(".fs-job-head")).to_contain_text("tiny.py:build")
    other.close()

    expect_state(page, "finished", CAPTURE_TIMEOUT_MS)
    phases = page.locator(".fs-phases")
    for name in ("eager", "default", "first call", "timing", "profiling"):
        expect(phases).to_contain_text(name)
    page.get_by_text("See the comparison").click()
    page.wait_for_url(re.compile(r"/\?baseline=run%2F.*eager.*candidate=run%2F.*default"))
    ready(page)
    expect(page.get_by_test_id("stMain")).to_contain_text("default")


def test_cancel_stops_it_and_leaves_no_process(page: Page, own_server: Server, model: Path) -> None:
    choose_own_code(page, own_server, f"{model}:build")
    # A forked process has another command line than the one that is looked for below.
    fill(page, "Python environment", sys.prefix)
    start(page)
    expect(page.locator(".fs-phases")).to_contain_text("starting", timeout=CAPTURE_TIMEOUT_MS)
    page.get_by_role("button", name="Cancel").click()
    expect_state(page, "cancelled", CANCEL_TIMEOUT_MS)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    # The supervisor writes how it ended, then ends itself.
    deadline = time.monotonic() + CANCEL_TIMEOUT_MS / 1000
    while processes_of(own_server.home) and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    assert processes_of(own_server.home) == []


def test_an_error_in_the_users_code_is_one_sentence(
    page: Page, own_server: Server, model: Path
) -> None:
    choose_own_code(page, own_server, f"{model}:broken")
    start(page)
    expect_state(page, "failed", CAPTURE_TIMEOUT_MS)
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("no weights here")
    expect(main).not_to_contain_text("Traceback")
    # Where it came from stands in torch's log, to which the sentence leads.
    main.get_by_text("The end of torch_logs.txt of eager").click()
    expect(main.locator(".fs-log").filter(has_text="in broken").first).to_be_visible()


def test_a_wrong_path_is_said_beside_the_field(page: Page, own_server: Server, model: Path) -> None:
    choose_own_code(page, own_server, "tiny.py")
    for code, sentence in (
        ("tiny.py", "does not name a function in a file"),
        ("/nowhere/tiny.py:build", "/nowhere/tiny.py cannot be read"),
        (f"{model}:biuld", "has no function biuld. It has build."),
    ):
        fill(page, "File and function", code)
        expect(page.get_by_role("alert")).to_contain_text(sentence)
        expect(page.get_by_role("button", name="Start capture")).to_be_disabled()


def test_the_form_writes_the_command_of_a_sweep(page: Page, own_server: Server) -> None:
    page.goto(own_server.link("capture"))
    at_rest(page)  # what the interpreter offers comes later and draws the page once more
    page.get_by_role("combobox", name="Repeat for several values").click()
    page.get_by_role("option", name="batch size").click()
    values = page.get_by_role("textbox", name="Values")
    values.fill("1,x")
    values.press("Enter")
    expect(page.get_by_role("alert").get_by_text("'x' is not a batch size")).to_be_visible()
    at_rest(page)
    values.fill("1, 8")
    values.press("Enter")
    expect(page.get_by_text("--sweep=batch-size=1,8")).to_be_visible()


def test_an_environment_says_what_it_offers_or_why_it_cannot_be_used_before_anything_starts(
    page: Page, own_server: Server, tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    page.goto(own_server.link("capture"))
    at_rest(page)
    for named, sentence in (
        (tmp_path / "venv", "torch is not installed. Name the folder of an environment"),
        (tmp_path / "none", f"The interpreter {tmp_path}/none does not exist."),
    ):
        at_rest(page)  # what is typed while the page runs may be lost
        fill(page, "Python environment", str(named))
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text(sentence, timeout=CAPTURE_TIMEOUT_MS)
        expect(page.get_by_role("button", name="Start capture")).to_be_disabled()
        # The answer draws the whole page once more, and a text typed meanwhile would be lost.
        at_rest(page)
    main = page.get_by_test_id("stMain")
    expect(main).not_to_contain_text("Traceback")
    fill(page, "Python environment", sys.prefix)
    expect(main).to_contain_text("offers torch.compile, trace", timeout=CAPTURE_TIMEOUT_MS)
    expect(main).to_contain_text("This environment")
    expect(page.get_by_role("button", name="Start capture")).to_be_enabled()
    expect(page.locator("pre, code").filter(has_text="profiler_core").first).to_contain_text(
        f"--python={sys.prefix}"
    )


def test_a_job_that_is_not_there_is_said(page: Page, own_server: Server) -> None:
    page.goto(own_server.link("capture", job="20200101-000000-abcdef"))
    ready(page)
    expect(page.get_by_test_id("stMain")).to_contain_text("There is no job 20200101-000000-abcdef")


def processes_of(home: Path) -> list[str]:
    """Command lines of processes that work for a job or a run below this home (Linux)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if str(home) in command and int(entry.name) != os.getpid():
            found.append(command)
    return found

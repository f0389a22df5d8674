"""A server of its own, a real browser, and a page that fails its test on any script error.

Runs to look at are copies of the small captures in tests/fixtures/captures. Nothing sleeps: the
server is polled, pages are waited for by what they say about themselves.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    StorageState,
    expect,
    sync_playwright,
)

from profiler_core.store.private_file import write_private
from profiler_core.ui.own_machine.cookie import cookie_name, new_cookie
from tests.browser import chromium
from tests.quick_python import QUICK_COMPILER, variables

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "tests" / "fixtures" / "captures"

START_TIMEOUT_S = 300.0
PAGE_TIMEOUT_MS = 180_000

# The key of every test's home, so that one cookie opens every dashboard.
KEY = bytes(range(32))

WINDOW: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"}
# What a page may have left behind; not the scripts that the browser has read and compiled.
STORAGES = "local_storage,indexeddb,cache_storage,service_workers,file_systems"

# Where a dashboard of this process has listened: at an address that the browser knows it finds
# the scripts compiled already, so the next dashboard listens there again.
_PORTS: list[int] = []

# Browsers whose tab a test has, or one that failed has left behind.
_TAKEN: WeakSet[Browser] = WeakSet()

# What a browser reports although the page is right, by message or address. Keep it short.
HARMLESS: tuple[str, ...] = (
    # The pages of the sign-in's provider have no icon; ours is at another address.
    "/favicon.ico",
)


@dataclass(frozen=True)
class Server:
    """A running dashboard."""

    url: str
    home: Path
    log: Path

    def link(self, page: str = "", **query: str | list[str]) -> str:
        """The address of a page; the overview is "" and answers at "/" only."""
        from urllib.parse import urlencode

        return f"{self.url}/{page}" + (f"?{urlencode(query, doseq=True)}" if query else "")


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _port_of_a_dashboard() -> int:
    for port in _PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    _PORTS.append(free_port())
    return _PORTS[-1]


# Five seconds are too few where two cores also run a capture; a real failure still ends.
expect.set_options(timeout=120_000)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, columns: Path) -> Path:
    """FUSIONSCOPE_HOME of the server, with every fixture capture as a run of this user."""
    home = tmp_path_factory.mktemp("home")
    (home / "cache").symlink_to(columns)
    for capture in sorted(CAPTURES.iterdir()):
        if capture.is_dir():
            shutil.copytree(capture, home / "runs" / capture.name)
    return home


@pytest.fixture(scope="session")
def server(
    home: Path, tmp_path_factory: pytest.TempPathFactory, quick_python: Path
) -> Iterator[Server]:
    """One dashboard for the whole session; its log is shown where it does not start."""
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with running_server(home, log, **variables(quick_python)) as server:
        yield server


@contextmanager
def capture_of(server: Server, name: str) -> Iterator[Path]:
    """A folder for runs in the home of the shared dashboard; gone when the block ends."""
    folder = server.home / "runs" / name
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder)


def without_uploads(server: Server) -> None:
    """Forget what was uploaded to the shared dashboard."""
    shutil.rmtree(server.home / "uploads", ignore_errors=True)


@contextmanager
def running_server(
    home: Path, log: Path, app: Path = ROOT / "app.py", **environment: str
) -> Iterator[Server]:
    """A dashboard over `home`; tests that write into a home start one of their own."""
    port = _port_of_a_dashboard()
    let_the_browser_in(home)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [
                *(
                    environment.get("QUICK_PYTHON", sys.executable),
                    "-m",
                    "streamlit",
                    "run",
                    str(app),
                ),
                *("--server.headless=true", f"--server.port={port}"),
                "--server.fileWatcherType=none",
            ],
            # Not the checkout: the app must not depend on where it is started from.
            cwd=log.parent,
            env={
                **os.environ,
                **QUICK_COMPILER,
                **environment,
                "FUSIONSCOPE_HOME": str(home),
            },
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://localhost:{port}"
            _wait_until_healthy(url, process, log)
            yield Server(url, home, log)
        finally:
            process.terminate()
            process.wait(20)


def let_the_browser_in(home: Path) -> None:
    """Make the cookie of the `browser` fixture good for the dashboard over this home."""
    write_private(home / "server.key", KEY)


def signed_in_state(home: Path) -> StorageState:
    """What a browser holds that opened the link of the dashboard over `home`."""
    let_the_browser_in(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(home))
        cookie = {"name": cookie_name(), "value": new_cookie(), "domain": "localhost", "path": "/"}
    return {"cookies": [cookie], "origins": []}


@cache
def _let_in() -> StorageState:
    with tempfile.TemporaryDirectory() as home:
        return signed_in_state(Path(home))


@pytest.fixture(scope="session")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the browser keeps the scripts that it has compiled: four seconds of a core.

    A worker comes back to this package after files of others, with a new browser each time.
    """
    return tmp_path_factory.mktemp("profile")


# Not scope="session": Playwright keeps an event loop running in this thread as long as it lives,
# and the tests of other packages start their own.
@pytest.fixture(scope="package")
def browser(profile: Path) -> Iterator[Browser]:
    """Chrome or Chromium. None on this machine is a failure, never a skip.

    Each of its windows is let into every dashboard of these tests; tests/attack has the door.
    """
    try:
        path = chromium.find()
    except chromium.NoBrowser as error:
        pytest.fail(str(error))
    with sync_playwright() as playwright:
        kept = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=path,
            args=[
                # /dev/shm is small in containers; one colour profile makes pixels comparable.
                *("--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"),
                # A page lives for seconds: to optimise its scripts is a fifth of its cost.
                "--js-flags=--no-opt --no-maglev",
            ],
            **WINDOW,
        )
        browser = kept.browser
        assert browser is not None
        browser.new_context = partial(browser.new_context, storage_state=_let_in())
        kept.clear_cookies()  # of a test that failed
        yield browser
        kept.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh tab in light mode. The test fails on any exception or console error in it."""
    yield from watched_page(browser)


@pytest.fixture
def dark_page(browser: Browser) -> Iterator[Page]:
    """The same in dark mode."""
    yield from watched_page(browser, color_scheme="dark")


@pytest.fixture(scope="class")
def page_of_class(browser: Browser) -> Iterator[Page]:
    """One such tab for all tests of a class: an opened page is more than a second of a core."""
    yield from watched_page(browser)


def watched_page(browser: Browser, color_scheme: str = "light") -> Iterator[Page]:
    """Open a tab; after the test, fail if its scripts complained."""
    with empty_tab(browser) as page:
        page.context.set_default_timeout(PAGE_TIMEOUT_MS)
        page.emulate_media(color_scheme=color_scheme)
        complaints: list[str] = []

        def note(message: ConsoleMessage) -> None:
            about = f"{message.text} {message.location.get('url', '')}"
            if message.type == "error" and not any(text in about for text in HARMLESS):
                complaints.append(about)

        def note_error(error: Error) -> None:
            complaints.append(str(error))

        page.on("console", note)
        page.on("pageerror", note_error)
        yield page
        page.remove_listener("console", note)
        page.remove_listener("pageerror", note_error)
    assert not complaints, complaints


@contextmanager
def empty_tab(browser: Browser) -> Iterator[Page]:
    """The tab of the context with the profile, as if it were new.

    It is the same one again and again: its process has Streamlit's client compiled, which a new
    process does anew, for two seconds of a core per page. A second tab at a time, and one after a
    test that failed, is in a context of its own.
    """
    kept = browser.contexts[0]
    tab = kept.pages[0]
    if browser in _TAKEN:
        context = browser.new_context(**WINDOW)
        yield context.new_page()
        context.close()
        return
    _TAKEN.add(browser)
    kept.add_cookies(_let_in()["cookies"])
    tab.set_viewport_size(WINDOW["viewport"])
    yield tab
    # Not reached by a test that fails.
    devtools = kept.new_cdp_session(tab)
    for page in kept.pages:
        origin = page.evaluate("location.origin")
        if origin.startswith("http"):
            page.evaluate("sessionStorage.clear()")
        if page is tab:
            page.mouse.move(0, 0)
            page.goto("about:blank")
        else:
            page.close()
        if origin.startswith("http"):
            devtools.send(
                "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": STORAGES}
            )
    devtools.send("Page.resetNavigationHistory")
    devtools.detach()
    kept.clear_cookies()
    kept.unroute_all()
    tab.unroute_all()
    _TAKEN.remove(browser)


def ready(page: Page) -> None:
    """Wait until the script behind the page has run to its end, and shows no exception.

    A page that has just been opened says that nothing runs until its first run has begun, so
    something must have been drawn before. A list opened while that run still draws is closed by it.
    """
    drawn = page.get_by_test_id("stMain").get_by_test_id("stElementContainer")
    drawn.first.wait_for(state="attached", timeout=2 * PAGE_TIMEOUT_MS)
    expect(page.get_by_test_id("stApp")).to_have_attribute(
        "data-test-script-state", "notRunning", timeout=PAGE_TIMEOUT_MS
    )
    # What still stands in for code or a figure grows when that comes, and moves what is below it.
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)


# Asked within the page: from here, each look is a message through three processes.
_QUIET_FOR_A_SECOND = """(within_s) => new Promise((resolve) => {
    const begin = performance.now();
    let quietSince = begin;
    const timer = setInterval(() => {
        const app = document.querySelector("[data-testid=stApp]");
        const now = performance.now();
        if (app?.dataset.testScriptState !== "notRunning") quietSince = now;
        if (now - quietSince < 1000 && now - begin < within_s * 1000) return;
        clearInterval(timer);
        resolve();
    }, 50);
})"""


def at_rest(page: Page) -> None:
    """Wait until no script has run for a second: a run begins a moment after what caused it.

    To be used where the next step is to open a list: one that is open is drawn anew by a run, and
    a click on its old options is lost.
    """
    deadline = time.monotonic() + PAGE_TIMEOUT_MS / 1000
    while time.monotonic() < deadline:
        with suppress(Error):  # the page was left meanwhile
            page.evaluate(_QUIET_FOR_A_SECOND, deadline - time.monotonic())
            break
    ready(page)


def _wait_until_healthy(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"The server ended with {process.returncode}:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"The server was not healthy within {START_TIMEOUT_S} s:\n{log.read_text()}")

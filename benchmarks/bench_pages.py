"""What a person waits for in a real browser.

    python -m benchmarks.bench_pages [--mb 1000] [--runs 3]

For each page: a server started anew, a browser window without a cache, the address of the page
opened, until its first figure is drawn and until its script has ended. The page itself notes in
which frame it is drawn: Playwright looks five times in a third of a second, then twice a second,
and told up to a second too much where a library was read meanwhile. `wall` is what a person waits,
and means something on an idle machine only; `server CPU` is the server's own processor time for
that visit, its start left out, `browser CPU` that of the browser's processes. Large are the eager
and the compiled shipped ResNet-50, repeated (see make_traces). The columns of all traces
are in the cache before; seen before are pages whose answers another server has kept beside them,
for the others these are removed.
"""

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.make_traces import repeat
from tests.browser import chromium
from tests.browser.conftest import Server, running_server, signed_in_state

ROOT = Path(__file__).resolve().parents[1]
LARGE = "resnet50-large"
VARIANTS = ("eager", "default")
_TIMEOUT_MS = 600_000
_QUIET_S = 20.0

# What says that a page has drawn its first figure.
PAGES = {"": ".fs-steps-bar", "fusion": ".st-key-fusion_map .strip", "timeline": "canvas"}

# Notes in `first_drawn` when the frame had ended in which the figure was there, ms since 1970.
_WATCH = """
(() => {
  const isThere = (box) => box && box.width > 0 && box.height > 0;
  const within = (root, name) => root?.querySelector(name) ?? [...root?.querySelectorAll("*") ?? []]
    .map((host) => host.shadowRoot && within(host.shadowRoot, name)).find(Boolean);
  const look = () => {
    const figure = SELECTOR.split(" ").reduce(within, document);
    if (isThere(figure?.getBoundingClientRect()) && figure.checkVisibility())
      requestAnimationFrame(() => { window.first_drawn = Date.now(); });
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()
"""


@dataclass(frozen=True)
class Visit:
    """A first view of a page. Seconds from opening the address; processor seconds of the server."""

    first_figure_s: float
    finished_s: float
    server_cpu_s: float
    browser_cpu_s: float
    server_peak_bytes: int


def main() -> None:
    """Print a table of visits and a table of sessions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=1000, help="of each large trace, unpacked")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--home", type=Path, help="keep the large traces here for the next time")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = arguments.home or Path(scratch) / "home"
        if arguments.mb:
            make_large_runs(home, arguments.mb)
        home.mkdir(parents=True, exist_ok=True)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
        with real_browser() as browser:
            _print_visits(browser, home, arguments.runs, large=bool(arguments.mb))


def make_large_runs(home: Path, mb: int) -> None:
    """The shipped ResNet-50 pair repeated, unless it is there, and read into the cache."""
    capture = home / "runs" / LARGE
    if not capture.exists():
        shutil.copytree(ROOT / "sample_traces" / "resnet50", capture)
        for folder in capture.iterdir():
            if folder.is_dir() and folder.name not in VARIANTS:
                shutil.rmtree(folder)
        for variant in VARIANTS:
            packed, plain = capture / variant / "trace.json.gz", capture / variant / "plain"
            repeat(packed, plain, mb * 1_000_000)
            with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
                shutil.copyfileobj(source, target, 1 << 22)
            plain.unlink()
    for variant in VARIANTS:
        for module in ("profiler_core.ingest", "profiler_core.timeline"):
            subprocess.run(
                [sys.executable, "-m", module, str(capture / variant / "trace.json.gz")],
                env={**os.environ, "FUSIONSCOPE_HOME": str(home)},
                stdout=subprocess.DEVNULL,
                check=True,
            )


@contextmanager
def real_browser() -> Iterator[Browser]:
    """The browser of the tests, without a cache."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.find(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@contextmanager
def fresh_window(browser: Browser, home: Path) -> Iterator[Page]:
    """A window without a cache that is let into the servers over `home`."""
    context = browser.new_context(
        storage_state=signed_in_state(home), viewport={"width": 1440, "height": 900}
    )
    context.set_default_timeout(_TIMEOUT_MS)
    yield context.new_page()
    context.close()


@contextmanager
def web_process(home: Path) -> Iterator[tuple[Server, psutil.Process]]:
    """A server started anew, and its process."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(home, Path(folder) / "log") as server,
    ):
        port = server.url.rpartition(":")[2]
        process = next(
            child
            for child in psutil.Process().children()
            if any(port in argument for argument in child.cmdline())
        )
        yield server, process


def visit(browser: Browser, home: Path, page: str, runs: dict[str, str]) -> Visit:
    """A first view of a page by the first visitor of a server."""
    with web_process(home) as (server, process), fresh_window(browser, home) as window:
        until_quiet(process)
        cpu_before, browser_before = _cpu_s(process), _browser_cpu_s()
        window.add_init_script(_WATCH.replace("SELECTOR", json.dumps(PAGES[page])))
        begin = time.time()
        window.goto(server.link(page, **runs))
        window.wait_for_function("window.first_drawn")
        _until_finished(window)
        finished_s = time.time() - begin
        first_figure_s = window.evaluate("window.first_drawn") / 1000 - begin
        cpu_s, browser_cpu_s = _cpu_s(process) - cpu_before, _browser_cpu_s() - browser_before
        peak_bytes = resident_peak(process)
    return Visit(first_figure_s, finished_s, cpu_s, browser_cpu_s, peak_bytes)


def _until_finished(window: Page) -> None:
    window.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    window.wait_for_function("!document.querySelector('[data-testid=\"stSkeleton\"]')")


def until_quiet(process: psutil.Process) -> None:
    """What the server does by itself after its start is not the visitor's."""
    before, deadline = _cpu_s(process), time.monotonic() + _QUIET_S
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now = _cpu_s(process)
        if now - before < 0.02:
            return
        before = now


def _cpu_s(process: psutil.Process) -> float:
    """User and system time of the process and of its children that have ended."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def _browser_cpu_s() -> float:
    """Processor time of the browser's processes; that of a window is there until it closes."""
    seconds = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            if "chrom" in child.name():
                seconds += sum(child.cpu_times()[:2])
        except psutil.Error:  # ended meanwhile
            continue
    return seconds


def _forget_answers(home: Path) -> None:
    for folder in (home / "cache" / "traces").glob("*/answers"):
        shutil.rmtree(folder)


def resident_peak(process: psutil.Process) -> int:
    """Most resident memory that the process had, bytes; that of now where it is not Linux."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:  # not Linux
        return int(process.memory_info().rss)
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _print_visits(browser: Browser, home: Path, n_runs: int, *, large: bool) -> None:
    pairs = {"sample": ("sample/resnet50/eager", "sample/resnet50/default")}
    if large:
        pairs["large"] = (f"run/{LARGE}/eager", f"run/{LARGE}/default")
    print(
        "| traces | page | seen before | first figure, wall s | finished, wall s | server CPU s "
        "| browser CPU s | peak MB |\n|---|---|---|---|---|---|---|---|"
    )
    for name, (baseline, candidate) in pairs.items():
        runs: dict[str, Any] = {"baseline": baseline, "candidate": candidate}
        visit(browser, home, "", runs)  # not counted: the sample's columns come into the cache
        for page in PAGES:
            for seen_before in (False, True):
                visits = []
                for _ in range(n_runs):
                    if not seen_before:
                        _forget_answers(home)
                    visits.append(visit(browser, home, page, runs))
                _print_row([name, page or "overview", "yes" if seen_before else "no"], visits)


def _print_row(named: list[str], visits: list[Visit]) -> None:
    fields = ("first_figure_s", "finished_s", "server_cpu_s", "browser_cpu_s")
    cells = [f"{_median(visits, field):.2f}" for field in fields]
    peak = f"{max(visit.server_peak_bytes for visit in visits) / 1e6:.0f}"
    print(f"| {' | '.join([*named, *cells, peak])} |", flush=True)


def _median(visits: list[Visit], field: str) -> float:
    return statistics.median(getattr(visit, field) for visit in visits)


if __name__ == "__main__":
    main()

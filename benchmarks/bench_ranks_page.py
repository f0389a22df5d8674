"""The page *Ranks* over many ranks, in a real browser: seconds and memory of its first views.

    python -m benchmarks.bench_ranks_page [N_RANKS …] [--shots FOLDER]    64 by default

The ranks of bench_ranks, opened as a folder below the server's. First: nothing of them was read
before. Again: the next visitor of the same server. New server: on what the first one kept. Peak
memory is resident memory of the web process by itself, and of it with all processes that it
started at one moment. What was planted must be said: which rank is late, and which link is slow.
"""

import argparse
import re
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from playwright.sync_api import Browser, Page, expect

from benchmarks.bench_pages import (
    fresh_window,
    real_browser,
    resident_peak,
    until_quiet,
    web_process,
)
from benchmarks.bench_ranks import Job, make_ranks
from tests.browser.conftest import Server, at_rest, ready

_TIMEOUT_MS = 2_400_000
_LOOK_EVERY_S = 1.0


@dataclass(frozen=True)
class View:
    """Seconds from opening the address until the headline is there, and until all is drawn."""

    headline_s: float
    finished_s: float
    cpu_s: float  # of the server and its workers
    web_peak_bytes: int
    all_peak_bytes: int


class Watched:
    """A server and all that it started: processor seconds, most resident memory of all looks."""

    def __init__(self, process: psutil.Process, home: Path) -> None:
        self.peak_bytes = 0
        self._process, self._home, self._is_over = process, str(home), threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._cpu_s: dict[int, float] = {}  # by process, as it was seen last
        self._look()
        self._before_s = sum(self._cpu_s.values())

    @property
    def cpu_s(self) -> float:
        """Since this was made; of a process that ended up to the last look at it."""
        return sum(self._cpu_s.values()) - self._before_s

    def __enter__(self) -> "Watched":
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._watcher.join()
        self._look()

    def _watch(self) -> None:
        while not self._is_over.wait(_LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        total = 0
        for process in self._processes():
            try:
                self._cpu_s[process.pid] = sum(process.cpu_times()[:2])
                total += process.memory_info().rss
            except psutil.Error:  # ended meanwhile
                continue
        self.peak_bytes = max(self.peak_bytes, total)

    def _processes(self) -> set[psutil.Process]:
        """Jobs have supervisors, which nobody is the parent of: they name a folder of the home."""
        of_home = [
            process
            for process in psutil.process_iter(["cmdline"])
            if any(self._home in word for word in process.info["cmdline"] or ())
        ]
        roots = [self._process, *of_home]
        below = set(roots)
        for root in roots:
            with suppress(psutil.Error):  # ended meanwhile
                below.update(root.children(recursive=True))
        return below


def view(page: Page, server: Server, process: psutil.Process, folder: Path) -> View:
    """Open the page of the ranks in a folder."""
    begin = time.perf_counter()
    with Watched(process, server.home) as watched:
        page.goto(server.link("ranks", baseline=f"path{folder}"))
        expect(page.get_by_role("heading", level=1).first).to_contain_text(
            re.compile("rank", re.IGNORECASE), timeout=_TIMEOUT_MS
        )
        headline_s = time.perf_counter() - begin
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        ready(page)
        at_rest(page)
        finished_s = time.perf_counter() - begin
    web_peak_bytes = resident_peak(process)
    return View(
        headline_s,
        finished_s,
        watched.cpu_s,
        web_peak_bytes,
        max(web_peak_bytes, watched.peak_bytes),
    )


def measure_views(browser: Browser, scratch: Path, n: int, shots: Path | None) -> None:
    """Print a row for each view of a job of n ranks."""
    folder, home = scratch / f"ranks{n}", scratch / f"home{n}"
    folder.mkdir()
    home.mkdir()
    (home / "settings.toml").write_text(f'open_below = ["{scratch}"]\n')
    made = make_ranks(folder, n)
    for names in (("first", "again"), ("new server",)):
        with web_process(home) as (server, process):
            until_quiet(process)
            for name in names:
                with fresh_window(browser, home) as page:
                    page.set_default_timeout(_TIMEOUT_MS)
                    seen = view(page, server, process, folder)
                    _print_row(n, name, seen)
                    if shots:
                        page.screenshot(path=shots / f"{n}-{name.replace(' ', '-')}.png")
                        _shoot_whole(page, shots / f"{n}-{name.replace(' ', '-')}-whole.png")
                    _check(page, made)


def _shoot_whole(page: Page, path: Path) -> None:
    """All of the page, which scrolls inside of its window."""
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": size["width"], "height": int(height) + 80})
    at_rest(page)
    page.screenshot(path=path)
    page.set_viewport_size(size)


def _check(page: Page, made: Job) -> None:
    heading = page.get_by_role("heading", level=1).first
    expect(heading).to_contain_text(re.compile(rf"\brank\s{made.slow_rank}\b"))
    group = ",".join(map(str, made.slow_group))
    text = page.get_by_test_id("stMain").inner_text()
    assert f"The slowest link: all-reduce between ranks {group}" in text, (
        "the slow link is not said"
    )
    assert "in turn" not in text, "a late rank is named, and 'wait for each other in turn' is said"


def _print_row(n: int, name: str, seen: View) -> None:
    print(
        f"| {n} | {name} | {seen.headline_s:.1f} s | {seen.finished_s:.1f} s | {seen.cpu_s:.1f} s "
        f"| {seen.web_peak_bytes / 1e6:.0f} MB | {seen.all_peak_bytes / 1e6:.0f} MB |",
        flush=True,
    )


def main() -> None:
    """Print a table of views."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ranks", nargs="*", type=int, default=[64])
    parser.add_argument("--shots", type=Path, help="where screenshots go")
    arguments = parser.parse_args()
    print(
        "| ranks | view | headline | all drawn | server CPU | web process, peak "
        "| with its workers, peak |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as scratch, real_browser() as browser:
        for n in arguments.ranks:
            measure_views(browser, Path(scratch), n, arguments.shots)


if __name__ == "__main__":
    main()

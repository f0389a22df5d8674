"""What lists cost where ten thousand runs lie: the web process's CPU for each click, its memory.

    python -m benchmarks.bench_library [--captures 2000] [--variants 5] [--sessions 1 20] [--home H]

Makes a home of so many captures (large_library.py), starts the dashboard over it, and opens
sessions that speak Streamlit's protocol (sessions.py). Each opens *Overview*, *Runs* and *Trends*
and runs their scripts again as clicks do, all sessions at once. `CPU` is the web process's own
processor time over the number of clicks, `first` that of a page nobody has seen since the start.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from benchmarks.large_library import make_library
from benchmarks.sessions import Session
from profiler_core.store.history import database
from tests.browser.conftest import running_server, signed_in_state

PAGES = {
    "Overview": ("", ""),
    "Runs": ("runs", ""),
    "Runs, a search": ("runs", "find=model+7+h200"),
    "Runs, page 60": ("runs", "captures=60"),
    "Trends": ("runs", "view=Trends"),
    "Sweeps": ("sweep", ""),
    "Review": ("review", ""),
}
_CLICKS = 5
_QUIET_S = 5.0


def main() -> None:
    """Make the library, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=2000)
    parser.add_argument("--variants", type=int, default=5)
    parser.add_argument("--sessions", type=int, nargs="*", default=[1, 20])
    parser.add_argument("--home", type=Path, help="keep the library here for the next time")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = (arguments.home or Path(scratch) / "home").resolve()
        os.environ["FUSIONSCOPE_HOME"] = str(home)
        if not home.exists():
            make_library(home, arguments.captures, arguments.variants)
            database.close_all()
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
        for n_sessions in arguments.sessions:
            _print_sessions(home, Path(scratch) / "log.txt", n_sessions)


def _print_sessions(home: Path, log: Path, n_sessions: int) -> None:
    print(f"\n| {n_sessions} sessions | first, CPU s | a click, CPU s | kB sent | memory, MB |")
    print("|---|---|---|---|---|")
    with _server(home, log) as (url, process), ExitStack() as tabs:
        cookie = _cookie(home)
        for title, (page, query) in PAGES.items():
            tabs.close()  # a widget has its value from the address in a session's first run alone
            sessions = [tabs.enter_context(Session(url, cookie)) for _ in range(n_sessions)]
            before = _cpu_s(process)
            n_bytes = sessions[0].show(page, query)
            first_s = _cpu_s(process) - before
            _each(sessions, page, query)  # a page that this session has not seen
            before = _cpu_s(process)
            for _ in range(_CLICKS):
                _each(sessions, page, query)
            click_s = (_cpu_s(process) - before) / (_CLICKS * n_sessions)
            megabytes = process.memory_info().rss / 1e6
            print(
                f"| {title} | {first_s:.2f} | {click_s:.3f} | {n_bytes / 1e3:.0f} "
                f"| {megabytes:.0f} |",
                flush=True,
            )


def _each(sessions: Sequence[Session], page: str, query: str) -> None:
    with ThreadPoolExecutor(len(sessions)) as pool:
        list(pool.map(lambda session: session.show(page, query), sessions))


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _cookie(home: Path) -> str:
    (cookie,) = signed_in_state(home)["cookies"]
    return f"{cookie['name']}={cookie['value']}"


@contextmanager
def _server(home: Path, log: Path) -> Iterator[tuple[str, psutil.Process]]:
    """The dashboard, once it has done what it does at its start."""
    children_before = set(psutil.Process().children())
    with running_server(home, log) as server:
        (process,) = set(psutil.Process().children()) - children_before
        quiet_since, last = time.monotonic(), _cpu_s(process)
        while time.monotonic() - quiet_since < _QUIET_S:
            time.sleep(0.5)
            if _cpu_s(process) - last > 0.05:
                quiet_since = time.monotonic()
            last = _cpu_s(process)
        yield server.url, process


if __name__ == "__main__":
    main()

"""The reader of /proc against made-up files, and against this process."""

import os
import time

import pytest

from profiler_core.capture.telemetry.host import HostReader, host_or_reason

TICK_NS = round(1e9 / os.sysconf("SC_CLK_TCK"))
PAGE = os.sysconf("SC_PAGE_SIZE")

linux = pytest.mark.skipif(bool(host_or_reason()), reason=host_or_reason() or "no /proc")


def stat(folder, user, system=0, threads=1, pages=0):
    """A stat file whose name holds what would confuse a naive reader."""
    fields = ["S", *"0" * 10, str(user), str(system), *"0" * 4, str(threads), *"0" * 3, str(pages)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(f"7 (a) b (c) {' '.join(fields)}\n")


@pytest.fixture
def proc(tmp_path):
    (tmp_path / "stat").write_text("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3\n")
    stat(tmp_path / "7", 30, 12, threads=2, pages=5)
    stat(tmp_path / "7/task/7", 20, 2)
    stat(tmp_path / "7/task/8", 10, 10)
    (tmp_path / "7/task/7/children").write_text("9 ")
    stat(tmp_path / "9", 8, 0, threads=1, pages=1)
    stat(tmp_path / "9/task/9", 8)
    return tmp_path


@linux
def test_a_process_counts_with_what_it_started(proc):
    row = HostReader(7, proc)(5)
    assert row["t_ns"] == 5
    assert row["cpu_ns"] == (30 + 12 + 8) * TICK_NS
    assert row["rss_bytes"] == 6 * PAGE
    assert (row["n_threads"], row["n_processes"]) == (3, 2)
    assert row["host_busy_ns"] == 150 * TICK_NS
    assert row["n_cpus"] == os.cpu_count()


@linux
def test_the_busiest_thread_adds_up_what_the_busiest_ones_ran(proc):
    read = HostReader(7, proc)
    assert read(0)["busiest_thread_ns"] is None
    stat(proc / "7/task/7", 25, 2)  # ran 5
    stat(proc / "7/task/8", 19, 10)  # ran 9
    assert read(1)["busiest_thread_ns"] == 9 * TICK_NS
    stat(proc / "7/task/7", 29, 2)
    assert read(2)["busiest_thread_ns"] == 13 * TICK_NS


@linux
def test_a_process_that_is_gone_gives_no_row(proc):
    assert HostReader(12345, proc)(0) is None


@linux
def test_this_process_at_work_uses_a_core():
    read = HostReader(os.getpid())
    before = read(0)
    deadline = time.monotonic() + 20
    while time.process_time() < before["cpu_ns"] / 1e9 + 0.3 and time.monotonic() < deadline:
        sum(range(10_000))
    after = read(1)
    assert after["cpu_ns"] - before["cpu_ns"] >= 0.2e9
    assert after["busiest_thread_ns"] >= 0.2e9

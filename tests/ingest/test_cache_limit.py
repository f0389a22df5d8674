"""The cache stays below its limit: least recently used first, never what is in use."""

import fcntl
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from profiler_core.ingest import cache_limit
from profiler_core.ingest import open as door
from profiler_core.ingest.cache_limit import Hold, cache_bytes, keep_within_limit, limit_bytes
from profiler_core.settings import FILE
from tests.ingest.test_quirks import FIXTURES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "cache" / "traces").mkdir(parents=True)
    return tmp_path / "home"


def allow(home: Path, n_bytes: int) -> None:
    (home / FILE).write_text(f"largest_cache_gb = {n_bytes / 1e9}\n")


def entry(home: Path, name: str, *, n_bytes: int = 1000, used: int, kind: str = "traces") -> Path:
    folder = home / "cache" / kind / name
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "data").write_bytes(bytes(n_bytes))
    (folder / "used").touch()
    os.utime(folder / "used", (used, used))
    return folder


def test_the_least_recently_used_go_first_and_no_more_than_needed(home):
    old, older, new = (entry(home, n, used=t) for n, t in (("b", 200), ("a", 100), ("c", 300)))
    allow(home, 2500)
    assert keep_within_limit() == 1000
    assert (older.exists(), old.exists(), new.exists()) == (False, True, True)
    assert keep_within_limit() == 0


def looks_of(monkeypatch) -> list[Path]:
    """The roots of all looks at the whole cache from now on."""
    looks: list[Path] = []
    entries = cache_limit._entries
    monkeypatch.setattr(cache_limit, "_entries", lambda root: looks.append(root) or entries(root))
    return looks


def test_what_fits_into_the_room_of_the_last_look_needs_no_other(home, monkeypatch):
    allow(home, 5000)
    oldest = entry(home, "a", used=100)
    keep_within_limit()  # 4000 are free, of which half is for other processes
    looks = looks_of(monkeypatch)
    for number in range(2):
        assert keep_within_limit(added=entry(home, f"b{number}", used=200 + number)) == 0
    assert not looks
    third = entry(home, "b2", n_bytes=3000, used=300)
    assert keep_within_limit(added=third) == 1000
    assert len(looks) == 1
    assert (oldest.exists(), third.exists()) == (False, True)


def test_what_others_may_have_added_is_looked_for_in_time(home, monkeypatch):
    allow(home, 50_000)
    keep_within_limit()
    looks = looks_of(monkeypatch)
    keep_within_limit(added=entry(home, "a", used=100))
    assert not looks
    later = time.monotonic() + 11
    monkeypatch.setattr(cache_limit.time, "monotonic", lambda: later)
    keep_within_limit(added=entry(home, "b", used=100))
    assert len(looks) == 1


def test_the_room_of_one_cache_is_none_of_another(home, monkeypatch, tmp_path):
    allow(home, 50_000)
    keep_within_limit()
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "other"))
    old = entry(tmp_path / "other", "a", used=100)
    allow(tmp_path / "other", 1500)
    new = entry(tmp_path / "other", "b", used=200)
    assert keep_within_limit(added=new) == 1000
    assert not old.exists()


def test_what_is_in_use_stays(home):
    used, other = entry(home, "a", used=100), entry(home, "b", used=200)
    hold = Hold(used)
    allow(home, 0)
    assert keep_within_limit() == 1000
    assert used.exists()
    assert not other.exists()
    hold.release()
    hold.release()
    assert keep_within_limit() == 1000
    assert not used.exists()


def test_an_open_trace_is_in_use_until_it_is_gone(home, tmp_path):
    allow(home, 0)
    path = Path(shutil.copy(FIXTURES / "python_functions.json", tmp_path / "trace.json"))
    trace = door.open_trace(path)  # more than is allowed, but just opened
    assert door.is_cached(path)
    n_events = trace.n_events
    del trace
    assert keep_within_limit() > 0
    assert not door.is_cached(path)
    assert door.open_trace(path).n_events == n_events  # read anew


def test_opening_makes_an_entry_the_newest(home, tmp_path):
    path = Path(shutil.copy(FIXTURES / "python_functions.json", tmp_path / "trace.json"))
    door.open_trace(path)
    folder = door.cache_folder(path)
    os.utime(folder / "used", (100, 100))
    other = entry(home, "b", used=200)
    assert door.load_cached(path) is not None
    allow(home, sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()))
    assert keep_within_limit() == 1000
    assert folder.exists()
    assert not other.exists()


def test_another_process_that_uses_it_keeps_it(home):
    folder = entry(home, "a", used=100)
    code = (
        "import sys; from pathlib import Path; from profiler_core.ingest.cache_limit import Hold\n"
        f"hold = Hold(Path({str(folder)!r})); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"held\n"
        allow(home, 0)
        assert keep_within_limit() == 0
        process.kill()  # leaves no lock behind
        process.wait()
    assert keep_within_limit() == 1000
    assert not folder.exists()


def test_many_at_once_remove_each_entry_once(home):
    for number in range(40):
        entry(home, f"{number:02}", used=100 + number)
    allow(home, 10_000)
    freed: list[int] = []
    threads = [threading.Thread(target=lambda: freed.append(keep_within_limit())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = sorted(f.name for f in (home / "cache" / "traces").iterdir())
    assert sum(freed) == 1000 * (40 - len(left))
    assert len(left) <= 10
    assert not any(name.startswith(".") for name in left)


@pytest.mark.parametrize("made_anew", [False, True])
def test_an_entry_that_another_removed_between_open_and_lock(home, monkeypatch, made_anew):
    folder = entry(home, "a", used=1)
    allow(home, 0)
    lock = fcntl.flock

    def lock_late(handle: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        shutil.rmtree(folder)
        if made_anew:
            entry(home, "a", used=2)
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    assert keep_within_limit() == 0
    left = [f.name for f in (home / "cache" / "traces").iterdir()]
    assert left == (["a"] if made_anew else [])


def test_what_a_killed_process_left_is_cleared_up_but_not_what_is_being_written(home):
    traces = home / "cache" / "traces"
    for name, age in ((".removed.x", 0), (".v2-old.tmp", 10**6), (".v2-new.tmp", 0)):
        (traces / name).mkdir()
        if age:
            os.utime(traces / name, (age, age))
    keep_within_limit()
    assert [f.name for f in traces.iterdir()] == [".v2-new.tmp"]


def test_unpacked_archives_stay(home):
    folder = entry(home, "zip", used=1, kind="archives")
    allow(home, 0)
    assert keep_within_limit() == 0
    assert folder.exists()


def test_without_a_setting_the_disk_decides(home, monkeypatch):
    gb = 10**9
    for free, limit in ((500 * gb, 20 * gb), (10 * gb, 5 * gb)):
        monkeypatch.setattr(
            shutil, "disk_usage", lambda _path, free=free: shutil._ntuple_diskusage(0, 0, free)
        )
        assert limit_bytes(cache_bytes()) == limit
    assert keep_within_limit() == 0


def test_settings_that_cannot_be_read_remove_nothing(home):
    folder = entry(home, "a", used=1)
    (home / FILE).write_text("largest_cache_gb = 'much'")
    assert keep_within_limit() == 0
    assert folder.exists()

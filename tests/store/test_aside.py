"""What a kill -9 leaves of what was written aside: swept after a day, and nothing else is."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from profiler_core.store import history
from profiler_core.store.aside import new_folder, sweep, whole_file
from profiler_core.store.history import database
from tests.jobs.waiting import wait_for

DAY_S = 24 * 3600
WRITES = """
import sys, time
from pathlib import Path
from profiler_core.store.aside import {maker}
with {maker}(Path(sys.argv[1])) as made:
    {deed}
    print("begun", flush=True)
    time.sleep(600)
"""
FILE = WRITES.format(maker="whole_file", deed='made.write(b"half"); made.flush()')
FOLDER = WRITES.format(maker="new_folder", deed='(made / "a").mkdir(); (made / "a/b").touch()')


def killed_writer(script: str, path: Path) -> Path:
    """Starts it, sees that nobody sweeps what it writes, kills it; what it left."""
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"begun\n"
    (left,) = path.parent.iterdir()
    assert sweep([path.parent], time.time() + 40 * DAY_S) == 0  # a clock that jumped ahead
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    process.stdout.close()
    return left


@pytest.mark.parametrize("script", [FILE, FOLDER])
def test_what_a_killed_process_left_is_swept_after_a_day(script: str, tmp_path: Path) -> None:
    left = killed_writer(script, tmp_path / "x.zip")
    assert sweep([tmp_path]) == 0  # another host, whose locks are not seen here, may write it
    assert left.exists()
    assert sweep([tmp_path], time.time() + DAY_S + 1) == 1
    assert not left.exists()


def test_a_process_of_the_same_id_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / f".x.zip.{os.getpid()}.0123abcd").write_text("half")
    (tmp_path / f".x.{os.getpid()}").mkdir()  # of earlier versions
    (tmp_path / f".x.zip.{os.getpid()}").touch()
    assert sweep([tmp_path], time.time() + DAY_S + 1) == 3


def test_a_copy_that_takes_over_old_times_is_young(tmp_path: Path) -> None:
    left = tmp_path / ".x.7.0123abcd"
    left.mkdir()
    (left / "trace.json").touch()
    for path in (left / "trace.json", left):
        os.utime(path, (1, 1))
    assert sweep([tmp_path]) == 0


def test_nothing_else_is_swept(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("x.zip", ".hidden", ".x.12.part", "x.7.0123abcd", ".7", ".notes.2024"):
        (folder / name).touch()
    (folder / ".link.7.0123abcd").symlink_to(outside)
    os.mkfifo(folder / ".pipe.7.0123abcd")
    before = sorted(folder.iterdir())
    assert sweep([folder, tmp_path / "missing"], time.time() + 40 * DAY_S) == 0
    assert sorted(folder.iterdir()) == before
    assert (outside / "kept").exists()


def test_what_is_whole_is_there_and_what_failed_is_gone(tmp_path: Path) -> None:
    with whole_file(tmp_path / "a") as file:
        file.write(b"whole")
    with new_folder(tmp_path / "b") as folder:
        (folder / "c").touch()
        folder.rename(tmp_path / "b")
    for maker in (whole_file, new_folder):
        with pytest.raises(RuntimeError), maker(tmp_path / "d"):  # type: ignore[operator]
            raise RuntimeError
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_server_sweeps_the_artifacts_and_what_was_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, kept = tmp_path / "home", tmp_path / "kept"
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", kept.as_uri())
    whole = kept / "c1" / f"{'0' * 64}.zip"
    left = [
        kept / "c1" / ".x.zip.7.0123abcd",
        kept / ".check.7.0123abcd",
        home / "cache" / "artifacts" / "c1" / ".x.zip.7.0123abcd",
        home / "runs" / "c1" / ".default.7",
    ]
    for path in (whole, *left[:3]):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half")
    left[3].mkdir(parents=True)
    history.reconcile()
    assert all(path.exists() for path in left)
    real = time.time
    monkeypatch.setattr("profiler_core.store.aside.time.time", lambda: real() + DAY_S + 1)
    history.reconcile()
    wait_for(lambda: not any(path.exists() for path in left), 1)
    assert whole.exists()
    database.close_all()

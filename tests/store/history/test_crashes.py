"""kill -9 at the worst moments: everything stays readable, and nothing is lost or twice there.

Each test starts a process that stops itself in the middle of its work, kills it there, and then
looks at what is left.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from profiler_core.ingest.run import open_run
from profiler_core.store import history
from profiler_core.store.catalogue import comparisons
from profiler_core.store.history import places
from profiler_core.store.history.packing import content_hash
from tests.store.history.samples import ROOT, redated_copy

START_TIMEOUT_S = 60.0


def killed_in_the_middle(script: str, ready: Path, *arguments: object) -> None:
    """Run `script` until it has made the file `ready` (its first argument), then kill -9 it."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(ready), *map(str, arguments)], cwd=ROOT, env=os.environ
    )
    deadline = time.monotonic() + START_TIMEOUT_S
    try:
        while not ready.exists():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)


STOP = """
import sys, signal
from pathlib import Path
ready, directory = Path(sys.argv[1]), Path(sys.argv[2])
def stop_here(*_, **__):
    ready.touch()
    signal.pause()
from profiler_core.store import history
from profiler_core.store.history import artifacts, migrate, recording
"""


@pytest.mark.parametrize(
    "where",
    [
        "recording.recorded_run = stop_here",  # control: after the commit
        """
put = recording.insert_or_update
def half(*arguments):
    put(*arguments)
    stop_here()
recording.insert_or_update = half""",  # the row is written, the transaction open
        """
import sqlalchemy
upgrade = migrate._upgrade
def half(connection, target):
    upgrade(connection, '0001')
    stop_here()
migrate._upgrade = half""",  # between two migrations
    ],
    ids=["after the commit", "before the commit", "in a migration"],
)
def test_a_save_that_is_killed(home, tmp_path, where):
    directory = redated_copy(home, "c1")
    script = f"{STOP}{where}\nhistory.record(directory)"
    killed_in_the_middle(script, tmp_path / "ready", directory)
    was_committed = "recorded_run" in where
    assert len(history.runs()) == was_committed
    assert [group.title for group in comparisons() if group.origin == "capture"] == ["breaky"]
    done = history.reconcile()
    assert done.recorded == (() if was_committed else ("c1.default",))
    assert history.reconcile().recorded == ()
    (run,) = history.runs()
    assert len(run.rounds) == 20
    assert history.directory_of(run) == directory


def test_a_copy_that_is_killed_leaves_no_half_run(home, tmp_path):
    source = redated_copy(tmp_path / "elsewhere", "c1", whole=True)
    script = f"""{STOP}
import shutil
copy = shutil.copy2
def half(source, target, **options):
    copy(source, target, **options)
    stop_here()
shutil.copytree.__kwdefaults__ = None
tree = shutil.copytree
recording.shutil.copytree = lambda *a, **k: tree(*a, **k, copy_function=half)
history.record(directory)"""
    killed_in_the_middle(script, tmp_path / "ready", source)
    assert places.run_directories() == ()
    assert history.reconcile().recorded == ()
    assert [g for g in comparisons() if g.origin == "capture"] == []
    run = history.record(source)  # and again, beside what the dead one left
    assert (history.directory_of(run) / "trace.json.gz").read_bytes() == (
        source / "trace.json.gz"
    ).read_bytes()


def test_an_upload_of_artifacts_that_is_killed_shows_nothing_half(home, tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", (tmp_path / "kept").as_uri())
    directory = redated_copy(home, "c1", whole=True)
    script = f"""{STOP}
pack = artifacts.packed
def half(directory):
    for block in pack(directory):
        yield block
        stop_here()
artifacts.packed = half
history.record(directory)"""
    killed_in_the_middle(script, tmp_path / "ready", directory)
    kept = artifacts_of_settings()
    assert kept.names() == ()
    assert history.runs() == ()
    assert history.reconcile().recorded == ("c1.default",)
    assert kept.names() == (f"c1/{content_hash(directory)}.zip",)


def test_a_capture_that_is_killed_is_found_as_lost(home, tmp_path):
    # The capture's own writer and heartbeat, in a process of their own.
    script = """
import sys
from pathlib import Path
from profiler_core.capture.run_writer import Heartbeat, RunWriter
run = RunWriter(Path(sys.argv[2]), {"run_id": "c.default", "capture_id": "c", "variant": "default",
                                    "workload": "breaky"})
with Heartbeat([run]):
    while not (run.directory / "heartbeat").exists():
        pass
    Path(sys.argv[1]).touch()
    import signal
    signal.pause()
"""
    directory = home / "runs" / "c" / "default"
    killed_in_the_middle(script, tmp_path / "ready", directory)
    assert history.reconcile().recorded == ("c.default",)
    run = history.run("c.default")
    assert run.status == "lost"
    assert run.metrics == history.HeadlineMetrics()
    (group,) = [g for g in comparisons() if g.origin == "capture"]
    assert group.baseline.run.status == "lost"
    assert open_run(directory).record.variant == "default"


def test_a_deletion_that_is_killed_does_not_come_back(home, tmp_path):
    directory = redated_copy(home, "c1")
    history.record(directory)
    script = f"""{STOP}
from profiler_core.store.history import removal
removal.shutil.rmtree = stop_here
history.delete_run("c1.default")"""
    killed_in_the_middle(script, tmp_path / "ready", directory)
    assert places.run_directories() == ()
    history.reconcile()
    assert not list((home / "runs").glob("**/.deleted-*"))
    for run in history.runs():
        history.delete_run(run.run_id)
    assert history.runs() == ()


def artifacts_of_settings():
    from profiler_core.store.history.artifacts import artifacts

    kept = artifacts()
    assert kept is not None
    return kept

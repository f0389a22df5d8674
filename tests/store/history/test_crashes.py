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
from profiler_core.store.history import database, places
from profiler_core.store.history.packing import content_hash
from tests.everything import comparisons
from tests.store.history.samples import ROOT, redated_copy

START_TIMEOUT_S = 240.0


def killed_in_the_middle(script: str, ready: Path, *arguments: object) -> None:
    """Run `script` until `ready` (its first argument) holds its process id, then kill -9 it."""
    python = os.environ.get("QUICK_PYTHON", sys.executable)
    process = subprocess.Popen(
        [python, "-c", script, str(ready), *map(str, arguments)], cwd=ROOT, env=os.environ
    )
    deadline = time.monotonic() + START_TIMEOUT_S
    try:
        while not ready.exists() or not ready.read_text():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(int(ready.read_text()), signal.SIGKILL)
        assert process.wait(10) == -signal.SIGKILL
    finally:
        process.kill()
        process.wait(10)


STOP = """
import os, sys, signal
from pathlib import Path
ready, directory = Path(sys.argv[1]), Path(sys.argv[2])
def stop_here(*_, **__):
    ready.write_text(str(os.getpid()))
    signal.pause()
from profiler_core.store import history
from profiler_core.store.history import artifacts, migrate, recording
"""


@pytest.mark.parametrize(
    "where",
    [
        "recording.recorded_run = stop_here",  # control: after the commit
        """
put = recording.insert_or_ignore
def half(*arguments):
    put(*arguments)
    stop_here()
recording.insert_or_ignore = half""",  # the row is written, the transaction open
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
shutil.copytree = lambda *a, **k: tree(*a, **k, copy_function=half)
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
import os, sys
from pathlib import Path
from profiler_core.capture.run_writer import Heartbeat, RunWriter
run = RunWriter(Path(sys.argv[2]), {"run_id": "c.default", "capture_id": "c", "variant": "default",
                                    "workload": "breaky"})
with Heartbeat([run]):
    while not (run.directory / "heartbeat").exists():
        pass
    Path(sys.argv[1]).write_text(str(os.getpid()))
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


BEFORE_FILES = "trash._follow = stop_here"  # the deed is committed, no file has moved
AFTER_FILES = """
follow = trash_files.{0}
def half(*arguments, **options):
    follow(*arguments, **options)
    stop_here()
trash_files.{0} = half"""  # they have, and their transaction is open


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("deed", ["delete", "restore", "empty"])
def test_a_deed_of_the_trash_that_is_killed(home, tmp_path, monkeypatch, deed, where):
    """Deleted or there, whole, from the moment of the commit on; the audit has it before."""
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", (tmp_path / "kept").as_uri())
    directories = [redated_copy(home, "c1", variant=v) for v in ("eager", "default")]
    for directory in directories:
        history.record(directory)
    history.tag("c1.default", "weekly")
    does = {"delete": "history.delete_at(keys, 'run/c1', 'breaky')",
            "restore": "history.restore(history.trash_contents()[0].deletion_id)",
            "empty": "history.empty(history.trash_contents()[0].deletion_id)"}  # fmt: skip
    keys = ["run/c1/eager", "run/c1/default"]
    if deed != "delete":
        history.delete_at(keys, "run/c1", "breaky")
    moves = {"delete": "set_aside", "restore": "put_back", "empty": "destroy"}
    stop = BEFORE_FILES if where == "before" else AFTER_FILES.format(moves[deed])
    script = f"""{STOP}
from profiler_core.store.history import trash, trash_files
keys = {keys}
{stop}
{does[deed]}"""
    killed_in_the_middle(script, tmp_path / "ready", home)
    database.close_all()
    words = {"delete": "delete", "restore": "restore", "empty": "delete for good"}
    assert {e.action for e in history.entries(subject="c1.default", limit=1)} == {words[deed]}
    assert len(history.runs()) == (2 if deed == "restore" else 0)
    for _ in range(2):
        assert history.reconcile() == history.Reconciled((), ())
        is_there = deed == "restore"
        assert len(history.runs()) == (2 if is_there else 0)
        assert [d.is_dir() for d in directories] == [is_there, is_there]
        assert len(artifacts_of_settings().names()) == (2 if is_there else 0)
        assert len(history.trash_contents()) == (1 if deed == "delete" else 0)
        n_aside = len(list((home / "runs" / ".trash").glob("*/c1/*/run.json")))
        assert n_aside == (2 if deed == "delete" else 0)
    if deed == "delete":
        history.restore("c1.default")
    if deed != "empty":
        assert history.run("c1.default").tags == ("weekly",)
        for run_id, directory in zip(("c1.eager", "c1.default"), directories, strict=True):
            assert history.directory_of(history.run(run_id)) == directory
        assert len(artifacts_of_settings().names()) == 2


def artifacts_of_settings():
    from profiler_core.store.history.artifacts import artifacts

    kept = artifacts()
    assert kept is not None
    return kept

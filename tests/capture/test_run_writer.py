"""run.json while a run is made: always whole, alive by its heartbeat, readable by the model."""

import errno
import json
import os
import time

import msgspec
import pytest

from profiler_core import run_directory as names
from profiler_core.capture.run_writer import Heartbeat, RunWriter, process_started_at
from profiler_core.model.run import RunRecord

RECORD = {
    "run_id": "c.eager",
    "capture_id": "c",
    "role": "baseline",
    "baseline_run_id": None,
    "name": "x eager",
    "workload": "x",
    "variant": "eager",
    "spec": {},
}


def test_it_says_running_first_and_its_end_last(tmp_path):
    writer = RunWriter(tmp_path / "eager", dict(RECORD))
    assert read(writer).status == "running"
    assert read(writer).measurement.pid == os.getpid()
    writer.measurement["first_call_ns"] = 7
    writer.end("failed", "Out of memory.")
    found = read(writer)
    assert (found.status, found.error) == ("failed", "Out of memory.")
    assert found.measurement.first_call_ns == 7
    assert sorted(p.name for p in writer.directory.iterdir()) == [names.RUN_JSON]


def test_its_keys_are_those_of_the_record(tmp_path):
    writer = RunWriter(tmp_path / "eager", dict(RECORD))
    written = json.loads((writer.directory / names.RUN_JSON).read_text())
    assert set(written) == {field.name for field in msgspec.structs.fields(RunRecord)}


def test_the_heartbeat_stops_with_the_run(tmp_path):
    writer = RunWriter(tmp_path / "eager", dict(RECORD))
    beat = writer.directory / names.HEARTBEAT
    with Heartbeat([writer]):
        deadline = time.monotonic() + 10
        while not beat.exists():
            assert time.monotonic() < deadline
        writer.end("finished")
    assert not beat.exists()


def test_a_process_began_before_now():
    started = process_started_at(os.getpid())
    assert time.time() - 24 * 3600 < started <= time.time() + 1


def read(writer):
    return msgspec.json.decode((writer.directory / names.RUN_JSON).read_bytes(), type=RunRecord)


def test_a_full_disk_takes_no_run_that_was_measured(tmp_path, monkeypatch):
    """The room for its end was taken when it began."""
    writer = RunWriter(tmp_path / "eager", dict(RECORD))
    writer.measurement["first_call_ns"] = 7

    def full(path, *_words, **_more):
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(OSError, match="No space"):
        writer.write()
    assert read(writer).status == "running"
    writer.end("failed", "The disk is full.")
    ended = read(writer)
    assert (ended.status, ended.measurement.first_call_ns) == ("failed", 7)
    assert [path.name for path in writer.directory.iterdir()] == [names.RUN_JSON]

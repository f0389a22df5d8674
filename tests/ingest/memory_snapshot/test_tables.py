"""What a snapshot's tables hold, of today's format and of older ones."""

import polars as pl
import pytest

from profiler_core.ingest.memory_snapshot.open import open_snapshot
from profiler_core.ingest.memory_snapshot.tables import tables_of

from .snapshots import SNAPSHOT, a_snapshot, pickled


@pytest.fixture
def tables():
    return tables_of(SNAPSHOT, "x")


def test_events_keep_their_order_and_their_unit(tables):
    events = tables["events"]
    assert events["action"].to_list() == ["alloc", "alloc", "free_requested", "free_completed"]
    assert events["time_ns"].to_list() == [7000, 8000, 9000, 9000]
    assert events["compile_context"].to_list() == [None, "0/0", None, None]
    assert events["bytes"].sum() == 1024 + 3 * 512


def test_equal_stacks_are_one_and_no_frames_are_no_stack(tables):
    assert tables["events"]["stack"].to_list() == [0, 0, None, None]
    assert tables["blocks"]["stack"].to_list() == [0, None]
    assert tables["stacks"].rows() == [
        (0, 0, "forward", "/home/user/model.py", 12),
        (0, 1, "_call_impl", "/venv/site-packages/torch/nn/modules/module.py", 9),
    ]


def test_segments_and_blocks_belong_together(tables):
    segment = tables["segments"].row(0, named=True)
    assert (segment["total_bytes"], segment["allocated_bytes"], segment["pool"]) == (
        4096,
        1024,
        "0.0",
    )
    assert tables["blocks"]["segment"].to_list() == [0, 0]
    assert tables["blocks"]["bytes"].sum() == segment["total_bytes"]


def test_blocks_without_addresses_stand_one_after_the_other():
    snapshot = a_snapshot()
    for block in snapshot["segments"][0]["blocks"]:
        del block["address"]
    assert tables_of(snapshot, "x")["blocks"]["address"].to_list() == [1000, 2024]


def test_the_history_of_early_versions_has_the_frames():
    snapshot = a_snapshot()
    block = snapshot["segments"][0]["blocks"][0]
    block["history"] = [{"addr": 1000, "real_size": 1000, "frames": block.pop("frames")}]
    assert tables_of(snapshot, "x")["blocks"]["stack"].to_list() == [0, None]


def test_what_a_version_does_not_write_is_null():
    snapshot = a_snapshot(external_annotations=[])
    del snapshot["segments"][0]["segment_pool_id"]
    for event in snapshot["device_traces"][0]:
        del event["time_us"], event["compile_context"]
    tables = tables_of(snapshot, "x")
    assert tables["segments"]["pool"].to_list() == [None]
    assert tables["events"]["time_ns"].null_count() == 4


def test_frames_of_c_plus_plus_have_no_file():
    frames = [{"name": "at::_ops::add::call()", "filename": "??", "line": 0}]
    snapshot = a_snapshot(device_traces=[[{"action": "alloc", "frames": frames}]], segments=[])
    assert tables_of(snapshot, "x")["stacks"].row(0) == (0, 0, "at::_ops::add::call()", "", 0)


def test_a_lone_surrogate_is_replaced():
    snapshot = a_snapshot(device_traces=[[{"action": "a\ud800"}]])
    assert tables_of(snapshot, "x")["events"]["action"].to_list() == ["a?"]


def test_the_door_reads_once_and_every_protocol(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    for protocol in (2, 4, 5):
        file = tmp_path / f"{protocol}.pickle"
        file.write_bytes(pickled(SNAPSHOT, protocol))
        snapshot = open_snapshot(file)
        assert snapshot.source == file.name
        assert snapshot.events.equals(tables_of(SNAPSHOT, "x")["events"])
        assert snapshot.settings["expandable_segments"] is False
    monkeypatch.setattr("subprocess.Popen", None)  # nothing is read a second time
    assert open_snapshot(file).blocks.select(pl.col("bytes").sum()).item() == 4096

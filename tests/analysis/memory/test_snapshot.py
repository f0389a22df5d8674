import copy

import polars as pl

from profiler_core.analysis.memory import vanished
from profiler_core.analysis.memory.frames import is_framework
from profiler_core.analysis.memory.segments import segments_of
from profiler_core.analysis.memory.snapshot import (
    Origin,
    callers_apart,
    history_of,
    operators_apart,
)
from profiler_core.analysis.memory.vanished import vanished_by_source
from profiler_core.ingest.memory_snapshot.tables import tables_of
from profiler_core.model.memory_snapshot import MemorySnapshot
from tests.ingest.memory_snapshot.snapshots import SNAPSHOT, a_snapshot


def snapshot(plain):
    return MemorySnapshot("made up", **tables_of(plain, "made up"))


def test_the_history_counts_back_from_what_is_held_at_the_end():
    history = history_of(snapshot(SNAPSHOT))
    # 1000 B asked for at the end; 1024 were made and kept, so there were -24 before: the event
    # says 1024 where the block says 1000, as versions differ in what they round.
    assert history.curve.allocated_bytes.tolist() == [-24, 1000, 1512, 1000]
    assert history.live.peak_bytes == 1512
    assert history.live.before_bytes + sum(b for _, _, b in history.live.rows) == 1512


def test_origins_are_the_lines_outside_of_torch():
    history = history_of(snapshot(SNAPSHOT))
    ((origin, n, size),) = history.live.rows
    assert (origin.source, n, size) == ("model.py:12", 2, 1536)
    assert origin.path == ("model.py:12 forward",)


def test_without_events_there_is_no_history():
    assert history_of(snapshot(a_snapshot(device_traces=[[]]))) is None


def test_without_times_the_order_is_the_axis():
    plain = a_snapshot()
    for event in plain["device_traces"][0]:
        del event["time_us"]
    assert history_of(snapshot(plain)).curve.ts_ns.tolist() == [0, 1, 2, 3]


def test_an_operator_is_known_from_cpp_frames():
    frames = [
        {"name": "at::_ops::empty_memory_format::call(…)", "filename": "??", "line": 0},
        {"name": "at::_ops::convolution_backward::call(…)", "filename": "??", "line": 0},
    ]
    event = {"action": "alloc", "addr": 1, "size": 8, "frames": frames, "time_us": 1}
    ((origin, _, _),) = history_of(snapshot(a_snapshot(device_traces=[[event]]))).largest
    assert (origin.source, origin.operator) == (None, "convolution_backward")
    assert origin.label == "convolution_backward"


def test_folders_that_are_called_torch_are_not_the_framework():
    assert not is_framework("/opt/torch/.venv/lib/site-packages/transformers/models/bert.py")
    assert is_framework("/opt/torch/.venv/lib/site-packages/torch/nn/functional.py")
    assert is_framework("torch/nn/modules/module.py")
    assert is_framework("torch/backends/__init__.py")
    assert is_framework("/home/me/pytorch/torch/_inductor/utils.py")


def pools():
    plain = a_snapshot()
    first = plain["segments"][0]
    free = copy.deepcopy(first) | {
        "address": 9000, "allocated_size": 0,
        "blocks": [{"address": 9000, "size": 4096, "requested_size": 0, "state": "inactive"}],
    }  # fmt: skip
    private = copy.deepcopy(free) | {"address": 20000, "segment_pool_id": (0, 1)}
    plain["segments"] += [free, private]
    return snapshot(plain)


def test_reserved_is_allocated_and_the_three_kinds_of_free():
    (found,) = segments_of(pools())
    assert (found.reserved_bytes, found.allocated_bytes) == (3 * 4096, 1024)
    parts = (found.split_free_bytes, found.whole_free_bytes, found.private_free_bytes)
    assert parts == (3072, 4096, 4096)
    assert found.free_bytes == sum(parts)
    assert found.largest_free_bytes == 4096
    assert found.rounding_bytes == 24


def test_private_pools_are_named():
    (found,) = segments_of(pools())
    assert [(p.name, p.is_private, p.reserved_bytes) for p in found.pools] == [
        ("default", False, 8192),
        ("private 0.1", True, 4096),
    ]
    assert found.private_bytes == 4096


def test_a_pending_free_is_still_in_use():
    plain = a_snapshot()
    plain["segments"][0]["blocks"][0]["state"] = "active_awaiting_free"
    (found,) = segments_of(snapshot(plain))
    assert found.split_free_bytes == 3072


def test_what_vanished_by_line_sums_to_both_sides():
    less = a_snapshot(device_traces=[SNAPSHOT["device_traces"][0][:1]])
    found = vanished_by_source(history_of(snapshot(SNAPSHOT)), history_of(snapshot(less)))
    assert (found.n, found.bytes) == ((2, 1), (1536, 1024))
    assert (found.n[0] - found.n[1], found.vanished_bytes) == (1, 512)
    assert found.rows[0].label == "model.py:12"
    assert found.largest == ((512, 1.0, 0.0, 512.0),)


def test_sizes_that_read_the_same_are_one_size_that_is_gone():
    """ "3 × 1.00 MB, 1 × 1.00 MB": two sizes of which a reader sees one."""
    made = pl.DataFrame({"step": [0] * 4, "bytes": [1_000_000] * 3 + [1_000_448]})
    nothing = vanished._vanished("fusion group", [], (vanished._sizes(made, 1), {}))
    assert nothing.largest == ((1_000_000, 4.0, 0.0, 4_000_448.0),)
    moved = vanished._vanished("fusion group", [], ({1_000_448: 4.0}, {1_000_000: 4.0}))
    assert moved.largest == ()


def test_what_tells_rows_of_one_label_apart():
    def at(*lines: str, operator: str | None = None) -> Origin:
        return Origin(lines[-1] if lines else None, operator, lines)

    rows = [
        at("main:1", "block:7", "net:3"),
        at("main:1", "block:8", "net:3"),
        at("main:1", "net:3"),
        at("main:1", "block:7", "net:4"),
        at("net:5", operator="mm"),
        at("net:5", operator="add"),
        at(),
    ]
    first = ("main:1 → block:7", "main:1 → block:8", "main:1")
    assert callers_apart(rows) == (*first, "", "", "", "")
    assert operators_apart(rows) == ("", "", "", "", "mm", "add", "")
    assert callers_apart([at("net:3"), at("block:7", "net:3")]) == (
        "the framework alone", "block:7",
    )  # fmt: skip
    assert callers_apart([at("a", "b", "c", "x"), at("a", "d", "c", "x")]) == ("b → c", "d → c")

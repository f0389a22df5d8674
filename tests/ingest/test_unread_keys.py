"""What a newer torch adds to its events is counted and said, never dropped silently."""

import json

import pytest

from profiler_core.ingest.kineto.unread_keys import unread_keys
from profiler_core.ingest.open import open_trace
from profiler_core.session.run import Run

KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "dur": 5}


def written(path, n=40, damage="", **more):
    events = [{**KERNEL, "ts": 10.0 * i, "args": {"stream": 7, **more}} for i in range(n)]
    path.write_text(json.dumps({"traceEvents": events}).replace("}]}", "}" + damage + "]}"))
    return path


@pytest.mark.parametrize("damage", ["", ", {broken"])
def test_an_unknown_key_is_counted_and_said_in_the_notes(tmp_path, damage):
    path = written(tmp_path / "trace.json", damage=damage, **{"warp stall %": 3, "queued": 0})
    trace = open_trace(path)
    assert trace.tally.unread_keys == {"warp stall %": 40}
    assert (
        "The trace's events have what Fusionscope does not read (a newer torch, or another "
        "writer): warp stall % (40)." in Run.open(path).summary.notes
    )


def test_a_key_that_begins_far_into_a_piece_is_counted_in_the_whole_of_it():
    plain = ", ".join(json.dumps({**KERNEL, "ts": i, "args": {}}) for i in range(20_000))
    new = ", ".join(json.dumps({**KERNEL, "ts": i, "args": {"new": 1}}) for i in range(5_000))
    assert unread_keys(f"{plain}, {new}".encode()) == {"new": 5_000}


def test_text_that_looks_like_a_key_is_none():
    event = {**KERNEL, "name": 'f{"odd": 1}', "ts": 1, "args": {"Input Dims": [[2], []]}}
    assert unread_keys(json.dumps(event).encode()) == {}

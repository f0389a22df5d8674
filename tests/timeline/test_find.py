"""Events by name: in both directions, over tracks, and how many there are."""

import numpy as np

from profiler_core.timeline.build import build_index
from profiler_core.timeline.find import find
from profiler_core.timeline.index import open_index
from profiler_core.timeline.layout import TABLES
from tests.builders import MAIN, a_trace, kernel, launch, op, step


def an_index(tmp_path):
    trace = a_trace(
        annotations=[step(0, 0, 1000)],
        ops=[op(100, 300, "aten::addmm"), op(600, 50, "aten::add")],
        runtime=[launch(150, 20, 1)],
        device=[
            kernel(200, 40, 1, name="gemm_ADD"),
            kernel(700, 100, 2, name="relu"),
            kernel(900, 10, 3, name="gemm_add"),
        ],
    )
    build_index(trace, tmp_path / "index")
    return open_index(tmp_path / "index")


def starts(index, words, *, forward=True):
    """Every hit, one after the other."""
    at = -1 if forward else 10_000
    hits = []
    while (found := find(index, words, at, forward=forward)).hit is not None:
        at = found.hit.ts_ns
        hits.append((found.hit.ts_ns, found.n_before))
    return hits


def test_all_words_must_occur_in_any_case_and_any_order(tmp_path):
    index = an_index(tmp_path)
    assert starts(index, "add") == [(100, 0), (200, 1), (600, 2), (900, 3)]
    assert starts(index, "ADD gemm") == [(200, 0), (900, 1)]
    assert starts(index, "add", forward=False) == [(900, 3), (600, 2), (200, 1), (100, 0)]
    assert starts(index, "nothing") == starts(index, "") == []


def test_a_hit_says_where_the_event_is(tmp_path):
    index = an_index(tmp_path)
    hits = find(index, "gemm", 200, forward=True)
    assert hits.hit is not None
    assert (hits.n, hits.n_before, hits.hit.name, hits.hit.dur_ns) == (2, 1, "gemm_add", 10)
    assert TABLES[hits.hit.table] == "device"
    assert index.position("device", hits.hit.row) == int(np.flatnonzero(index.ts == 900)[0])
    assert find(index, "gemm", 900, forward=True).hit is None


def test_a_thread_that_waits_says_for_how_long(tmp_path):
    """Inside a step of 1000 ns the main thread synchronises for 700; another only takes a lock."""
    lock = "<built-in method acquire of _thread.lock object at 0x7f00>"
    python = {"ts_ns": 0, "dur_ns": 990, "name": lock, "pid": 1, "tid": 300}
    trace = a_trace(
        annotations=[step(0, 0, 1000)],
        runtime=[{**launch(100, 700, 1), "name": "cudaDeviceSynchronize"}],
        python=[python, {**python, "name": "threading.py(324): wait", "dur_ns": 995}],
    )
    build_index(trace, tmp_path / "index")
    tracks = open_index(tmp_path / "index").layout.tracks
    waiting = {track.tid: (track.busy_ns, track.waiting_ns) for track in tracks}
    assert waiting == {MAIN: (700, 700), 300: (995, 995)}

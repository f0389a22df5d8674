"""The index on disk: what it holds, and that a damaged one is noticed and made anew."""

import msgspec
import numpy as np
import pytest

from profiler_core.errors import BadInput
from profiler_core.ingest.open import cache_folder, open_trace
from profiler_core.timeline.build import build_index
from profiler_core.timeline.cache import index_of_key, index_trace, ready_index, trace_key
from profiler_core.timeline.index import DamagedIndexError, open_index
from profiler_core.timeline.layout import VERSION
from tests.builders import AUTOGRAD, a_trace, kernel, launch, memset, op, step
from tests.timeline.traces import CUSTOMCNN


def a_small_trace():
    return a_trace(
        annotations=[step(3, 0, 1000)],
        ops=[op(100, 300, "aten::linear"), op(600, 50, "backward", tid=AUTOGRAD)],
        runtime=[launch(150, 20, 1), launch(610, 20, 2)],
        device=[kernel(200, 400, 1, name="gemm_a"), kernel(700, 100, 2), memset(650, 10, stream=9)],
        gpu_annotations=[
            {"ts_ns": 200, "dur_ns": 600, "name": "ProfilerStep#3", "device": 0, "stream": 7}
        ],
    )


def test_streams_come_before_threads_and_the_thread_with_the_steps_first(tmp_path):
    build_index(a_small_trace(), tmp_path / "index")
    tracks = open_index(tmp_path / "index").layout.tracks
    assert [(t.kind, t.stream if t.kind in ("stream", "ranges") else t.label) for t in tracks] == [
        ("ranges", 7),
        ("stream", 7),
        ("stream", 9),
        ("thread", "Main thread"),
        ("thread", "Thread"),
    ]
    assert [t.busy_ns for t in tracks] == [600, 500, 10, 320, 50]
    assert [t.n_lanes for t in tracks] == [1, 1, 1, 3, 1]


def test_every_event_is_there_once_with_its_table_and_row(tmp_path):
    trace = a_small_trace()
    build_index(trace, tmp_path / "index")
    index = open_index(tmp_path / "index")
    assert index.layout.n_events == 9
    for table in ("device", "ops", "runtime", "annotations", "gpu_annotations"):
        frame = getattr(trace, table)
        for row in range(frame.height):
            place = index.position(table, row)
            assert index.ts[place] == frame["ts_ns"][row]
            assert index.dur[place] == frame["dur_ns"][row]
            assert index.name_text(index.name[place]) == frame["name"][row]
            lane = index.layout.lanes[index.lane_of(place)]
            assert lane.first <= place < lane.last
    assert index.position("device", 3) is None
    assert index.position("memory", 0) is None


def test_sums_run_through_each_series(tmp_path):
    build_index(a_small_trace(), tmp_path / "index")
    index = open_index(tmp_path / "index")
    for number, series in enumerate(index.layout.series):
        lane = index.layout.lanes[series.lane]
        chosen = index.category[lane.first : lane.last] == series.category
        sums = index.series_cum[series.first + number : series.last + number + 1]
        assert sums[0] == 0
        assert np.diff(sums).tolist() == index.dur[lane.first : lane.last][chosen].tolist()


def test_steps_are_in_the_layout(tmp_path):
    build_index(a_small_trace(), tmp_path / "index")
    steps = open_index(tmp_path / "index").layout.steps
    assert [(s.name, s.ts_ns, s.end_ns) for s in steps] == [("ProfilerStep#3", 0, 1000)]


def test_a_trace_without_events_has_an_index_without_tracks(tmp_path):
    build_index(a_trace(), tmp_path / "index")
    assert open_index(tmp_path / "index").layout.tracks == ()


def test_kernels_of_a_machine_without_gpu_keep_their_category(tmp_path):
    trace = a_trace(
        annotations=[step(0, 0, 100)],
        ops=[op(10, 50, "aten::conv2d"), op(12, 40, "aten::convolution")],
    )
    build_index(trace, tmp_path / "index")
    index = open_index(tmp_path / "index")
    named = {
        index.name_text(n): index.layout.categories[c]
        for n, c in zip(index.name, index.category, strict=True)
    }
    assert named["aten::conv2d"] == "conv"
    assert named["aten::convolution"] == "host_op"


def damage_cut(folder):
    file = folder / "ts.npy"
    file.write_bytes(file.read_bytes()[:-8])


def damage_missing(folder):
    (folder / "series_cum.npy").unlink()


def damage_meta(folder):
    (folder / "meta.json").write_text('{"version": 1, "n_ev')


def damage_version(folder):
    meta = msgspec.json.decode((folder / "meta.json").read_bytes())
    (folder / "meta.json").write_bytes(msgspec.json.encode({**meta, "version": VERSION + 1}))


@pytest.mark.parametrize("damage", [damage_cut, damage_missing, damage_meta, damage_version])
def test_a_damaged_index_is_noticed(tmp_path, damage):
    folder = tmp_path / "index"
    build_index(a_small_trace(), folder)
    damage(folder)
    with pytest.raises(DamagedIndexError):
        open_index(folder)


@pytest.mark.parametrize("damage", [damage_cut, damage_meta])
def test_a_damaged_index_is_made_anew(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    good = index_trace(CUSTOMCNN / "eager" / "trace.json.gz")
    (folder,) = (tmp_path / "cache" / "traces").glob("*/timeline-*")
    damage(folder)
    (folder / "meta.json").touch()
    assert ready_index(CUSTOMCNN / "eager" / "trace.json.gz") is None
    again = index_trace(CUSTOMCNN / "eager" / "trace.json.gz")
    assert again.layout == good.layout


def test_building_again_replaces_what_was_there_and_leaves_nothing_else(tmp_path):
    build_index(a_trace(), tmp_path / "index")
    build_index(a_small_trace(), tmp_path / "index")
    assert open_index(tmp_path / "index").layout.n_events == 9
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_a_failing_build_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="No space"):
        build_index(a_small_trace(), tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_a_key_opens_the_index_and_leads_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    path = CUSTOMCNN / "eager" / "trace.json.gz"
    index = index_trace(path, open_trace(path))
    assert index_of_key(trace_key(path)).layout == index.layout
    assert str(cache_folder(path)).endswith(trace_key(path))
    for key in ("traces/unknown", "../../etc", "/etc", ""):
        with pytest.raises(BadInput):
            index_of_key(key)

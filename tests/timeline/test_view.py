"""A window of the timeline against a count by hand, event by event."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler_core.ingest.open import open_trace
from profiler_core.timeline.build import build_index
from profiler_core.timeline.index import open_index
from profiler_core.timeline.packet import encode
from profiler_core.timeline.span import busy_in_span
from profiler_core.timeline.view import busy_until, pixel_edges, view
from tests.builders import a_trace, kernel
from tests.timeline.traces import CUSTOMCNN

ROOT = Path(__file__).resolve().parents[2]


def an_index(tmp_path, *kernels):
    folder = tmp_path / "index"
    build_index(a_trace(device=list(kernels)), folder)
    return open_index(folder)


def busy_by_hand(index, series, start, end) -> int:
    lane = index.layout.lanes[series.lane]
    return sum(
        max(0, min(end, ts + dur) - max(start, ts))
        for ts, dur, category in zip(
            index.ts[lane.first : lane.last].tolist(),
            index.dur[lane.first : lane.last].tolist(),
            index.category[lane.first : lane.last].tolist(),
            strict=True,
        )
        if category == series.category
    )


def test_a_pixel_shows_the_share_of_its_time(tmp_path):
    # 100 ns a pixel: busy 100, 50, 0, 1 of them
    index = an_index(tmp_path, kernel(0, 150), kernel(399, 1))
    window = view(index, 0, 1600, 16, max_events=0)
    assert window.shares[0, :5].tolist() == [255, 128, 0, 3, 0]
    assert window.counts[0, :5].tolist() == [1, 0, 0, 1, 0]
    assert window.n_events == 2


def test_a_little_work_is_never_drawn_as_idle(tmp_path):
    index = an_index(tmp_path, kernel(500_000, 1))
    assert view(index, 0, 16_000_000, 16, max_events=0).shares.max() == 1


def test_few_events_come_as_events_with_those_that_reach_in(tmp_path):
    index = an_index(tmp_path, kernel(0, 150), kernel(200, 50), kernel(300, 50), kernel(400, 9))
    window = view(index, 100, 350, 100)
    assert index.ts[window.events].tolist() == [0, 200, 300]
    assert window.shares.size == 0
    assert index.ts[view(index, 150, 200, 16).events].tolist() == []


def test_sparse_lanes_stay_events_beside_a_crowded_one(tmp_path):
    crowd = [kernel(10 * i, 5) for i in range(500)]
    index = an_index(tmp_path, *crowd, kernel(100, 1000, stream=9))
    window = view(index, 0, 5000, 160, max_events=100)
    assert window.event_lanes == (1,)
    assert window.count_lanes == (0,)
    assert window.counts.sum() == 500


def test_events_denser_than_the_screen_come_as_shares_however_few_they_are(tmp_path):
    """Beside a run at 13 % busy one at 18 % looked always busy: at a pixel each for 1430 events."""
    crowd = [kernel(10 * i, 2) for i in range(200)]  # 20 % busy, in 2000 of 8000 ns
    index = an_index(tmp_path, *crowd, kernel(100, 1000, stream=9))
    window = view(index, 0, 8000, 800)  # 200 pixels
    assert (window.event_lanes, window.count_lanes) == ((1,), (0,))
    assert window.shares[0, :200].mean() / 255 == pytest.approx(0.2, abs=0.01)
    assert view(index, 0, 8000, 1700).event_lanes == (0, 1)
    assert view(index, 0, 500, 800).event_lanes == (0, 1)


def test_only_the_lanes_asked_for_are_answered(tmp_path):
    index = an_index(tmp_path, kernel(0, 10), kernel(0, 10, stream=9))
    assert view(index, 0, 100, 50, [1, 77, -1]).event_lanes == (1,)


def test_pixels_cover_the_window_without_gap():
    edges = pixel_edges(-7, 1_000_003, 977)
    assert (edges[0], edges[-1], edges.size) == (-7, 1_000_003, 978)
    assert set(np.diff(edges)) <= {1023, 1024}


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 300), st.sampled_from(["gemm", "relu"])),
        min_size=1,
        max_size=40,
    ),
    st.integers(-100, 1500),
    st.integers(20, 2500),
)
def test_shares_are_exact_for_any_events(tmp_path_factory, events, start, length):
    kernels = [kernel(ts, dur, name=name) for ts, dur, name in events]
    index = an_index(tmp_path_factory.mktemp("any"), *kernels)
    edges = pixel_edges(start, start + length, 16)
    for number, series in enumerate(index.layout.series):
        busy, n_started = busy_until(index, number, edges)
        expected = [busy_by_hand(index, series, a, b) for a, b in itertools.pairwise(edges)]
        assert np.diff(busy).tolist() == expected
        assert (np.diff(n_started) >= 0).all()


def test_shares_of_a_real_trace_add_up_to_its_busy_time(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    trace = open_trace(CUSTOMCNN / "eager" / "trace.json.gz")
    build_index(trace, tmp_path / "index")
    index = open_index(tmp_path / "index")
    rows = busy_in_span(index, index.layout.start_ns, index.layout.end_ns + 1)
    assert sum(row.busy_ns for row in rows) == trace.device["dur_ns"].sum()
    assert sum(row.n_started for row in rows) == trace.device.height


def test_a_span_cuts_events_at_its_ends(tmp_path):
    index = an_index(tmp_path, kernel(0, 100), kernel(150, 100))
    (row,) = busy_in_span(index, 50, 200)
    assert (row.busy_ns, row.n_started) == (50 + 50, 1)


def decoded(packet: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    length = int.from_bytes(packet[:4], "little")
    header = json.loads(packet[4 : 4 + length])
    assert (4 + length) % 8 == 0
    columns = {}
    for name, kind, offset, n in header["columns"]:
        assert offset % 8 == 0
        dtype = np.dtype(f"<{kind}") if kind != "u1" else np.dtype("u1")
        columns[name] = np.frombuffer(packet, dtype, n, 4 + length + offset)
    return header, columns


def test_a_packet_holds_what_the_view_shows(tmp_path):
    long = "k" * 500
    index = an_index(tmp_path, kernel(10, 20, name=long), kernel(40, 5), kernel(50, 5, name=long))
    header, columns = decoded(encode(index, view(index, 5, 105, 100)))
    assert columns["ts"].tolist() == [5, 35, 45]
    assert columns["dur"].tolist() == [20, 5, 5]
    names = [header["names"][n] for n in columns["name"]]
    assert names[1] == "a_kernel"
    assert names[0] == names[2] == "k" * 80 + "…" + "k" * 79
    assert columns["row"].tolist() == [0, 1, 2]


def test_a_packet_of_a_trace_without_events_has_the_types_that_the_browser_knows(tmp_path):
    """An empty trace beside a whole one: "The server does not answer", and nothing was drawn."""
    known = (ROOT / "static" / "timeline" / "packet.js").read_text()
    index = an_index(tmp_path)
    header, _ = decoded(encode(index, view(index, 0, 100, 10, [])))
    for name, dtype, _offset, n in header["columns"]:
        assert f" {dtype}: " in known, name
        assert n == 0


def test_a_packet_of_shares_has_a_row_a_series(tmp_path):
    index = an_index(tmp_path, *[kernel(100 * i, 50) for i in range(20)])
    header, columns = decoded(encode(index, view(index, 0, 2000, 20, max_events=0)))
    assert header["series"] == [[0, 0]]
    assert columns["shares"].tolist() == [128] * 20
    assert columns["counts"].tolist() == [1] * 20


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "naïve ∑ \u0000"])
def test_names_of_any_kind_survive(tmp_path, name):
    index = an_index(tmp_path, kernel(0, 10, name=name))
    header, _ = decoded(encode(index, view(index, 0, 100, 50)))
    assert header["names"] == [name]


def test_a_mangled_name_is_drawn_as_its_identifiers(tmp_path):
    mangled = "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassI"
    index = an_index(
        tmp_path, kernel(0, 10, name=mangled), kernel(20, 10, name="void at::f<int>()")
    )
    header, columns = decoded(encode(index, view(index, 0, 100, 50)))
    assert [header["names"][n] for n in columns["name"]] == [
        "ck_tile::kentry…Rmsnorm2dFwd", "void at::f<int>()",
    ]  # fmt: skip

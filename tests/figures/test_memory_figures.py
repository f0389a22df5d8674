"""The memory page's figures draw, with few marks and harmless names."""

from dataclasses import replace

import numpy as np

from profiler_core.analysis.memory.curve import MemoryCurve
from profiler_core.analysis.memory.segments import segments_of
from profiler_core.analysis.memory.snapshot import Origin, SnapshotLive, history_of
from profiler_core.figures.memory_curve import CurveSide, memory_curve
from profiler_core.figures.memory_icicle import memory_icicle
from profiler_core.figures.memory_segments import memory_segments
from profiler_core.figures.theme import DARK, LIGHT
from profiler_core.ingest.memory_snapshot.tables import tables_of
from profiler_core.model.memory_snapshot import MemorySnapshot
from tests.ingest.memory_snapshot.snapshots import SNAPSHOT

HOSTILE = "<b>&quot;x"


def curve(n=20_000):
    times = np.arange(n) * 1000
    level = np.abs(np.sin(np.arange(n))) * 1e9
    return MemoryCurve(1, 0, times, level.astype(np.int64), level.astype(np.int64) + 5, (0, 5000))


def test_a_curve_of_many_events_has_some_thousand_points_and_its_peak():
    one = curve()
    figure = memory_curve([CurveSide(HOSTILE, 0, one, 0)], LIGHT, reserved=True)
    assert len(figure.data) == 2
    assert all(len(line.x) <= 3000 for line in figure.data)
    assert max(figure.data[0].y) == one.peak_allocated_bytes / 1e6
    assert "<b>" not in figure.data[0].name
    assert "MB" in figure.layout.yaxis.title.text


def test_a_step_starts_at_zero_with_the_level_that_held_then():
    one = MemoryCurve(1, 0, np.array([0, 10, 90]), np.array([5, 7, 3]), None, (0, 50))
    (line,) = memory_curve([CurveSide("x", 1, one, 50, 80)], DARK, reserved=True).data
    assert list(line.x) == [0]
    assert list(line.y) == [7e-6]


def test_the_icicle_is_as_wide_as_its_children_and_skips_what_all_share():
    rows = (
        (Origin("m.py:9", None, ("main.py:1 main", "m.py:5 f", f"m.py:9 {HOSTILE}")), 1, 30),
        (Origin("m.py:7", None, ("main.py:1 main", "m.py:7 g")), 2, 20),
        (Origin(None, None, ()), 1, 10),
    )
    (icicle,) = memory_icicle(SnapshotLive(160, 100, rows), LIGHT).data
    width = dict(zip(icicle.ids, icicle["values"], strict=True))
    assert width["all"] == 60
    assert icicle.labels[icicle.ids.index("all")].endswith("at the peak, 60 B")
    below = [w for key, w in width.items() if icicle.parents[icicle.ids.index(key)] == "all"]
    assert sum(below) == 60
    assert not any("<b>" in label for label in icicle.labels)
    (icicle,) = memory_icicle(SnapshotLive(150, 100, rows[:2]), LIGHT).data
    assert not any("main.py" in label for label in icicle.labels)


def test_a_box_of_a_line_names_its_dossier():
    lines = ("main.py:1", "m.py:5", "m.py:9")
    path = ("main.py:1 main", "m.py:5 f", "m.py:9 g")
    rows = (
        (Origin("m.py:9", None, path, lines), 1, 30),
        (Origin("m.py:5", None, path[:2], lines[:2]), 2, 20),
        (Origin(None, "aten::mm", ()), 1, 10),  # without a stack
    )
    for shown, n_lines in ((rows, 3), (rows[:2], 2)):  # what all of two share is left out
        (icicle,) = memory_icicle(SnapshotLive(160, 100, shown), LIGHT).data
        named = dict(zip(icicle.labels, icicle.customdata, strict=True))
        expected = {frame: f"source:{line}" for frame, line in zip(path, lines, strict=True)}
        of_lines = {label: item for label, item in named.items() if item}
        assert of_lines == dict(list(expected.items())[-n_lines:])
        assert len(named) == n_lines + 1 + (len(shown) == 3)


def test_segments_draw_neighbours_of_one_state_as_one():
    snapshot = MemorySnapshot("x", **tables_of(SNAPSHOT, "x"))
    (found,) = segments_of(snapshot)
    used, free = memory_segments(found, 0, DARK).data
    assert (list(used.x), list(free.x)) == ([1024 / 1e6], [3072 / 1e6])
    assert list(free.base) == [1024 / 1e6]
    assert history_of(snapshot) is not None


def test_segments_of_runs_beside_each_other_share_one_scale():
    snapshot = MemorySnapshot("x", **tables_of(SNAPSHOT, "x"))
    (small,) = segments_of(snapshot)
    (segment,) = small.segments
    large = replace(
        small,
        segments=(replace(segment, pool="private 0.1", total_bytes=10 * segment.total_bytes),),
    )
    one, other = (memory_segments(each, 0, DARK, beside=[small, large]) for each in (small, large))
    assert one.layout.xaxis.range == other.layout.xaxis.range == (0, 40960 / 1e6)
    assert one.layout.margin.l == other.layout.margin.l > 0
    assert memory_segments(small, 0, DARK).layout.xaxis.range == (0, 4096 / 1e6)

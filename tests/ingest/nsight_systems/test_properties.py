"""Whatever tables and columns an export lacks, it is read or refused, and nothing is invented."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiler_core.analysis.summary import summarise
from profiler_core.errors import FusionscopeError
from profiler_core.ingest.nsight_systems.nesting import Nest
from profiler_core.ingest.nsight_systems.reader import read_nsight_systems
from profiler_core.model.trace import RECORDING
from tests.ingest.nsight_systems.build import SCHEMAS, VERSIONS, a_loop

TABLES = sorted({table for tables in SCHEMAS.values() for table in tables})
COLUMNS = sorted(
    {f"{t}.{c}" for tables in SCHEMAS.values() for t, cs in tables.items() for c in cs.split()}
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    version=st.sampled_from(VERSIONS),
    tables=st.sets(st.sampled_from(TABLES), max_size=6),
    columns=st.sets(st.sampled_from(COLUMNS), max_size=25),
)
def test_any_tables_and_columns_may_be_missing(tmp_path_factory, version, tables, columns):
    path = tmp_path_factory.mktemp("x") / "r.sqlite"
    # A table needs a column to be one.
    kept = {c for c in columns if c.split(".")[1] not in ("start", "id", "name")}
    a_loop(version).write(path, without=(*tables, *kept))
    try:
        trace = read_nsight_systems(path)
    except FusionscopeError as error:
        assert error.remedy
        return
    summary = summarise(trace)
    if summary.device_kind == "gpu":
        assert summary.n_kernels <= 9
        assert summary.kernel_time_ns <= 45_000
    assert summary.busy_ns + summary.idle_ns == summary.window_ns
    if "CUPTI_ACTIVITY_KIND_KERNEL" in tables:
        assert summary.n_kernels == 0 or summary.device_kind == "cpu"
    if "NVTX_EVENTS" in tables:
        assert trace.metadata[RECORDING]["steps"] is None
        assert not summary.steps


@st.composite
def nested_ranges(draw):
    """Ranges of one thread that nest, by walking down and up with time going on."""
    found, open_ranges, now = [], [], 0
    for opens in draw(st.lists(st.booleans(), max_size=40)):
        now += draw(st.integers(1, 5))
        if opens:
            open_ranges.append(now)
        elif open_ranges:
            found.append((open_ranges.pop(), now))
    found += [(start, now + 1 + n) for n, start in enumerate(reversed(open_ranges))]
    return sorted(found, key=lambda r: (r[0], -r[1]))


@given(ranges=nested_ranges(), moments=st.lists(st.integers(0, 220), max_size=20))
def test_the_innermost_range_is_the_shortest_around_the_moment(ranges, moments):
    starts, ends = (np.array([r[k] for r in ranges], dtype=np.int64) for k in (0, 1))
    nest = Nest(starts, ends)
    for moment, found in zip(
        moments, nest.innermost(np.array(moments, dtype=np.int64)), strict=True
    ):
        around = [r for r in ranges if r[0] <= moment < r[1]]
        innermost = min(around, key=lambda r: r[1] - r[0], default=None)
        assert (None if found < 0 else ranges[found]) == innermost
    for (start, end), depth in zip(ranges, nest.depth, strict=True):
        assert depth == sum(a <= start and end <= b for a, b in ranges) - 1

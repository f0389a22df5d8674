"""One small file per quirk of real writers; its totals are exact, and what was bent is counted.

tests/fixtures/kineto/plain.json is the same little run without any quirk.
"""

import gzip
from pathlib import Path

import msgspec
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from profiler_core.ingest.kineto import pipeline
from profiler_core.ingest.kineto.decode import DuckDbDecoder, PlainDecoder
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.model.trace import TABLE_SCHEMAS
from tests.ingest.totals import file_totals
from tests.reference import reference_totals

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "kineto"
SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces/customcnn/default/trace.json.gz"

# Worked out by hand: kernels of 30.125, 10.5, 20 and 10.5 us, a copy of 4.75, a memset of 1.25,
# none of them at the same time.
PLAIN = {
    "file_n_kernels": 4,
    "file_n_memcpy": 1,
    "file_n_memset": 1,
    "file_kernel_time_ns": 71_125,
    "file_busy_ns": 77_125,
    "file_n_ops": 2,
    "file_n_calls": 6,
    "file_n_python": 0,
    "file_n_memory": 2,
}
N_PLAIN = 25  # events, names of processes and flow arrows included

# file: (what differs from PLAIN, number of events, skipped, repairs)
NO: dict[str, int] = {}
QUIRKS: dict[str, tuple[dict[str, int], int, dict[str, int], dict[str, int]]] = {
    "plain": (NO, N_PLAIN, {}, {}),
    # what is no JSON
    "truncated": (
        {
            "file_n_kernels": 2,
            "file_n_memset": 0,
            "file_kernel_time_ns": 40_625,
            "file_busy_ns": 45_375,
            "file_n_calls": 4,
            "file_n_memory": 1,
        },
        15,
        {},
        {"file cut short, its last event is incomplete": 1},
    ),
    "truncated_between_events": (
        {
            "file_n_kernels": 2,
            "file_n_memset": 0,
            "file_kernel_time_ns": 40_625,
            "file_busy_ns": 45_375,
            "file_n_calls": 4,
            "file_n_memory": 1,
        },
        15,
        {},
        {"file cut short between two events": 1},
    ),
    "trailing_comma": (NO, N_PLAIN, {}, {"trailing comma": 1}),
    "trailing_comma_in_event": (NO, N_PLAIN, {}, {}),
    "missing_closing_bracket": (NO, N_PLAIN, {}, {"closing bracket missing": 1}),
    "unescaped_backslash": (NO, N_PLAIN, {}, {"backslash in a name escaped": 2}),
    "unescaped_quote": (NO, N_PLAIN, {}, {"quote in a name escaped": 8}),
    "control_character": (NO, N_PLAIN, {}, {"control character in a name": 1}),
    "tab_in_name": (NO, N_PLAIN, {}, {"control character in a name": 1}),
    "nan_infinity": (NO, N_PLAIN, {}, {"NaN, Infinity or N/A read as missing": 2}),
    "not_available": (NO, N_PLAIN, {}, {"NaN, Infinity or N/A read as missing": 2}),
    "malformed_number": (
        {"file_n_kernels": 3, "file_kernel_time_ns": 60_625, "file_busy_ns": 66_625},
        N_PLAIN,
        {"no duration": 1},
        {"malformed number read as missing": 1},
    ),
    "not_utf8": (NO, N_PLAIN, {}, {"byte that is not UTF-8 replaced": 1}),
    "top_level_array": (NO, N_PLAIN, {}, {}),
    "empty_last_event": (NO, N_PLAIN + 1, {"empty event": 1}, {}),
    "duplicate_keys": (NO, N_PLAIN, {}, {"duplicate key, the last one holds": 1}),
    "two_documents": (NO, N_PLAIN, {}, {"further document in the same file, left out": 1}),
    # what is missing
    "missing_ph": (
        {"file_n_kernels": 3, "file_kernel_time_ns": 60_625, "file_busy_ns": 66_625},
        N_PLAIN,
        {"no phase (ph)": 1},
        {},
    ),
    "missing_cat": ({"file_n_ops": 1}, N_PLAIN, {}, {}),
    "missing_dur": (
        {
            "file_n_kernels": 3,
            "file_kernel_time_ns": 60_625,
            "file_busy_ns": 66_625,
            "file_n_ops": 1,
        },
        N_PLAIN,
        {"no duration": 2},
        {},
    ),
    "missing_ts": (
        {"file_n_kernels": 3, "file_kernel_time_ns": 60_625, "file_busy_ns": 66_625},
        N_PLAIN,
        {"no start time": 1},
        {},
    ),
    "missing_name": (NO, N_PLAIN, {}, {"event without a name": 1}),
    "missing_args": (NO, N_PLAIN, {}, {}),
    "args_no_object": (NO, N_PLAIN, {}, {"arguments that are no object": 1}),
    "never_filled_in": (
        {"file_n_kernels": 3, "file_kernel_time_ns": 60_625, "file_busy_ns": 66_625},
        N_PLAIN,
        {"start and duration never filled in (0)": 1},
        {},
    ),
    # numbers and units
    "negative_duration": (NO, N_PLAIN, {}, {"negative duration read as 0": 1}),
    "string_numbers": (NO, N_PLAIN, {}, {"number written as text": 44}),
    "odd_ids": (NO, N_PLAIN, {}, {}),
    "thread_as_text": (NO, N_PLAIN, {}, {}),
    "display_time_unit_ns": (NO, N_PLAIN, {}, {}),
    "epoch_microseconds": (NO, N_PLAIN, {}, {}),
    "epoch_with_nanoseconds": (NO, N_PLAIN, {}, {}),
    "base_time_after_events": (NO, N_PLAIN, {}, {}),
    "properties_after_events": (NO, N_PLAIN, {}, {}),
    "bracket_in_trace_name": (NO, N_PLAIN, {}, {}),
    "border_in_name": (NO, N_PLAIN, {}, {}),
    # order, overlap and layout
    "out_of_order": (NO, N_PLAIN, {}, {}),
    "overlapping_kernels": (
        {
            "file_n_kernels": 5,
            "file_kernel_time_ns": 101_125,
            "file_busy_ns": 82_000,
            "file_n_calls": 7,
        },
        N_PLAIN + 2,
        {},
        {},
    ),
    "compact": (NO, N_PLAIN, {}, {}),
    "indented": (NO, N_PLAIN, {}, {}),
    # what is in it
    "no_profiler_step": (NO, N_PLAIN - 3, {}, {}),
    "no_gpu_events": (
        {
            "file_n_kernels": 0,
            "file_n_memcpy": 0,
            "file_n_memset": 0,
            "file_kernel_time_ns": 0,
            "file_busy_ns": 0,
        },
        N_PLAIN - 8,
        {},
        {},
    ),
    "gpu_events_only": ({"file_n_ops": 0, "file_n_calls": 0, "file_n_memory": 0}, 6, {}, {}),
    "several_devices": (
        {
            "file_n_kernels": 5,
            "file_kernel_time_ns": 101_125,
            "file_busy_ns": 82_000,
            "file_n_calls": 7,
        },
        N_PLAIN + 2,
        {},
        {},
    ),
    "cuda_graph": ({"file_n_calls": 4}, N_PLAIN - 2, {}, {}),
    "python_functions": ({"file_n_python": 2}, N_PLAIN + 2, {}, {}),
    "very_long_name": (NO, N_PLAIN, {}, {}),
    "rocm": (NO, N_PLAIN, {}, {}),
    "xpu": (NO, N_PLAIN, {}, {}),
    "mtia": (NO, N_PLAIN, {}, {}),
    "old_category_names": (NO, N_PLAIN, {}, {}),
    "unknown_category": (NO, N_PLAIN + 2, {"phase 'B' is not read": 1}, {}),
    "html_in_name": (NO, N_PLAIN, {}, {}),
}

# Sizes of the pieces: the whole file at once, and cut between nearly all events.
CHUNKS = [(1 << 20,), (150,)]


@pytest.mark.parametrize("chunk_bytes", CHUNKS, ids=["whole", "pieces"])
@pytest.mark.parametrize("name", QUIRKS)
def test_a_quirk_changes_no_total_silently(name, chunk_bytes):
    differs, n_events, skipped, repairs = QUIRKS[name]
    trace = read_kineto(FIXTURES / f"{name}.json", chunk_bytes=chunk_bytes)
    assert file_totals(trace) == PLAIN | differs
    assert dict(trace.tally.skipped) == skipped
    assert dict(trace.tally.repairs) == repairs
    assert trace.tally.n_events == n_events
    assert trace.tally.n_read == n_events - sum(skipped.values())


def test_an_installation_without_duckdb_reads_the_same(monkeypatch):
    monkeypatch.setattr(pipeline, "decoder", PlainDecoder)
    for name, (differs, n_events, skipped, repairs) in QUIRKS.items():
        trace = read_kineto(FIXTURES / f"{name}.json")
        assert file_totals(trace) == PLAIN | differs, name
        assert (trace.tally.n_events, trace.tally.skipped) == (n_events, skipped), name
        assert trace.tally.repairs == repairs, name


def test_the_two_decoders_give_equal_rows():
    """On a real trace: every column, to the nanosecond."""
    with gzip.open(SAMPLE) as file:
        events = bytes(msgspec.json.decode(file.read(), type=dict[str, msgspec.Raw])["traceEvents"])
    fast = DuckDbDecoder()
    try:
        assert_frame_equal(fast.decode(events[1:-1]), PlainDecoder().decode(events[1:-1]))
    finally:
        fast.close()


@pytest.mark.parametrize("name", QUIRKS)
def test_every_table_is_sorted_and_typed(name):
    trace = read_kineto(FIXTURES / f"{name}.json", chunk_bytes=(150,))
    for table, schema in TABLE_SCHEMAS.items():
        frame = getattr(trace, table)
        assert dict(frame.schema) == schema
        assert frame["ts_ns"].is_sorted()


def test_each_fixture_has_its_line_here():
    special = {"only_metadata", "no_events"}
    assert {path.stem for path in FIXTURES.glob("*.json")} == set(QUIRKS) | special


def test_the_plain_file_has_the_totals_of_the_reference():
    reference = reference_totals(FIXTURES / "plain.json")
    assert {key: reference[key] for key in PLAIN} == PLAIN


def test_a_trace_without_events_is_one():
    for name, n_events in (("no_events", 0), ("only_metadata", 2)):
        trace = read_kineto(FIXTURES / f"{name}.json")
        assert (trace.n_events, trace.tally.n_events) == (0, n_events)
        assert not trace.has_device_events


def test_names_keep_what_stands_in_them():
    def names(file: str, table: str = "ops") -> list[str]:
        trace = read_kineto(FIXTURES / f"{file}.json", chunk_bytes=(150,))
        return getattr(trace, table)["name"].cast(pl.String).to_list()

    assert names("unescaped_backslash")[1] == r"torch\cuda\__init__.py(219): _lazy_init"
    assert names("unescaped_quote")[1] == '{"device": "cpu", "dtype": "float32"}(12): run'
    assert names("not_utf8")[1] == "aten::re\ufffdlu"
    assert names("border_in_name")[1].startswith('},\n  {"ph": "X"')
    assert names("html_in_name", "device")[3] == "<img src=x onerror=alert(1)>"
    assert len(names("very_long_name", "device")[3]) == len("triton_poi_fused_") + 100_000
    assert names("missing_name", "device")[1] == "(no name)"


def test_times_are_exact_nanoseconds_whatever_the_clock():
    base = 1_790_857_026_000_000_000
    plain = read_kineto(FIXTURES / "plain.json")
    assert plain.origin_ns == base + 4_390_245_265_050_000  # the "Trace" range is the first
    assert plain.device["ts_ns"].to_list() == [90_000, 150_000, 170_000, 490_000, 520_000, 570_000]
    assert plain.gpu_annotations["ts_ns"].to_list() == [89_999]
    same = ("base_time_after_events", "properties_after_events", "display_time_unit_ns")
    for name in same:
        trace = read_kineto(FIXTURES / f"{name}.json")
        assert trace.origin_ns == plain.origin_ns
        assert trace.device.equals(plain.device)
    epoch = read_kineto(FIXTURES / "epoch_with_nanoseconds.json", chunk_bytes=(150,))
    assert epoch.origin_ns == 1_795_249_612_818_562_123
    assert epoch.gpu_annotations["ts_ns"].to_list() == [89_876]  # .999 - .123: through a double .75


def test_ids_that_mean_none_join_nothing():
    trace = read_kineto(FIXTURES / "odd_ids.json")
    assert trace.device["correlation"].to_list() == [None, None, 13, None, 15, None]


def test_device_and_stream_come_from_where_they_stand():
    text = read_kineto(FIXTURES / "thread_as_text.json")
    assert text.device["stream"].to_list()[0] == 7
    assert text.ops["pid"].to_list() == [469, None]
    bare = read_kineto(FIXTURES / "missing_args.json")
    assert bare.device.select("device", "stream", "correlation").row(1) == (0, 7, None)
    rocm = read_kineto(FIXTURES / "rocm.json")
    assert rocm.device["stream"].unique().to_list() == [0]
    assert set(rocm.runtime["cat"].cast(pl.String)) == {"hip_runtime", "hip_driver"}
    xpu = read_kineto(FIXTURES / "xpu.json")
    assert xpu.device["stream"].unique().to_list() == [7]
    several = read_kineto(FIXTURES / "several_devices.json")
    assert sorted(several.device["device"].unique()) == [0, 1]


def test_a_graph_launch_has_many_kernels():
    trace = read_kineto(FIXTURES / "cuda_graph.json")
    replayed = trace.device.filter(pl.col("correlation") == 20)
    assert replayed["graph_node_id"].to_list() == [14, None, 16]
    assert replayed["graph_id"].to_list() == [3, None, 3]


def test_gpu_annotations_are_no_device_events():
    trace = read_kineto(FIXTURES / "plain.json")
    assert trace.gpu_annotations.height == 1
    assert set(trace.device["cat"].cast(pl.String)) == {"kernel", "gpu_memcpy", "gpu_memset"}
    assert set(trace.other["cat"].cast(pl.String)) == {"cuda_sync", "Trace"}

"""An export becomes the tables of a trace, with the numbers that SQL finds in it."""

import gzip
import sqlite3
import zipfile

import polars as pl
import pyarrow as pa
import pytest

from profiler_core.analysis.summary import summarise
from profiler_core.analysis.work import device_work
from profiler_core.errors import BadInput, NotATrace
from profiler_core.ingest.nsight_systems.choice import Choice
from profiler_core.ingest.nsight_systems.reader import read_nsight_systems
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.model.trace import KERNEL, MEMCPY, MEMSET
from tests.ingest.nsight_systems.build import (
    AUTOGRAD,
    PID,
    START_NS,
    TID,
    VERSIONS,
    Export,
    a_loop,
    global_id,
)
from tests.ingest.slug_of import slug_of


def sql(path, query):
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_totals_are_those_that_sql_finds(tmp_path, version):
    path = a_loop(version).write(tmp_path / "report.sqlite")
    trace = read_nsight_systems(path)
    for cat, table in ((KERNEL, "KERNEL"), (MEMCPY, "MEMCPY"), (MEMSET, "MEMSET")):
        of = trace.device.filter(pl.col("cat") == cat)
        totals = sql(path, f'SELECT count(*), sum("end" - start) FROM CUPTI_ACTIVITY_KIND_{table}')
        assert [(of.height, of["dur_ns"].sum())] == totals
    by_name = trace.device.filter(pl.col("cat") == KERNEL).group_by("name").agg(
        pl.len(), pl.col("dur_ns").sum()
    )  # fmt: skip
    assert sorted(by_name.with_columns(pl.col("name").cast(pl.String)).rows()) == sql(
        path,
        'SELECT s.value, count(*), sum(k."end" - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k '
        "JOIN StringIds s ON s.id = k.demangledName GROUP BY 1 ORDER BY 1",
    )
    assert trace.runtime.height == 15 + 3
    assert trace.tally.n_skipped == 0
    assert not trace.tally.repairs


@pytest.mark.parametrize("version", VERSIONS)
def test_steps_launches_and_operators_are_the_same_in_every_version(tmp_path, version):
    trace = read_nsight_systems(a_loop(version).write(tmp_path / "report.sqlite"))
    summary = summarise(trace)
    assert [step.name for step in summary.steps] == [f"ProfilerStep#{n}" for n in range(3)]
    assert (summary.n_kernels, summary.n_memcpy, summary.n_memset) == (9, 3, 3)
    assert summary.n_launches == 15
    assert summary.kernel_time_ns == 9 * 5_000
    assert summary.device_time_ns == 9 * 5_000 + 3 * 2_000 + 3 * 1_000
    assert summary.device.name == "NVIDIA H200"
    assert summary.device.n_multiprocessors == 132
    assert summary.device.compute_capability == "9.0"
    assert summary.recorded_by == "Nsight Systems"
    assert device_work(trace).group_by("step").len().sort("step").rows() == [(0, 5), (1, 5), (2, 5)]
    operators = trace.device.join(
        trace.ops.select("external_id", operator="name"), on="external_id", how="left"
    )
    assert operators.head(5)["operator"].cast(pl.String).to_list() == [
        None, "aten::addmm", "aten::relu", "AddmmBackward0", None,
    ]  # fmt: skip


def test_names_and_numbers_are_written_as_kineto_writes_them(tmp_path):
    trace = read_nsight_systems(a_loop().write(tmp_path / "report.sqlite"))
    (copy,) = trace.device.filter(pl.col("cat") == MEMCPY).head(1).iter_rows(named=True)
    assert (copy["name"], copy["bytes"]) == ("Memcpy HtoD (Pageable -> Device)", 4_096)
    kernel = trace.device.filter(pl.col("cat") == KERNEL).row(0, named=True)
    assert kernel["name"] == "void gemm(float*)"
    assert (kernel["grid"], kernel["block"]) == ("[1568,2,1]", "[128,1,1]")
    assert (kernel["registers_per_thread"], kernel["shared_memory_bytes"]) == (32, 1_536)
    assert (kernel["device"], kernel["stream"]) == (0, 7)
    names = trace.runtime["name"].cast(pl.String).unique().sort().to_list()
    assert names == [
        "cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaStreamSynchronize",
    ]  # fmt: skip
    assert set(trace.runtime["tid"]) == {TID, AUTOGRAD}
    assert set(trace.runtime["pid"]) == {PID}
    waits = trace.other.filter(pl.col("cat") == "cuda_sync")
    assert waits["name"].cast(pl.String).to_list() == ["Stream Sync"] * 3
    linear = trace.ops.filter(pl.col("name").cast(pl.String) == "aten::linear").row(1, named=True)
    assert linear["input_dims"] == "[[32,64],[128,64]]"
    assert linear["sequence_number"] == 1


def test_the_clock_is_the_sessions(tmp_path):
    trace = read_nsight_systems(a_loop().write(tmp_path / "report.sqlite"))
    assert trace.origin_ns == START_NS + 1_000_000
    assert trace.annotations["ts_ns"][0] == 0


def test_driver_calls_are_told_from_the_runtimes_and_keep_their_own_version(tmp_path):
    export = a_loop()
    export.call(5, 10, "cuMemcpyDtoHAsync_v2", 9_000)
    export.call(6, 10, "cudaStreamGetCaptureInfo_v2_v11030", 9_001)
    trace = read_nsight_systems(export.write(tmp_path / "report.sqlite"))
    told = dict(trace.runtime.select(pl.col("name", "cat").cast(pl.String)).iter_rows())
    assert told["cuMemcpyDtoHAsync_v2"] == "cuda_driver"
    assert told["cudaStreamGetCaptureInfo_v2"] == "cuda_runtime"


def test_a_replay_recorded_node_by_node_is_one_launch_with_its_kernels(tmp_path):
    export = Export("2026.2.1")
    export.call(1_000, 500, "cudaGraphLaunch_v10000", 1)
    for n in range(4):
        export.kernel(3_000 + n * 100, 90, f"k{n}", 1, graphNodeId=(2 << 32) + n, graphId=2)
    trace = read_nsight_systems(export.write(tmp_path / "report.sqlite"))
    summary = summarise(trace)
    assert (summary.n_kernels, summary.n_launches, summary.n_graph_launches) == (4, 1, 1)
    assert trace.device["graph_id"].to_list() == [2] * 4
    assert trace.device["graph_node_id"].to_list() == [(2 << 32) + n for n in range(4)]


def test_a_replay_recorded_as_a_whole_counts_as_one_kernel_and_is_said(tmp_path):
    export = Export("2024.5.1")
    for n in range(2):
        export.call(1_000 + n * 9_000, 500, "cudaGraphLaunch_v10000", 1 + n)
        export.replay(3_000 + n * 9_000, 4_000, 12, 1 + n)
    summary = summarise(read_nsight_systems(export.write(tmp_path / "report.sqlite")))
    assert [(k.name, k.n, k.time_ns) for k in summary.kernels] == [("CUDA graph 12", 2, 8_000)]
    assert summary.n_graph_launches == 2
    assert any("--cuda-graph-trace=node" in note for note in summary.notes)


def test_of_several_processes_the_busiest_is_read_or_the_asked_one(tmp_path):
    export = a_loop()
    for n in range(5):  # the same correlations, as each process counts its own
        export.call(1_000 + n * 9_000, 500, "cudaLaunchKernel_v7000", n + 1, 1, pid=99)
        export.kernel(2_000 + n * 9_000, 8_000, "other", n + 1, globalPid=global_id(99))
    path = export.write(tmp_path / "report.sqlite")
    own = read_nsight_systems(path)
    assert set(own.runtime["pid"]) == {PID}
    assert device_work(own)["launch_row"].null_count() == 0
    notes = summarise(own).notes
    assert any("2 processes" in note and str(PID) in note and "99" in note for note in notes)
    other = read_nsight_systems(path, Choice(process=99))
    assert set(other.device["name"].cast(pl.String)) == {"void other(float*)"}
    assert other.runtime.height == 5
    with pytest.raises(BadInput, match=r"No process 5 of report\.sqlite used a GPU") as problem:
        read_nsight_systems(path, Choice(process=5))
    assert "4711, 99" in problem.value.problem


def test_names_may_be_registered_or_written_out(tmp_path):
    export = Export()
    export.push(1_000, 2_000, "written")
    export.add(
        "NVTX_EVENTS", start=3_000, end=4_000, eventType=59, domainId=1,
        globalTid=global_id(PID, TID), textId=export.string("registered"),
    )  # fmt: skip
    export.push(5_000, None, "never ended")
    export.add("NVTX_EVENTS", start=1, end=None, eventType=34, text="a mark")
    export.launch(6_000, "k")
    trace = read_nsight_systems(export.write(tmp_path / "report.sqlite"))
    assert trace.annotations["name"].cast(pl.String).to_list() == ["written", "registered"]
    assert trace.tally.skipped == {"no duration": 1}


def test_start_end_ranges_that_cross_others_stay_off_the_thread(tmp_path):
    export = Export()
    export.push(1_000, 9_000, "outer")
    export.push(2_000, 8_000, "within", eventType=60)
    export.push(3_000, 12_000, "crosses", eventType=60)
    export.push(20_000, 30_000, "another thread ends it", eventType=60, endGlobalTid=5)
    export.launch(4_000, "k")
    trace = read_nsight_systems(export.write(tmp_path / "report.sqlite"))
    assert trace.annotations["name"].cast(pl.String).to_list() == ["outer", "within"]
    others = trace.other.filter(pl.col("cat") == "nvtx_range")
    assert others["name"].cast(pl.String).to_list() == ["crosses", "another thread ends it"]


@pytest.mark.parametrize("packing", ["gz", "zst", "zip"])
def test_it_may_be_packed_as_a_trace_may_be(tmp_path, packing):
    plain = a_loop().write(tmp_path / "report.sqlite")
    data, packed = plain.read_bytes(), tmp_path / f"report.sqlite.{packing}"
    if packing == "gz":
        packed.write_bytes(gzip.compress(data))
    elif packing == "zst":
        with pa.CompressedOutputStream(packed, "zstd") as out:
            out.write(data)
    else:
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("report.sqlite", data)
    assert read_nsight_systems(packed).device.equals(read_nsight_systems(plain).device)
    opened = open_run(packed)
    assert opened.trace is not None
    assert open_trace(opened.trace).device.height == 15


def test_it_is_a_run_by_its_content_and_read_once(tmp_path):
    path = a_loop().write(tmp_path / "anything.bin")
    assert slug_of(path) == "nsight_systems"
    trace = open_trace(path)
    assert open_trace(path).device.equals(trace.device)


@pytest.mark.parametrize("name", ["report.nsys-rep", "report.qdrep"])
def test_a_binary_report_is_refused_with_the_command_that_exports_it(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"NVIDIA Tegra Profiler Report 1.\n\x0bLocal (CLI)")
    for opening in (open_run, open_trace):
        with pytest.raises(BadInput, match="a binary report of Nsight Systems") as problem:
            opening(path)
        assert "nsys export --type sqlite" in problem.value.remedy


@pytest.mark.parametrize(
    ("without", "sentence"),
    [
        (("CUPTI_ACTIVITY_KIND_RUNTIME",), "no calls of CUDA's runtime or driver"),
        (("NVTX_EVENTS",), "holds no NVTX ranges"),
        (
            tuple(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET")),
            "holds no GPU work",
        ),
    ],
)
def test_what_is_missing_is_said_with_how_to_record_it(tmp_path, without, sentence):
    trace = read_nsight_systems(a_loop().write(tmp_path / "report.sqlite", without=without))
    notes = [note for note in summarise(trace).notes if sentence in note]
    assert len(notes) == 1
    assert "-t cuda" in notes[0]


def test_an_empty_export_is_no_trace(tmp_path):
    with pytest.raises(NotATrace, match="no kernel, no call and no NVTX range") as problem:
        read_nsight_systems(Export().write(tmp_path / "report.sqlite"))
    assert "nsys profile -t cuda,nvtx" in problem.value.remedy

"""A CPU's compiled step whose C++ kernels the trace does not name is compared with nothing."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from profiler_core.analysis.measures import measures
from profiler_core.analysis.unnamed_code import has_unnamed_code
from profiler_core.analysis.verdict import Claim
from profiler_core.errors import NothingToAnalyse
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.session.comparison import Comparison
from tests.analysis.worded import worded

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
PAIR = [FIXTURES / "unnamed_code" / name for name in ("eager", "default")]
CALL = "## Call CompiledFxGraph"


@pytest.fixture(scope="module")
def compiled():
    return read_kineto(PAIR[1] / "trace.json.gz")


def test_most_of_the_compiled_calls_is_in_no_event():
    """By plain JSON: no event below the calls but the library's, which take two fifths of them."""
    events = json.loads(gzip.decompress((PAIR[1] / "trace.json.gz").read_bytes()))["traceEvents"]
    calls = [e for e in events if str(e.get("name")).startswith(CALL)]
    products = [e for e in events if e.get("name") == "aten::addmm"]
    assert len(calls) == 4
    named, whole = sum(e["dur"] for e in products), sum(e["dur"] for e in calls)
    assert 0.3 < named / whole < 0.5
    assert not [e for e in events if "cpp_" in str(e.get("name"))]


def test_such_a_pair_is_not_compared():
    """ "Profiled CPU time per step 197 ms → 71.8 ms" stood there, with 110 ms idle."""
    comparison = Comparison.open(PAIR)
    (candidate,) = comparison.numbers.candidates
    assert comparison.pairs[0].verdict.claim is Claim.UNNAMED_CODE
    assert candidate.device_time_ns[1] is None
    assert "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1" in worded(candidate).grounds
    with pytest.raises(NothingToAnalyse, match="TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1"):
        _ = comparison.pairs[0].ledger
    notes = comparison.runs[1].summary.notes
    assert any("TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1" in note for note in notes)
    assert not any("KERNEL_PROFILE" in note for note in comparison.runs[0].summary.notes)


def test_side_by_side_it_has_a_step_time_and_no_time_of_kernels():
    """ "71.8 ms, −63 %" and "39 %, −60 pts" stood below that the two cannot be compared."""
    rows = {row.label: row for row in measures(Comparison.open(PAIR).numbers)}
    assert None not in rows["Step time, profiled"].values
    for name in ("Profiled CPU time per step", "CPU busy", "Kernels per step"):
        before, after = rows[name].values
        assert before is not None and after is None


def test_named_kernels_and_eager_runs_lack_nothing(compiled):
    assert has_unnamed_code(compiled)
    assert not has_unnamed_code(read_kineto(PAIR[0] / "trace.json.gz"))
    named = FIXTURES / "captures" / "smallcnn_cpu.default" / "trace.json.gz"
    assert not has_unnamed_code(read_kineto(named))
    has_one = compiled.ops.with_columns(
        pl.col("name").cast(pl.String).replace("aten::copy_", "graph_0_cpp_fused_copy_0")
    )
    assert not has_unnamed_code(replace(compiled, ops=has_one))
    without = compiled.annotations.filter(~pl.col("name").cast(pl.String).str.starts_with(CALL))
    assert not has_unnamed_code(replace(compiled, annotations=without))


def test_what_a_wrapper_takes_is_no_kernel(compiled):
    """A fifth of the calls in no operator, or a tiny model's few µs: nothing is missing."""
    is_call = pl.col("name").cast(pl.String).str.starts_with(CALL)
    calls = compiled.annotations.filter(is_call).sort("ts_ns")
    products = compiled.ops.filter(pl.col("name") == "aten::addmm").sort("ts_ns")[::2]
    for share, lacks in ((0.8, False), (0.7, True)):
        lasting = products.with_columns(
            ts_ns=calls["ts_ns"], dur_ns=(share * calls["dur_ns"]).cast(pl.Int64)
        )
        assert has_unnamed_code(replace(compiled, ops=lasting)) is lacks
    tiny = {
        table: getattr(compiled, table).with_columns(pl.col("ts_ns", "dur_ns") // 2_000)
        for table in ("ops", "annotations")
    }
    assert not has_unnamed_code(replace(compiled, **tiny))

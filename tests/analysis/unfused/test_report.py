"""Pairs with their time and reason, on the samples."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.ledger.sides import LedgerSide
from profiler_core.analysis.unfused import report
from profiler_core.analysis.unfused.handovers import moved_bytes
from profiler_core.analysis.unfused.numels import range_of
from profiler_core.analysis.unfused.report import unfused
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.model.compilation import CompileLog, FusionDecision
from profiler_core.session.run import Run

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
# By benchmarks/unfused_by_hand.py on an H200.
FUSED_BY_HAND = Path(__file__).resolve().parents[2] / "fixtures" / "unfused"
H200 = peaks_of("NVIDIA H200")


def of(sample, log=None):
    material = Run.open(SAMPLES / sample).material
    return unfused(material.ledger_side, log or material.compile_log, H200)


@pytest.fixture(scope="module")
def training():
    return of("simplecnn-training/default")


def between(pairs, writer, reader):
    return next(p for p in pairs if writer in p.writer and reader in p.reader)


def test_bytes_become_time_by_the_memorys_bandwidth(training):
    """16.8 MB (8.39 written, 8.39 read) at 4.8 TB/s are 3.5 µs, and it fits in 60 MB of L2."""
    pair = between(training, "extern_kernels.convolution", "fused_convolution_0")
    assert pair.saved_bytes == 2 * 64 * 32 * 32 * 32 * 4
    assert pair.at_stake_ns == pytest.approx(pair.saved_bytes / 4.8e12 * 1e9)
    assert pair.fits_in_cache is True
    assert pair.at_stake_ns <= pair.writer_ns + pair.reader_ns
    stakes = [p.at_stake_ns for p in training]
    assert stakes == sorted(stakes, reverse=True)


@pytest.mark.parametrize(("name", "least", "most"), [("pool", 0.95, 1.02), ("columns", 0.5, 1.0)])
def test_what_fusing_by_hand_saved_on_an_h200(name, least, most):
    """The columns' own kernel is slower than both of Inductor's at the memory's pace.

    At the data sheet's bandwidth the bound of the pool was 343 µs, and 386 were saved.
    """
    folder = FUSED_BY_HAND / name
    measured = json.loads((folder / "measured.json").read_text())
    log = read_inductor([folder / "torch_trace.log.gz"])
    side = LedgerSide(read_kineto(folder / "trace.json.gz"), log)
    pair = between(unfused(side, None, peaks_of(measured["device"])), *measured["between"])
    saved_ns = 1e3 * (measured["compiled_us"] - measured["by_hand_us"])
    assert not pair.fits_in_cache
    assert least <= saved_ns / pair.at_stake_ns <= most
    # What nobody else reads need not be written either; the sums' rows are a result.
    assert pair.at_stake_ns / pair.saved_bytes > 1e9 / H200.memory_bytes_per_s


def test_a_kernel_whose_bytes_are_known_in_part_has_no_pace():
    log = read_inductor([FUSED_BY_HAND / "pool" / "torch_trace.log.gz"])
    (graph,) = log.graphs
    activation = 2 * 64 * 64 * 224 * 224 * 4 + 2 * 64 * 4
    pooling = 64 * 64 * (224 * 224 + 112 * 112) * 4
    assert moved_bytes(graph) == {0: activation, 1: pooling}
    sizes = {name: size for name, size in graph.buffers.items() if name != "buf1"}
    assert moved_bytes(msgspec.structs.replace(graph, buffers=sizes)) == {0: activation}


def test_no_call_becomes_shorter_than_nothing():
    """At a memory of 1 MB/s all of both calls is at stake, and no more."""
    material = Run.open(SAMPLES / "simplecnn-training/default").material
    slow = replace(H200, memory_bytes_per_s=1e6)
    pairs = unfused(material.ledger_side, None, slow)
    own = [pair for pair in pairs if pair.saved_bytes > 2e6]
    assert own
    for pair in own:
        assert pair.at_stake_ns <= pair.writer_ns + pair.reader_ns
    both = between(pairs, "extern_kernels.convolution", "fused_convolution_0")
    assert both.at_stake_ns == both.writer_ns + both.reader_ns


def test_reasons_by_hand(training):
    """Read off the generated code of the sample, kernel by kernel."""
    by_pair = {
        ("extern_kernels.convolution", "fused_convolution_0"): "library",
        ("fused_convolution_0", "triton_red_fused__native_batch_norm"): "split_reduction",
        ("fused_convolution_0", "functional_relu_3"): "between",
        ("functional_relu_3", "max_pool2d_with_indices_4"): "ranges",
        ("max_pool2d_with_indices_4", "extern_kernels.convolution"): "library",
        ("aten._adaptive_avg_pool2d_backward", "triton_red_fused"): "fallback",
    }
    for (writer, reader), key in by_pair.items():
        pair = between(training, writer, reader)
        assert pair.reason.key == key, (writer, reader)
        assert not pair.in_log
    pool = between(training, "functional_relu_3", "max_pool2d_with_indices_4").reason
    assert "2 097 152 elements against 524 288 elements" in pool.text
    into_convolution = between(training, "max_pool2d_with_indices_4", "convolution").reason
    assert into_convolution.change == ""  # its template has no prologue
    mean = between(training, "fused_convolution_0", "functional_relu_3").reason
    assert "a reduction over what the first writes" in mean.text


def test_what_is_on_by_default_is_not_advised():
    """torch 2.11 of this capture logged loop_ordering_after_fusion and prologue_fusion as True."""
    log = Run.open(SAMPLES / "resnet50/default").material.compile_log
    said = FusionDecision(
        first="op3", second="op4", reason="memory deps did not match", compile_id="0/0"
    )
    edited = CompileLog(fusion_decisions=(said,), compilations=log.compilations)
    pair = between(of("resnet50/default", edited), "relu_2", "max_pool2d")
    assert pair.reason.change.startswith("One layout for both.")
    assert "as it is by default up to torch 2.8" in pair.reason.change


def test_layers_are_one_line_and_replays_have_times_too():
    """BERT base: twelve layers, each with the linear layer that its GELU follows."""
    (gelu,) = (
        p for p in of("bert/reduce-overhead") if "gelu" in p.reader and p.writer.endswith(".mm")
    )
    assert gelu.n == 12
    assert gelu.saved_bytes == 12 * 2 * (8 * 128) * 3072 * 4
    assert gelu.writer_ns > gelu.at_stake_ns
    assert "max-autotune" in gelu.reason.change


def test_inductors_own_reason_goes_first():
    """Where the log has refusals and the compile id has one graph; buffers 2 and 3 of ResNet."""
    log = Run.open(SAMPLES / "resnet50/default").material.compile_log
    pair = between(of("resnet50/default"), "relu_2", "max_pool2d")
    assert pair.reason.key == "ranges"
    said = FusionDecision(
        first="op3", second="op4", reason="memory deps did not match", compile_id="0/0"
    )
    edited = CompileLog(fusion_decisions=(said,), compilations=log.compilations)
    pair = between(of("resnet50/default", edited), "relu_2", "max_pool2d")
    assert pair.in_log
    assert pair.reason.key == "order"
    assert pair.reason.text.endswith("Inductor: memory deps did not match.")


def test_nothing_is_said_without_code_or_peaks():
    material = Run.open(SAMPLES / "resnet50/default").material
    assert unfused(material.ledger_side, None, None) == ()
    eager = Run.open(SAMPLES / "resnet50/eager").material
    assert unfused(eager.ledger_side, None, H200) == ()


def test_ranges_of_kernels():
    source = (
        "@triton_heuristics.reduction(\n)\ndef triton_red(x):\n    xnumel = 32\n"
        "    r0_numel = 768\n"
    )
    assert range_of(source).total == 32 * 768
    assert range_of(source).text == "32 results of 768 elements each"
    assert range_of("@triton_heuristics.pointwise(\n)\n    xnumel = s0*3\n") is None


def test_a_graph_break_between_two_kernels_is_their_reason(monkeypatch):
    """breaky: relu's result, 32 x 256 floats, is scaled in the next graph: 13.7 ns of bandwidth.

    Parts of a graph that DDP cut have no break between them.
    """
    monkeypatch.setattr(report, "_LEAST_NS", 1.0)
    (pair,) = [p for p in of("breaky/default") if p.reason.key == "graph_break"]
    assert pair.graph == "0/0 inference → 1/0 inference"
    assert (pair.writer, pair.reader) == (
        "triton_red_fused_addmm_relu_sum_0",
        "triton_poi_fused_mul_0",
    )
    assert pair.saved_bytes == 2 * 32 * 256 * 4
    assert pair.at_stake_ns == pytest.approx(pair.saved_bytes / 4.8e12 * 1e9)
    assert not [p for p in of("ddp/default") if p.reason.key == "graph_break"]

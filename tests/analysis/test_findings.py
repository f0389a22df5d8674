"""Each finding on a real capture in which it fires, and on one in which it must not.

The captures are the repository's own samples, captures made for one finding each, and the trace of
an optimizer cut from a larger one (tests/fixtures/findings). What none of them shows is a real
capture edited in that one place: odd sizes, pageable and small copies, a full or fragmented memory
(all need a GPU with a workload made for them), and what skipped CUDA graphs and too many threads
look like on a GPU.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import polars as pl
import pytest

from profiler_core.analysis.compare import compare, make_side
from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.compilation.skipped_frames import other_run
from profiler_core.analysis.findings import RULES, Facts, Finding, findings, ranked, run_findings
from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.analysis.summary import summarise
from profiler_core.ingest.compile_log.reader import read_compile_log
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.ingest.run import open_run
from profiler_core.ingest.torch_logs.other import parse_cudagraph
from profiler_core.model.run import Numerics

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"


def folder(name: str) -> Path:
    """`fixtures/…` beside the tests, anything else a sample of the repository."""
    return ROOT / "tests" / name if name.startswith("fixtures/") else ROOT / "sample_traces" / name


@cache
def read(name: str):
    run = open_run(folder(name))
    trace = read_kineto(run.trace)
    return run, trace, summarise(trace, run.record.measurement)


def ledger_side(name: str) -> LedgerSide:
    run, trace, _ = read(name)
    return LedgerSide(trace, read_inductor(run.torch_trace) if run.torch_trace else None)


@cache
def facts(candidate: str, baseline: str | None = None) -> Facts:
    run, trace, summary = read(candidate)
    comparison = groups = beside = None
    if baseline is not None:
        other, _, ours = read(baseline)
        comparison = compare(make_side(other, ours), [make_side(run, summary)]).candidates[0]
        groups = fusion_ledger(ledger_side(baseline), ledger_side(candidate))
        beside = other_run("eager", other.record.measurement, None, compiled=False)
    log = read_compile_log(run)
    report = (
        compilation_report(
            log,
            trace=trace,
            measurement=run.record.measurement,
            others=(beside,) if beside else (),
        )
        if log
        else None
    )
    return Facts(trace, summary, run.record, comparison, groups, report)


BERT = ("bert/default", "bert/eager")
GRAPHS = ("bert/reduce-overhead", "bert/eager")
RESNET = ("resnet50/default", "resnet50/eager")
BF16 = tuple(f"resnet50-bf16/{mode}+bf16-autocast+channels_last" for mode in ("default", "eager"))
BREAKY = ("breaky/default", "breaky/eager")
SHAPES = ("dynshape/default", "dynshape/eager")
ADAM = ("fixtures/findings/adamw_foreach.json.gz",)
TRAINING = ("simplecnn-training/default", "simplecnn-training/eager")

ENGINE = tuple(f"fixtures/captures/customcnn_openvino.{name}" for name in ("openvino", "eager"))
BF16_ENGINE = ("fixtures/findings/openvino_bf16", "fixtures/captures/customcnn_openvino.eager")
FELL_BACK = ("fixtures/findings/openvino_fell_back",)
LOOP = tuple(f"fixtures/findings/break_in_a_loop.{name}" for name in ("default", "eager"))
NO_GPU = tuple(f"fixtures/findings/break_in_a_loop.{name}" for name in ("cudagraphs", "eager"))
THREADS = ("fixtures/findings/sixteen_threads",)

CASES = {
    "wrong_numerics": (BF16_ENGINE, ENGINE),
    "engine_fell_back": (FELL_BACK, ENGINE),
    "engine_opaque": (ENGINE, BREAKY),
    "host_threads": (THREADS, ENGINE),
    "frame_skipped": (LOOP, BREAKY),
    "cudagraphs_skipped": (NO_GPU, GRAPHS),
    "slower": (BREAKY, RESNET),
    "tf32_off": (BERT, RESNET),
    "half_precision": (BERT, BF16),
    "max_autotune": (BERT, BREAKY),
    "launch_bound": (BREAKY, BERT),
    "synchronisations": (BREAKY, BERT),
    "graph_breaks": (BREAKY, BERT),
    "recompiles": (SHAPES, RESNET),
    "unfused_optimizer": (ADAM, TRAINING),
    "layout_copies": (("resnet50/eager",), BF16),
    "memory_roof": (RESNET, BERT),
}


def keys(one: Facts) -> dict[str, object]:
    return {finding.key: finding for finding in findings(one)}


@pytest.mark.parametrize("key", CASES)
def test_fires_and_must_not(key):
    yes, no = CASES[key]
    found = keys(facts(*yes))
    assert key in found
    assert key not in keys(facts(*no))
    finding = found[key]
    assert finding.title.endswith(".")
    assert finding.evidence
    assert finding.advice
    if finding.at_stake_ns is not None:
        assert 0 < finding.at_stake_ns <= 1.01 * facts(*yes).step_ns


def test_launch_bound_goes_by_the_unprofiled_clock():
    """Profiled, this run waits for the host half of the time; in truth hardly at all."""
    one = facts(*BF16)
    assert one.summary.idle_ns > 0.4 * one.summary.window_ns
    assert "launch_bound" not in keys(one)


def test_wrong_numbers_say_what_was_off_and_advise_by_backend():
    """OpenVINO in bf16 by itself: nothing of Inductor's will find that."""
    finding = findings(facts(*BF16_ENGINE))[0]
    assert finding.key == "wrong_numerics"
    assert "openvino computed in bf16 by itself" in finding.evidence
    assert "keeps fp32. RMS error 2.32e-03, tolerance 1.04e-05." in finding.evidence
    assert "repro_after" not in finding.advice


def test_wrong_numbers_come_before_a_slower_candidate():
    one = facts(*BREAKY)
    wrong = Numerics(verdict="wrong", reason="outputs differ", rms_error=1.0, tolerance=1e-6)
    edited = replace(one, record=msgspec.structs.replace(one.record, numerics=wrong))
    assert findings(edited)[0].key == "wrong_numerics"
    assert findings(edited)[1].key == "slower"
    right = Numerics(verdict="right")
    edited = replace(one, record=msgspec.structs.replace(one.record, numerics=right))
    assert "wrong_numerics" not in keys(edited)


def test_what_an_engine_did_not_run_comes_before_what_it_hides():
    found = keys(facts(*FELL_BACK))
    order = list(found)
    assert order.index("engine_fell_back") < order.index("engine_opaque")
    assert "1 part fell back" in found["engine_fell_back"].evidence
    assert "aten.linalg_vector_norm.default" in found["engine_fell_back"].evidence


def test_no_mode_of_inductor_is_advised_to_another_backend():
    one = facts(*BREAKY)
    assert "reduce-overhead" in keys(one)["launch_bound"].advice
    spec = {**one.record.spec, "backend": "tensorrt", "mode": None}
    other = replace(one, record=msgspec.structs.replace(one.record, spec=spec))
    assert "reduce-overhead" not in keys(other)["launch_bound"].advice
    bound = facts(*BERT)
    spec = {**bound.record.spec, "backend": "tensorrt", "mode": None}
    assert "max_autotune" in keys(bound)
    other = replace(bound, record=msgspec.structs.replace(bound.record, spec=spec))
    assert "max_autotune" not in keys(other)


def test_memory_close_to_the_limit():
    one = facts(*TRAINING)
    assert "memory_limit" not in keys(one)
    peak = one.summary.memory.peak_reserved_bytes
    device = replace(one.summary.device, memory_bytes=int(peak / 0.95))
    assert "memory_limit" in keys(replace(one, summary=replace(one.summary, device=device)))


def test_much_reserved_that_was_never_allocated():
    one = facts(*TRAINING)

    def edited(candidate, reserved_share, capacity_share, **more):
        peak = candidate.summary.memory.peak_allocated_bytes
        reserved = int(peak / (1 - reserved_share))
        memory = replace(candidate.summary.memory, peak_reserved_bytes=reserved)
        device = replace(candidate.summary.device, memory_bytes=int(reserved / capacity_share))
        summary = replace(candidate.summary, memory=memory, device=device, **more)
        return replace(candidate, summary=summary)

    assert "fragmentation" not in keys(one)
    found = keys(edited(one, 0.4, 0.5))["fragmentation"]
    assert found.page == "memory"
    assert "fragmentation" not in keys(edited(one, 0.2, 0.5))  # as it usually is
    assert "fragmentation" not in keys(edited(one, 0.4, 0.1))  # there is room enough
    assert "fragmentation" not in keys(edited(one, 0.4, 0.5, n_graph_launches=5))  # its pool


def test_more_threads_than_processors():
    """On the CPU nothing waits for a host: no time is claimed; on a GPU at most its idle time."""
    finding = keys(facts(*THREADS))["host_threads"]
    assert "16 threads on 2 processors" in finding.evidence
    assert "OMP_NUM_THREADS=2" in finding.advice
    assert finding.at_stake_ns is None
    one = facts(*BREAKY)
    environment = {**one.record.environment, "n_threads": 16, "cpu_count": 2}
    edited = replace(one, record=msgspec.structs.replace(one.record, environment=environment))
    assert keys(edited)["host_threads"].at_stake_ns == one.host_idle_ns


def test_a_skipped_frame_with_what_it_lost():
    """By hand: 70 % of the device's time runs outside, what is inside gained 41 %."""
    finding = keys(facts(*LOOP))["frame_skipped"]
    assert finding.title == "1 function runs eager: its frame was skipped."
    assert "loop (workloads.py:20)" in finding.evidence
    assert finding.weight == "by time"  # compiled regions are left in this trace
    assert finding.at_most
    assert finding.at_stake_ns == pytest.approx(2.99e6, rel=0.01)
    # The break itself is told without a price: no compiled call follows it.
    break_ = keys(facts(*LOOP))["graph_breaks"]
    assert break_.at_stake_ns is None
    assert "No compiled call follows" in break_.evidence


def test_cuda_graphs_on_a_machine_without_a_gpu():
    finding = keys(facts(*NO_GPU))["cudagraphs_skipped"]
    assert finding.evidence == "PyTorch's reason: cpu device (arg0_1) (workloads.py:14)."
    assert "need a GPU" in finding.advice
    assert finding.weight == "note"


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("skipping cudagraphs due to cpu device (arg0_1)", "CUDA graphs were skipped."),
        (
            "cudagraph partition due to non gpu ops",
            "Part of the compiled code runs outside CUDA graphs.",
        ),
    ],
)
def test_cuda_graphs_skipped(line, title):
    one = facts(*GRAPHS)
    assert "cudagraphs_skipped" not in keys(one)
    event = parse_cudagraph([line])
    assert event is not None
    log = replace(one.compilation.log, cudagraph_events=(event,))
    edited = replace(one, compilation=compilation_report(log, trace=one.trace))
    finding = keys(edited)["cudagraphs_skipped"]
    assert finding.title == title
    assert finding.evidence.removeprefix("PyTorch's reason: ").rstrip(".") in line
    assert "mode='default'" in finding.advice


def _with_copies(one: Facts, name: str, n_bytes: int) -> Facts:
    """Every fourth kernel of the capture as a copy of that name."""
    device = one.trace.device.with_row_index("row")
    chosen = pl.col("row") % 4 == 0
    device = device.with_columns(
        pl.when(chosen)
        .then(pl.lit("gpu_memcpy"))
        .otherwise(pl.col("cat").cast(pl.String))
        .cast(pl.Categorical)
        .alias("cat"),
        pl.when(chosen)
        .then(pl.lit(name))
        .otherwise(pl.col("name").cast(pl.String))
        .cast(pl.Categorical)
        .alias("name"),
        pl.when(chosen).then(n_bytes).otherwise("bytes").alias("bytes"),
    ).drop("row")
    trace = replace(one.trace, device=device)
    return replace(one, trace=trace, summary=summarise(trace), ledger=None)


def test_pageable_and_small_copies():
    one = facts(*BF16)
    assert not {"pageable_copies", "small_copies"} & set(keys(one))
    small = keys(_with_copies(one, "Memcpy HtoD (Pageable -> Device)", 4096))
    assert {"pageable_copies", "small_copies"} <= set(small)
    large = keys(_with_copies(one, "Memcpy HtoD (Pinned -> Device)", 10_000_000))
    assert not {"pageable_copies", "small_copies"} & set(large)


def test_every_rule_has_a_case():
    """A new rule without a test is noticed here."""
    tested = set(CASES) | {
        "memory_limit", "fragmentation", "pageable_copies", "small_copies",
        "odd_shapes",  # test_odd_shapes.py
        "dram_traffic",  # counters/test_groups.py
        # test_findings_telemetry.py
        "clocks_differ", "throttled", "power_cap", "host_thread_busy",
    }  # fmt: skip
    assert len(tested) == len(RULES)


def test_one_run_alone_has_findings():
    one = facts("bert/default")
    found = run_findings(one.trace, one.summary, one.record, one.compilation)
    assert [finding.key for finding in found] == [
        finding.key for finding in findings(facts(*BERT)) if finding.key not in _NEEDS_A_PAIR
    ]
    assert {"tf32_off", "half_precision"} <= {finding.key for finding in found}


_NEEDS_A_PAIR = ("slower", "memory_roof")


@pytest.mark.parametrize("key", ["tf32_off", "half_precision", "max_autotune"])
def test_a_bound_rests_on_the_runs_own_shapes(key):
    """A replay has no shapes: then it is all of the products' time, or for max-autotune nothing."""
    finding = keys(facts(*BERT))[key]
    assert finding.at_most
    assert "At most" in finding.evidence
    assert "GFLOP" in finding.evidence
    one = facts(*GRAPHS)
    replayed = keys(one)[key]
    if key == "max_autotune":
        assert replayed.at_stake_ns is None
        assert "not known" in replayed.evidence
    else:
        assert replayed.at_stake_ns == pytest.approx(one.per_step(one.kernels("gemm")), rel=0.02)
        assert "At most all of it" in replayed.evidence


def test_an_unknown_device_has_no_bound():
    one = facts(*BERT)
    device = replace(one.summary.device, name="NVIDIA Quadro P620")
    finding = keys(replace(one, summary=replace(one.summary, device=device)))["half_precision"]
    assert finding.at_stake_ns > keys(one)["half_precision"].at_stake_ns
    assert "Quadro P620" in finding.evidence


def test_a_call_that_waits_is_a_synchronisation_without_a_value_too():
    """The same capture without its .item(): what is left is cudaStreamSynchronize."""
    one = facts(*BREAKY)
    ops = one.trace.ops.filter(~pl.col("name").cast(pl.String).str.contains("item|local_scalar"))
    edited = replace(one, trace=replace(one.trace, ops=ops))
    finding = keys(edited)["synchronisations"]
    assert "cudaStreamSynchronize" in finding.evidence
    calls = one.trace.runtime.filter(~pl.col("name").cast(pl.String).str.contains("Synchronize"))
    silent = replace(edited, trace=replace(edited.trace, runtime=calls))
    assert "synchronisations" not in keys(silent)


def test_an_estimate_goes_before_a_bound_of_similar_size():
    """A bound counts half; what is much larger stays first all the same."""
    found = (
        Finding("bound", "", "", "", "kernels", at_stake_ns=150.0, at_most=True),
        Finding("estimate", "", "", "", "kernels", at_stake_ns=100.0),
        Finding("much", "", "", "", "kernels", at_stake_ns=250.0, at_most=True),
        Finding("note", "", "", "", "kernels", at_stake_ns=900.0, weight="note"),
        Finding("without a number", "", "", "", "kernels", at_most=True),
    )
    order = [one.key for one in ranked(found)]
    assert order == ["much", "estimate", "bound", "without a number", "note"]

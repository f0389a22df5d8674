"""Each finding on a real capture in which it fires, and on one in which it must not.

The captures are the repository's own samples, captures made for one finding each, and the trace of
an optimizer cut from a larger one (tests/fixtures/findings). What none of them shows is a real
capture edited in that one place: odd sizes, pageable and small copies, a full or fragmented memory
(all need a GPU with a workload made for them), and what skipped CUDA graphs and too many threads
look like on a GPU.
"""

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import polars as pl
import pytest

from profiler_core.analysis.categories import PRODUCT_CATEGORIES
from profiler_core.analysis.compare import compare
from profiler_core.analysis.compilation.causes import break_cause
from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.compilation.skipped_frames import other_run
from profiler_core.analysis.finding_rules.half_precision import half_precision
from profiler_core.analysis.finding_rules.op_work import product_work
from profiler_core.analysis.finding_rules.products import roofline
from profiler_core.analysis.finding_rules.replayed_products import matched_products
from profiler_core.analysis.findings import (
    RULES,
    Facts,
    Finding,
    by_stake,
    findings,
    fired,
    ranked,
    run_findings,
)
from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.analysis.side import make_side
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.analysis.what_if.tried import Tried, tried_beside
from profiler_core.analysis.wording.findings import advice_text, evidence_text
from profiler_core.ingest.compile_log.reader import read_compile_log
from profiler_core.ingest.run import open_run
from profiler_core.ingest.torch_logs.other import parse_cudagraph
from profiler_core.model.run import Numerics
from profiler_core.session.comparison import Comparison
from profiler_core.units import format_duration, format_share
from tests.analysis.ledger.judge.pairs import inductor_log
from tests.analysis.traces import trace_of
from tests.builders import a_run
from tests.larger import JUDGE_PAIRS, LARGER, unpacked
from tests.reference import read_events

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"


def folder(name: str) -> Path:
    """`fixtures/…` beside the tests, anything else a sample of the repository."""
    return ROOT / "tests" / name if name.startswith("fixtures/") else ROOT / "sample_traces" / name


@cache
def read(name: str):
    run = open_run(folder(name))
    trace = trace_of(run.trace)
    return run, trace, summarise(trace, run.record.measurement)


def ledger_side(name: str) -> LedgerSide:
    run, trace, _ = read(name)
    return LedgerSide(trace, inductor_log(tuple(run.torch_trace)) if run.torch_trace else None)


@cache
def facts(candidate: str, baseline: str | None = None) -> Facts:
    run, trace, summary = read(candidate)
    comparison = groups = beside = baseline_trace = None
    if baseline is not None:
        other, baseline_trace, ours = read(baseline)
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
    return Facts(trace, summary, run.record, comparison, groups, report, baseline=baseline_trace)


BERT = ("bert/default", "bert/eager")
GRAPHS = ("bert/reduce-overhead", "bert/eager")
RESNET = ("resnet50/default", "resnet50/eager")
BF16 = tuple(f"resnet50-bf16/{mode}+bf16-autocast+channels_last" for mode in ("default", "eager"))
BREAKY = ("breaky/default", "breaky/eager")
BREAKY_GRAPHS = ("breaky/reduce-overhead", "breaky/eager")
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
    "slower_attention": (BERT, RESNET),
    "slower_groups": (("dynshape/reduce-overhead", "dynshape/eager"), RESNET),
    "late_rank": (("ddp/default", "ddp/eager"), BERT),
    "synchronisations": (BREAKY, BERT),
    "graph_breaks": (BREAKY, BERT),
    "recompiles": (SHAPES, RESNET),
    "unfused_optimizer": (ADAM, TRAINING),
    "layout_copies": (("resnet50/eager",), BF16),
    "weight_casts": (BF16, BERT),
    "memory_roof": (RESNET, BERT),
}


def keys(one: Facts) -> dict[str, object]:
    """What each rule says for itself, most important first."""
    return {finding.key: finding for finding in ranked(fired(one))}


@pytest.mark.parametrize("key", CASES)
def test_fires_and_must_not(key):
    yes, no = CASES[key]
    result = keys(facts(*yes))
    assert key in result
    assert key not in keys(facts(*no))
    finding = result[key]
    assert finding.title.endswith(".")
    assert finding.evidence
    assert finding.advice
    if finding.at_stake_ns is not None:
        # A lever may gain nothing where the other side is the limit: 0 lies in its interval then.
        assert 0 <= finding.prediction.high_ns <= 1.01 * facts(*yes).step_ns
        assert finding.prediction.low_ns <= finding.prediction.expected_ns


def test_weights_are_cast_in_every_step_of_compiled_inference_under_autocast_alone():
    """Where they are not, or take little, nothing is said of them."""
    case = facts(*BF16)
    spec = case.record.spec
    assert "weight_casts" in keys(case)
    for edited in (
        {**spec, "training": True},
        {**spec, "precision": "bf16"},
        {**spec, "compile": False},
        {**spec, "backend": "tensorrt", "mode": None},
    ):
        other = replace(case, record=msgspec.structs.replace(case.record, spec=edited))
        assert "weight_casts" not in keys(other), edited
    bare = replace(case, record=msgspec.structs.replace(case.record, spec={}))
    assert "weight_casts" in keys(bare)  # of which it was said that the device waits, and no more
    node = case.trace.ops.head(1).with_columns(
        name=pl.lit(
            "autograd::engine::evaluate_function: AddBackward0", case.trace.ops["name"].dtype
        )
    )
    training = replace(case.trace, ops=pl.concat([case.trace.ops, node]))
    assert "weight_casts" not in keys(replace(bare, trace=training))
    only_cast = re.compile(r"triton_poi_fused__to_copy_\d+")
    casts = [k for k in case.summary.kernels if only_cast.fullmatch(k.name)]
    others = tuple(k for k in case.summary.kernels if k not in casts)
    input_alone = replace(casts[0], n=case.n_steps, time_ns=20 * casts[0].time_ns)
    short = [replace(kernel, time_ns=kernel.time_ns // 4) for kernel in casts]
    for kernels, says in ((casts, True), ([input_alone], False), (short, False)):
        kept = replace(case, summary=replace(case.summary, kernels=(*others, *kernels)))
        assert ("weight_casts" in keys(kept)) == says


def test_casts_that_took_longer_under_the_profiler_say_so():
    """The 127 µs of the finding stood above kernels that add up to 129, and nothing said why."""
    graphs = "resnet50-bf16/reduce-overhead+bf16-autocast+channels_last"
    finding = next(each for each in findings(facts(graphs, BF16[1])) if each.key == "weight_casts")
    events = read_events(folder(graphs) / "trace.json.gz")
    n_steps = sum(str(event["name"]).startswith("ProfilerStep#") for event in events)
    # What was launched before the first step has no launch in the trace.
    launches = (each for each in events if str(each.get("cat")).startswith("cuda_"))
    launched = {each["args"]["correlation"] for each in launches if "correlation" in each["args"]}
    kernels = (each for each in events if each.get("cat") == "kernel")
    casts = [
        float(each["dur"])
        for each in kernels
        if re.fullmatch(r"triton_poi_fused__to_copy_\d+", each["name"])
        and each["args"]["correlation"] in launched
    ]
    of_trace = 1000 * sum(casts) / n_steps
    said = evidence_text(finding)
    factor = float(re.search(r"unprofiled step by × (\S+):", said)[1])
    assert format_duration(of_trace) == "129 µs"
    assert said.startswith(f"Up to {format_duration(factor * of_trace)} per step (")


def test_a_trace_that_does_not_say_whether_it_was_compiled_is_not_called_eager():
    """A bare trace of a compiled run: "shows only in a compiled run" was said of it.

    Then that no file says whether it was compiled, of a trace with Triton kernels.
    """
    case = facts(*BREAKY)
    unsaid = replace(case, record=msgspec.structs.replace(case.record, spec={}))
    reason = keys(unsaid)["launch_bound"].prediction.reason
    assert reason.startswith("with which settings it was compiled")
    others = tuple(k for k in case.summary.kernels if not k.category.startswith("triton"))
    assert 0 < len(others) < len(case.summary.kernels)
    bare = replace(unsaid, summary=replace(case.summary, kernels=others))
    assert keys(bare)["launch_bound"].prediction.reason.startswith("whether it was compiled")
    spec = {**case.record.spec, "compile": False}
    eager = keys(replace(case, record=msgspec.structs.replace(case.record, spec=spec)))[
        "launch_bound"
    ]
    assert "only in a compiled run" in eager.prediction.reason


def test_launch_bound_goes_by_the_unprofiled_clock():
    """Profiled, this run waits for the host half of the time; in truth hardly at all."""
    case = facts(*BF16)
    assert case.summary.idle_ns > 0.4 * case.summary.window_ns
    assert "launch_bound" not in keys(case)


def test_what_the_device_waits_for_is_named_in_all_its_parts():
    """The three largest of four added up to 13.0 of 13.4 ms."""
    case = facts(*BREAKY)
    parts = [ns for key, ns in case.shares.items() if key.startswith("idle_host_") and ns > 0]
    assert len(parts) > 3
    named = keys(case)["launch_bound"].evidence.split("the host's time: ")[1]
    assert all(format_duration(ns) in named for ns in parts)


def test_wrong_numbers_say_what_was_off_and_advise_by_backend():
    """OpenVINO in bf16 by itself: nothing of Inductor's will find that."""
    finding = findings(facts(*BF16_ENGINE))[0]
    assert finding.key == "wrong_numerics"
    assert "openvino computed in bf16 by itself" in finding.evidence
    assert "keeps fp32. RMS error 2.32e-03, tolerance 1.04e-05." in finding.evidence
    assert "repro_after" not in finding.advice


def test_wrong_numbers_come_before_a_slower_candidate():
    case = facts(*BREAKY)
    wrong = Numerics(verdict="wrong", reason="outputs differ", rms_error=1.0, tolerance=1e-6)
    edited = replace(case, record=msgspec.structs.replace(case.record, numerics=wrong))
    assert findings(edited)[0].key == "wrong_numerics"
    assert findings(edited)[1].key == "slower"
    right = Numerics(verdict="right")
    edited = replace(case, record=msgspec.structs.replace(case.record, numerics=right))
    assert "wrong_numerics" not in keys(edited)


def test_what_an_engine_did_not_run_comes_before_what_it_hides():
    result = keys(facts(*FELL_BACK))
    order = list(result)
    assert order.index("engine_fell_back") < order.index("engine_opaque")
    assert "1 part fell back" in result["engine_fell_back"].evidence
    assert "aten.linalg_vector_norm.default" in result["engine_fell_back"].evidence


def test_no_mode_of_inductor_is_advised_to_another_backend():
    case = facts(*BREAKY)
    assert "reduce-overhead" in keys(case)["launch_bound"].advice
    spec = {**case.record.spec, "backend": "tensorrt", "mode": None}
    other = replace(case, record=msgspec.structs.replace(case.record, spec=spec))
    assert "reduce-overhead" not in keys(other)["launch_bound"].advice
    bound = facts(*BERT)
    spec = {**bound.record.spec, "backend": "tensorrt", "mode": None}
    assert "max_autotune" in keys(bound)
    other = replace(bound, record=msgspec.structs.replace(bound.record, spec=spec))
    assert "max_autotune" not in keys(other)


def test_memory_close_to_the_limit():
    case = facts(*TRAINING)
    assert "memory_limit" not in keys(case)
    peak = case.summary.memory.peak_reserved_bytes
    device = replace(case.summary.device, memory_bytes=int(peak / 0.95))
    assert "memory_limit" in keys(replace(case, summary=replace(case.summary, device=device)))


def test_much_reserved_that_was_never_allocated():
    case = facts(*TRAINING)

    def edited(candidate, reserved_share, capacity_share, **more):
        peak = candidate.summary.memory.peak_allocated_bytes
        reserved = int(peak / (1 - reserved_share))
        memory = replace(candidate.summary.memory, peak_reserved_bytes=reserved)
        device = replace(candidate.summary.device, memory_bytes=int(reserved / capacity_share))
        summary = replace(candidate.summary, memory=memory, device=device, **more)
        return replace(candidate, summary=summary)

    assert "fragmentation" not in keys(case)
    result = keys(edited(case, 0.4, 0.5))["fragmentation"]
    assert result.page == "memory"
    assert "fragmentation" not in keys(edited(case, 0.2, 0.5))  # as it usually is
    assert "fragmentation" not in keys(edited(case, 0.4, 0.1))  # there is room enough
    assert "fragmentation" not in keys(edited(case, 0.4, 0.5, n_graph_launches=5))  # its pool


def test_more_threads_than_processors():
    """On the CPU nothing waits for a host: no time is claimed; on a GPU at most its idle time."""
    finding = keys(facts(*THREADS))["host_threads"]
    assert "16 threads on 2 processors" in finding.evidence
    assert "OMP_NUM_THREADS=2" in finding.advice
    assert finding.at_stake_ns is None
    case = facts(*BREAKY)
    environment = {**case.record.environment, "n_threads": 16, "cpu_count": 2}
    edited = replace(case, record=msgspec.structs.replace(case.record, environment=environment))
    assert keys(edited)["host_threads"].at_stake_ns == case.host_idle_ns


def test_a_skipped_frame_with_what_it_lost():
    """By hand: 70 % of the device's time runs outside, what is inside gained 41 %."""
    finding = keys(facts(*LOOP))["frame_skipped"]
    assert finding.title == "1 function runs eager: its frame was skipped."
    assert "loop (workloads.py:20)" in finding.evidence
    assert finding.weight == "by time"  # compiled regions are left in this trace
    assert finding.is_bound
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
    case = facts(*GRAPHS)
    assert "cudagraphs_skipped" not in keys(case)
    event = parse_cudagraph([line])
    assert event is not None
    log = replace(case.compilation.log, cudagraph_events=(event,))
    edited = replace(case, compilation=compilation_report(log, trace=case.trace))
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
    case = facts(*BF16)
    assert not {"pageable_copies", "small_copies"} & set(keys(case))
    small = keys(_with_copies(case, "Memcpy HtoD (Pageable -> Device)", 4096))
    assert {"pageable_copies", "small_copies"} <= set(small)
    joined = next(
        f for f in findings(_with_copies(case, "Memcpy HtoD (Pinned -> Device)", 4096))
        if f.key == "small_copies"
    )  # fmt: skip
    # A summary has no copies among its kernels, by which the replay had nothing to make shorter.
    assert joined.change.kernels == ("Memcpy HtoD (Pinned -> Device)",)
    assert not joined.prediction.is_bound and joined.prediction.expected_ns > 0
    # Joined, one copy of all is left: for the least 0.3 of that is saved.
    n = int(joined.evidence.split()[0])
    assert joined.change.saves == pytest.approx((0.3 * (n - 1) / n, *[(n - 1) / n] * 2), abs=1e-3)
    assert joined.change.with_launches
    large = keys(_with_copies(case, "Memcpy HtoD (Pinned -> Device)", 10_000_000))
    assert not {"pageable_copies", "small_copies"} & set(large)


def test_guards_that_take_a_large_part_of_the_step():
    """The lookups of a host-bound run: 3.6 % of a step are no news, twice as long they take 6.5."""
    case = facts(*BREAKY)
    assert "heavy_guards" not in keys(case)
    lookups = pl.col("name").cast(pl.String) == "TorchDynamo Cache Lookup"
    longer = pl.when(lookups).then(pl.col("dur_ns") * 2).otherwise(pl.col("dur_ns"))
    tables = {
        name: getattr(case.trace, name).with_columns(longer.alias("dur_ns"))
        for name in ("ops", "annotations")
    }
    trace = replace(case.trace, **tables)
    finding = keys(replace(case, trace=trace))["heavy_guards"]
    assert 0.05 * case.step_ns <= finding.prediction.expected_ns <= finding.prediction.high_ns
    assert "lookups of compiled code per step" in finding.evidence
    cost = format_share(finding.prediction.expected_ns / case.step_ns)
    assert finding.title == f"Guards cost {cost} of the step."


def test_a_triton_kernel_of_the_users_is_paired_by_its_name_and_blamed_for_nothing():
    """Captured on an H200: benchmarks/own_triton.py in eager and compiled, three kernels a step."""
    folder = unpacked(JUDGE_PAIRS) / "own_triton_kernel"
    pair = Comparison.open([folder / "eager", folder / "default"]).pairs[0]
    own = [group for group in pair.ledger.groups if group.title == "gate_kernel"]
    assert len(own) == 3
    for group in own:
        for side in (group.baseline, group.candidate):
            assert [kernel.name for kernel in side.kernels] == ["gate_kernel"]
    found = {finding.key: finding for finding in pair.findings}
    assert set(found) == {"tf32_off"}
    assert "9 kernels such as sm80_xmma_gemm" in found["tf32_off"].evidence
    assert not any("gate_kernel" in f"{f.title} {f.evidence} {f.advice}" for f in found.values())


def test_every_rule_has_a_case():
    """A new rule without a test is noticed here."""
    tested = set(CASES) | {
        "memory_limit", "fragmentation", "pageable_copies", "small_copies",
        "odd_shapes",  # test_odd_shapes.py
        "heavy_guards",  # test_guards_that_take_a_large_part_of_the_step
        "exposed_transfer", "slowed_by_transfers",  # ranks/test_overlap.py
        "slow_on_one_rank",  # ranks/test_job_ledger.py
        "rank_compiles",  # ranks/test_rank_compiling.py
        # test_regressions.py
        "slower_by_atomics", "slower_by_layouts", "opaque_operators", "zero_tangents",
        "slower_by_a_rank", "slower_by_fp32", "autotuning_in_steps",
        "dram_traffic",  # counters/test_groups.py
        # test_findings_telemetry.py
        "clocks_differ", "throttled", "power_cap", "host_thread_busy",
    }  # fmt: skip
    assert len(tested) == len(RULES)


def test_one_run_alone_has_findings():
    case = facts("bert/default")
    alone = run_findings(case.trace, case.summary, case.record, case.compilation)
    assert [finding.key for finding in alone] == [
        finding.key for finding in findings(facts(*BERT)) if finding.key not in _NEEDS_A_PAIR
    ]
    assert "tf32_off" in {finding.key for finding in alone}


_NEEDS_A_PAIR = ("slower", "memory_roof", "slower_attention")


@pytest.mark.parametrize("key", ["tf32_off", "half_precision", "max_autotune"])
def test_a_bound_rests_on_shapes(key):
    """A replay has none: its operators' counterparts in eager do, so the bound is no whole time."""
    finding = keys(facts(*BERT))[key]
    assert finding.is_bound == (key == "max_autotune")  # which template is fastest shows by tuning
    assert "GFLOP" in finding.evidence
    # The products' time holds what they launch besides, so it is no part of the kernels' time.
    assert "with all that they launch, the shapes are known" in finding.evidence
    case = facts(*GRAPHS)
    replayed = keys(case)[key]
    assert "the baseline's operators give the shapes" in replayed.evidence
    # The same products as in the run without graphs, all but what its attention takes.
    # Without graphs the host, which works more under autocast, is the limit for 16 bits.
    assert finding.at_stake_ns * 0.85 <= replayed.at_stake_ns <= finding.at_stake_ns * 1.25
    assert replayed.at_stake_ns < 0.95 * case.per_step(case.kernels("gemm"))


@pytest.mark.parametrize("key", ["tf32_off", "half_precision", "max_autotune"])
def test_a_bound_without_any_shapes(key):
    """A replay beside nothing: all of the products' time, or for max-autotune no number."""
    case = facts("bert/reduce-overhead")
    replayed = keys(case)[key]
    if key == "max_autotune":
        assert replayed.at_stake_ns is None
        assert "unknown" in replayed.evidence
    else:
        assert replayed.at_stake_ns == pytest.approx(case.per_step(case.kernels("gemm")), rel=0.02)
        assert "At most" in evidence_text(replayed)


def test_shapes_of_a_replay_are_those_of_the_matched_operators():
    """ResNet-50 does 8.2 GFLOP an image (4.1 multiply-adds); the capture has 32 images."""
    case = facts("resnet50/reduce-overhead", "resnet50/eager")
    assert case.is_replayed
    flops = sum(op.flops * len(op.times_ns) for op in case.products) / case.n_steps
    assert flops == pytest.approx(32 * 8.18e9, rel=0.01)
    time = sum(op.time_ns for op in case.products) / case.n_steps
    kernels = [k for k in case.summary.kernels if k.category in PRODUCT_CATEGORIES]
    layouts = [k for k in case.summary.kernels if "convertTensor" in k.name]
    memsets = case.summary.by_category["memset"]  # all of them clear workspaces of convolutions
    launched_ns = sum(k.time_ns for k in (*kernels, *layouts, memsets))
    assert time == pytest.approx(launched_ns / case.n_steps)


def test_a_product_that_waits_for_memory_is_left_out_with_all_its_kernels():
    """Of 110 kernels of BERT's products 109 were TF32's: one without what adds up its parts.

    The pooler's product needs 5 µs for its weights, 0.3 µs for its operations.
    """
    case = facts(*BERT)
    finding = keys(case)["tf32_off"]
    events = read_events(folder("bert/default") / "trace.json.gz")
    launched_at = {
        event["args"]["correlation"]: event["ts"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and "correlation" in event.get("args", {})
    }
    steps = [
        (event["ts"], event["ts"] + event["dur"])
        for event in events
        if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#")
    ]
    products = Counter(
        "32x32x8" in event["name"]
        for event in events
        if event.get("cat") == "kernel" and "_xmma_gemm_f32f32_f32f32" in event["name"]
        for begin, end in steps
        if begin <= launched_at.get(event["args"]["correlation"], -1) <= end
    )
    assert products == {False: 108 * len(steps), True: 2 * len(steps)}
    assert " in 108 kernels such as " in finding.evidence
    assert "; 2 others wait for memory instead. " in finding.evidence
    assert not any("32x32x8" in item.key for item in finding.items)


@pytest.mark.parametrize("model", ["resnet50", "simplecnn-training"])
def test_products_by_the_ledger_take_what_their_operators_launch(model):
    """A run with operators, matched as if it had none: also workspaces and changes of layout."""
    case = facts(f"{model}/default", f"{model}/eager")
    matched = matched_products(product_work(case.baseline), case.ledger, PRODUCT_CATEGORIES)
    launched_ns = sum(op.time_ns for op in case.products)
    assert sum(op.time_ns for op in matched) == pytest.approx(launched_ns, abs=len(matched))


def test_a_share_says_of_which_step_it_is_where_the_comparison_shows_another():
    """Beside a run that was not timed both have profiled step times; findings keep the better."""
    case = facts(*BERT)
    step = format_duration(case.step_ns)
    on_other_clock = replace(case.comparison.step_time, clock="profiled")
    other = replace(case, comparison=replace(case.comparison, step_time=on_other_clock))
    assert "(86 %) in 108 kernels" in keys(case)["tf32_off"].evidence
    assert f"(86 % of {step} unprofiled) in 108 kernels" in keys(other)["tf32_off"].evidence
    assert "(3 % of the step)" in keys(case)["slower_attention"].evidence
    assert f"(3 % of {step} unprofiled)" in keys(other)["slower_attention"].evidence


def test_the_products_of_a_replay_take_what_they_launch():
    """48 memsets a step, each before a linear layer's kernel: 56.6 µs."""
    case = facts(*GRAPHS)
    assert "products that take 4.67 ms with all" in keys(case)["half_precision"].evidence


def test_levers_on_the_same_products_are_one_finding():
    """Beside each other three bounds of 4.7, 4.5 and 2.3 ms look like 11.5 of a 5.6 ms step."""
    shown = [case for case in findings(facts(*BERT)) if case.draws_on == "products"]
    assert [case.key for case in shown] == ["tf32_off"]
    assert "): try torch.autocast" in advice_text(shown[0])
    assert "(≤ 2.26 ms): try mode='max-autotune'" in advice_text(shown[0])
    case = facts("ddp/default", "ddp/eager")
    assert sum(finding.at_stake_ns or 0 for finding in findings(case)) < case.step_ns


def test_nothing_is_more_than_the_step():
    """The device busy for 30 % longer in the trace than a step takes: other clocks, not 130 %."""
    case = replace(facts(*BERT))
    step_ns = case.summary.busy_ns / case.n_steps / 1.3
    case.__dict__["step_ns"] = step_ns
    fired_here = keys(case)
    assert {"tf32_off", "half_precision", "max_autotune"} <= set(fired_here)
    for finding in fired_here.values():
        assert (finding.at_stake_ns or 0) <= step_ns
        shares = [int(share) for share in re.findall(r"\((\d+) %\)", finding.evidence)]
        assert all(share <= 100 for share in shares)
    assert "(91 %)" in fired_here["half_precision"].evidence


def test_tf32_is_not_advised_where_the_switch_does_nothing():
    """cuDNN may use it already; a product with a vector runs on the CUDA cores either way."""
    convolutions = facts("customcnn/default", "customcnn/eager")
    assert convolutions.record.environment["cudnn_allow_tf32"] is True
    assert "tf32_off" not in keys(convolutions)
    convolutions = facts(*SHAPES)
    assert "tf32_off" not in keys(convolutions)
    environment = {**convolutions.record.environment, "cudnn_allow_tf32": False}
    record = msgspec.structs.replace(convolutions.record, environment=environment)
    advice = keys(replace(convolutions, record=record))["tf32_off"].advice
    assert "torch.backends.cudnn.allow_tf32 = True" in advice
    assert "matmul" not in advice
    assert "3 kernels" in keys(facts(*BREAKY_GRAPHS))["tf32_off"].evidence  # 4, of which one gemv
    environment = {**facts(*BERT).record.environment, "float32_matmul_precision": "high"}
    record = msgspec.structs.replace(facts(*BERT).record, environment=environment)
    assert "tf32_off" not in keys(replace(facts(*BERT), record=record))


def test_max_autotune_has_no_template_for_gradients_of_convolutions():
    case = facts(
        str(LARGER / "captures" / "resnet50_train.default+amp+cl"),
        str(LARGER / "captures" / "resnet50_train.eager+amp+cl"),
    )
    of_products = case.per_step(case.kernels("gemm", "conv"))
    edited = replace(case)
    edited.__dict__.update(step_ns=of_products / 0.9, pace=1.0)
    assert "max_autotune" not in keys(edited)  # two thirds of them are gradients
    forward = tuple(op for op in case.products if op.name != "aten::convolution_backward")
    inference = replace(edited)
    inference.__dict__.update(step_ns=of_products / 0.9, pace=1.0, products=forward)
    assert "max_autotune" in keys(inference)


def test_no_loss_without_a_verdict():
    """Half as fast in one round each: a measurement, and "slower" would be a verdict."""
    case = facts(*BREAKY)
    time = replace(case.comparison.step_time, significant=None, interval=None)
    pair = replace(case.comparison, step_time=time, verdict="no_verdict")
    assert "slower" in keys(case)
    assert "slower" not in keys(replace(case, comparison=pair))


def test_a_step_of_which_little_is_replayed_waits_for_the_host_too():
    """Two graphs are launched, and the device idles for 709 of 1 085 µs all the same."""
    case = facts("simplecnn-training/reduce-overhead", "simplecnn-training/eager")
    finding = keys(case)["launch_bound"]
    assert "709 µs of 1.09 ms per step" in finding.evidence
    assert "2 of them of a CUDA graph" in finding.evidence
    assert finding.advice.startswith("13 launches per step lie outside of CUDA graphs.")
    assert "optimizer" in finding.advice
    replayed = keys(facts("dynshape/reduce-overhead", "dynshape/eager"))["launch_bound"]
    assert replayed.advice.startswith("Batch more work into a step")


SLOWER = Tried("reduce-overhead", "reduce-overhead", 221_306.0, (-18_000.0, -16_000.0, -15_000.0))


def test_no_mode_is_advised_that_was_measured_slower_beside_it():
    case = replace(facts(*BREAKY), tried=(SLOWER,))
    finding = keys(case)["launch_bound"]
    assert finding.prediction.basis == "measured_by_sibling"
    assert finding.at_stake_ns == -16_000.0
    assert "reduce-overhead beside this run makes the step 16.0 µs longer" in evidence_text(finding)
    assert advice_text(finding) == finding.advice  # it says itself that graphs do not help
    advice = finding.advice
    assert advice.startswith("CUDA graphs do not help here: reduce-overhead is beside this run")
    assert "221 µs" in advice
    assert "Remove the graph breaks first" in advice
    alone = keys(facts(*BREAKY))["launch_bound"].advice  # nothing beside it: first things first
    assert alone.startswith("Remove the graph breaks first")
    assert keys(facts(*TRAINING))["launch_bound"].advice.startswith("Compile with mode='reduce-")
    faster = replace(case, tried=(replace(SLOWER, step_ns=75_000.0),))
    assert keys(faster)["launch_bound"].advice.startswith("Use mode='reduce-overhead'")
    slower = (replace(SLOWER, mode="max-autotune", step_ns=1e9),)
    assert "max_autotune" not in keys(replace(facts(*BERT), tried=slower))


def test_one_round_each_is_measured_within_what_processes_differ_by():
    """ "24.9 µs longer (24.9 to 24.9 µs slower)" stood for one round of either run."""
    modes = {"default": 300_000, "reduce-overhead": 325_000}
    runs = [
        make_side(
            a_run(ns, n_steps=1, variant=mode, record={"spec": {"compile": True, "mode": mode}}),
            None,
        )
        for mode, ns in modes.items()
    ]
    eager = make_side(a_run(400_000, n_steps=1), None)
    beside = tried_beside(compare(eager, runs), 0)
    (other,) = (each for each in beside if each.mode == "reduce-overhead")
    assert other.saved_ns == pytest.approx((-46_000, -25_000, -4_000))


def test_an_attribute_of_a_module_cannot_be_marked_dynamic():
    advice = keys(facts(*BREAKY))["recompiles"].advice
    assert "mark_dynamic" not in advice
    assert "allow_unspec_int_on_nn_module" in advice
    assert "mark_dynamic" in keys(facts(*SHAPES))["recompiles"].advice


def test_every_hint_of_a_break_is_told_but_to_report_it():
    case = facts(*BREAKY)
    first, *further = case.compilation.breaks
    # Its line, an if by a value, has advice of our own: here it is not known.
    first = replace(first, cause=break_cause(replace(first.event, stack=())))
    hints = ("Do this.", "Or set that", "It may be possible … Please report an issue to PyTorch …")
    edited = replace(first, event=replace(first.event, hints=hints))
    report = replace(case.compilation, breaks=(edited, *further))
    assert keys(replace(case, compilation=report))["graph_breaks"].advice == "Do this. Or set that."
    none = replace(report, breaks=(replace(first, event=replace(first.event, hints=())), *further))
    assert keys(replace(case, compilation=none))["graph_breaks"].advice == first.cause.change
    wrapped = keys(facts("ddp/default", "ddp/eager"))["graph_breaks"].advice
    assert wrapped == "Compile the module before wrapping it in DistributedDataParallel."


def test_a_break_that_costs_nothing_is_worth_knowing_and_nothing_to_do():
    costly = by_stake(keys(facts(*BREAKY))["graph_breaks"])
    of_breaky = keys(facts(*BREAKY))["graph_breaks"].evidence
    assert of_breaky.endswith("still waits. What the other break costs is not known.")
    assert (costly.weight, costly.prediction.expected_ns > 0) == ("by time", True)
    free = by_stake(keys(facts("ddp/default", "ddp/eager"))["graph_breaks"])
    assert (free.weight, free.prediction.expected_ns) == ("note", 0.0)


def test_layouts_by_cudnns_general_kernel_count_too():
    case = facts("resnet50/eager")
    before = keys(case)["layout_copies"]
    renamed = tuple(
        replace(kernel, name=re.sub("nchwToNhwc|nhwcToNchw", "tensorTransformGeneric", kernel.name))
        for kernel in case.summary.kernels
    )
    edited = replace(case, summary=replace(case.summary, kernels=renamed))
    # Its launches are not in the trace under that name: a bound, with that reason.
    after = keys(edited)["layout_copies"]
    assert after.is_bound and "launches of these kernels" in after.prediction.reason
    assert after.evidence == before.evidence
    assert before.prediction.low_ns <= after.at_stake_ns <= before.prediction.high_ns


def test_a_third_of_the_step_is_not_most_of_it():
    """customcnn's products take 26.9 of 75.1 µs, and were called most of the step."""
    third = keys(facts("customcnn/reduce-overhead", "customcnn/eager"))["half_precision"]
    assert "(36 %)" in third.evidence
    assert third.title == "A large part of the step is matrix products in 32 bits."
    assert keys(facts(*BERT))["half_precision"].title.startswith("Most of the step")


@pytest.mark.parametrize(("share", "is_told"), [(0.29, False), (0.31, True)])
def test_products_below_three_tenths_of_the_step_are_no_lever(share, is_told):
    case = replace(facts("customcnn/reduce-overhead", "customcnn/eager"))
    products_ns = case.per_step(case.kernels("gemm", "conv"))
    case.__dict__["step_ns"] = products_ns / share
    assert (half_precision(case) is not None) == is_told


def test_an_unknown_device_has_no_bound():
    case = facts(*BERT)
    device = replace(case.summary.device, name="NVIDIA Quadro P620")
    finding = keys(replace(case, summary=replace(case.summary, device=device)))["half_precision"]
    assert finding.at_stake_ns > keys(case)["half_precision"].at_stake_ns
    assert "Quadro P620" in finding.evidence


def test_products_without_a_floor_are_in_the_bound():
    """Of a ResNet-50 of torch 1.9 16 bits were to save at most 410 µs: 399 ms had no floor."""
    case = facts("bert/eager")
    known = keys(case)["half_precision"]
    attention_ns = case.per_step(case.kernels("attention"))
    assert attention_ns > 200_000
    assert f"The other {format_duration(attention_ns)} may be attention" in known.evidence
    lacking = replace(case)
    # Of most products not even the shapes are known, as in a trace without record_shapes.
    most = sorted(case.products, key=lambda op: -op.time_ns)[:2]
    lacking.__dict__["products"] = tuple(
        replace(op, dims=()) if op in most else op for op in case.products
    )
    finding = keys(lacking)["half_precision"]
    time_ns = case.per_step(case.kernels("gemm", "conv", "attention"))
    assert finding.is_bound
    assert finding.at_stake_ns == pytest.approx(time_ns)
    assert "compute is not known from the trace" in finding.evidence


def test_an_optimizer_that_another_library_fuses_passes_once():
    """apex's FusedAdam: 18 pieces of one pass were 18 passes."""
    case = facts(*ADAM)
    name = (
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float, int>, "
        "float, float, float>(long, int volatile*, TensorListMetadata<4>, AdamFunctor<float>)"
    )
    renamed = tuple(
        replace(kernel, name=name) if kernel.category == "optimizer" else kernel
        for kernel in case.summary.kernels
    )
    assert "unfused_optimizer" in keys(case)
    apex = replace(case, summary=replace(case.summary, kernels=renamed))
    assert "unfused_optimizer" not in keys(apex)


@pytest.mark.parametrize(
    ("cause", "doing", "advice"),
    [
        # Of an AlexNet's first step CUDA graphs were to save 43 s, 39 of them the start of CUDA,
        ("setup", "reserving memory and setting up the device", "Profile later"),
        # and 719 ms of an OWL-ViT, 704 of them DataLoader.__next__.
        ("data_loader", "the data loader", "Load batches ahead"),
        ("compiling", "compiling and recording CUDA graphs", "Profile later"),
    ],
)
def test_a_host_that_does_not_launch_is_not_told_to_launch_less(cause, doing, advice):
    case = replace(facts("breaky/eager"))
    assert "Compile" in keys(case)["launch_bound"].advice
    shares = {**case.shares, f"idle_host_{cause}": 2 * case.host_idle_ns}
    other = replace(case)
    other.__dict__["shares"] = shares
    finding = keys(other)["launch_bound"]
    assert f"{doing}, " in finding.evidence
    assert finding.advice.startswith(advice)
    assert finding.change is None
    assert finding.is_bound


def test_a_run_that_says_fp32_computes_templates_in_32_bits():
    case = facts("bert/reduce-overhead")
    assert case.record.spec["precision"] == "fp32"
    renamed = tuple(
        replace(kernel, name="triton_tem_fused_mm_0")
        if kernel.category in PRODUCT_CATEGORIES
        else kernel
        for kernel in case.summary.kernels
        if kernel.category != "attention"
    )
    edited = replace(case, summary=replace(case.summary, kernels=renamed))
    assert half_precision(edited) is not None


def test_what_has_no_floor_is_in_the_most_alone():
    case = facts("bert/eager")
    products = [(op, case.peaks.half_flops, 2) for op in case.products]
    kernels = case.kernels("gemm", "conv", "attention")
    of_products, _ = roofline(case, products, "16 bits")
    of_all, _ = roofline(case, products, "16 bits", kernels)
    assert of_all[:2] == of_products[:2]
    attention_ns = case.per_step(case.kernels("attention"))
    assert of_all[2] == pytest.approx(of_products[2] + attention_ns)
    # All of a ResNet's products have shapes: nothing is said of others.
    assert "The other" not in keys(facts("resnet50/eager"))["half_precision"].evidence


def test_a_loader_below_half_of_the_host_s_time_is_not_the_cause():
    case = replace(facts("breaky/eager"))
    idle_ns = case.host_idle_ns
    shares = {key: ns for key, ns in case.shares.items() if not key.startswith("idle_host_")}
    parts = {"data_loader": 0.4, "launching": 0.3, "other": 0.3}
    shares |= {f"idle_host_{cause}": part * idle_ns for cause, part in parts.items()}
    mixed = replace(case)
    mixed.__dict__["shares"] = shares
    finding = keys(mixed)["launch_bound"]
    assert "Compile" in finding.advice
    assert finding.change is not None


def test_bfloat16_is_not_advised_where_no_tensor_core_has_it():
    case = facts(*BERT)
    assert "torch.bfloat16" in keys(case)["half_precision"].advice
    device = replace(case.summary.device, compute_capability="7.0")
    volta = keys(replace(case, summary=replace(case.summary, device=device)))
    assert "torch.float16" in volta["half_precision"].advice


def test_a_call_that_waits_is_a_synchronisation_without_a_value_too():
    """The same capture without its .item(): what is left is cudaStreamSynchronize."""
    case = facts(*BREAKY)
    ops = case.trace.ops.filter(~pl.col("name").cast(pl.String).str.contains("item|local_scalar"))
    edited = replace(case, trace=replace(case.trace, ops=ops))
    finding = keys(edited)["synchronisations"]
    assert "cudaStreamSynchronize" in finding.evidence
    calls = case.trace.runtime.filter(~pl.col("name").cast(pl.String).str.contains("Synchronize"))
    silent = replace(edited, trace=replace(edited.trace, runtime=calls))
    assert "synchronisations" not in keys(silent)


def bare(case: Facts) -> Facts:
    """As if the run had a trace alone."""
    return replace(case, record=msgspec.structs.replace(case.record, measurement=None))


@pytest.mark.parametrize("name", [RESNET, ("resnet50/eager",)])
def test_a_host_that_the_profiler_slows_turns_no_faster_kernels_into_no_gain(name):
    """A bare ResNet-50: "makes the step 147 µs longer", where 16 bits save 446 µs of 2.70 ms.

    Eager the device is the limit, until 16 bits make it faster than the host.
    """
    case = facts(*name)
    timed = keys(case)["half_precision"].prediction
    assert (timed.basis, timed.clock) == ("simulated", "unprofiled")
    finding = keys(bare(case))["half_precision"]
    assert (finding.prediction.basis, finding.prediction.clock) == ("bound", "profiled")
    assert 0 < timed.expected_ns < finding.at_stake_ns < bare(case).step_ns
    assert evidence_text(finding).endswith("waits for the host, which the profiler slows.")
    assert not advice_text(finding).startswith("Considered")


@pytest.mark.parametrize("key", ["tf32_off", "half_precision"])
def test_beside_a_slowed_host_a_faster_kernel_may_save_all_that_the_device_does(key):
    """Of a bare BERT 1.53 ms (1.48 to 1.59) were predicted, where its timed steps say 3.36."""
    timed, untimed = (keys(case)[key].prediction for case in (facts(*BERT), bare(facts(*BERT))))
    assert (timed.clock, untimed.clock) == ("unprofiled", "profiled")
    assert untimed.low_ns <= untimed.expected_ns < timed.expected_ns <= untimed.high_ns


def bound(ns):
    return Prediction.at_most(ns, "unprofiled", "nobody knows")


def estimate(ns):
    return Prediction(ns, 0.9 * ns, 1.1 * ns, "simulated", "unprofiled")


def test_an_estimate_goes_before_a_bound_of_similar_size():
    """A bound counts half; what is much larger stays first all the same."""
    result = (
        Finding("bound", "", "", "", "kernels", prediction=bound(150.0)),
        Finding("estimate", "", "", "", "kernels", prediction=estimate(100.0)),
        Finding("much", "", "", "", "kernels", prediction=bound(250.0)),
        Finding("note", "", "", "", "kernels", prediction=estimate(900.0), weight="note"),
        Finding("without a number", "", "", "", "kernels"),
    )
    order = [entry.key for entry in ranked(result)]
    assert order == ["much", "estimate", "bound", "without a number", "note"]

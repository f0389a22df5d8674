from dataclasses import replace

import pytest

from profiler_core.analysis.compare import compare
from profiler_core.analysis.compilation.compile_time import CompileTime
from profiler_core.analysis.side import make_side
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.verdict import verdict
from profiler_core.analysis.wording.notes import pair_notes
from profiler_core.analysis.wording.verdict import details
from tests.builders import a_run, a_trace, kernel, launch, memset, op, step

GEMM = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_warpgroupsize1x1x1__5x_cublas"


def a_summary(*names, graph=False, dur=100, operator=None):
    """Two steps; in each, every kernel once, by one graph launch or one launch a kernel."""
    device, runtime, ops = [], [], []
    for number in (0, 1):
        start = number * 1_000
        for position, name in enumerate(names):
            correlation = number + 1 if graph else number * 100 + position + 1
            device.append(kernel(start + 50 + position * 150, dur, correlation, name=name))
            if not graph or position == 0:
                api = "cudaGraphLaunch" if graph else "cudaLaunchKernel"
                runtime.append(launch(start + position * 5, 5, correlation, name=api))
        if operator:
            ops.append({"ts_ns": start, "dur_ns": 1_000, "name": operator, "pid": 1, "tid": 100})
    return summarise(
        a_trace(
            annotations=[step(0, 0, 1_000), step(1, 1_000, 1_000)],
            runtime=runtime,
            device=device,
            ops=ops,
        )
    )


def one(baseline, candidate):
    return compare(baseline, [candidate]).candidates[0]


def notes_of(baseline, candidate):
    return pair_notes(compare(baseline, [candidate]), 0)


def test_everything_is_per_step():
    comparison = one(
        make_side(a_run(), a_summary("a", "b", "c")),
        make_side(a_run(variant="default"), a_summary("triton_poi_fused_0", graph=True)),
    )
    assert (comparison.n_kernels, comparison.n_launches) == ((3, 1), (3, 1))
    assert (comparison.n_graph_launches, comparison.n_memset) == ((0, 1), (0, 0))
    assert (comparison.kernel_time_ns, comparison.window_ns) == ((300, 100), (1_000, 1_000))
    assert comparison.by_category["triton_pointwise"].n == (0, 1)
    assert comparison.by_category["other"].time_ns == (300, 0)
    assert (comparison.label, comparison.baseline_label) == ("default", "eager")


def test_counts_that_differ_from_step_to_step_are_averages():
    trace = a_trace(
        annotations=[step(0, 0, 10), step(1, 10, 10)],
        runtime=[launch(1, 1, 1), launch(11, 1, 2), launch(12, 1, 3)],
        device=[kernel(2, 1, 1), kernel(12, 1, 2), memset(14, 1, 3)],
    )
    comparison = one(make_side(a_run(), summarise(trace)), make_side(a_run(), summarise(trace)))
    assert comparison.n_memset == (0.5, 0.5)


def test_step_time_is_unprofiled_where_both_were_timed():
    comparison = one(
        make_side(a_run(*[1_000] * 20), a_summary("a")),
        make_side(a_run(*[500] * 20, variant="default"), a_summary("a")),
    )
    assert (comparison.step_time.clock, comparison.step_time.ratio) == ("unprofiled", 2.0)
    assert (comparison.verdict, comparison.interleaved) == ("faster", False)


def test_step_time_is_profiled_on_both_sides_where_one_was_not_timed():
    sides = (
        make_side(a_run(*[1_000] * 20), a_summary("a")),
        make_side(a_run(variant="default"), a_summary("a")),
    )
    comparison = one(*sides)
    assert (comparison.step_time.clock, comparison.verdict) == ("profiled", "no_verdict")
    assert comparison.step_time.baseline_ns == 1_000
    assert any("profiler's clock" in note for note in notes_of(*sides))


@pytest.mark.parametrize(
    ("said", "captures", "expected"),
    [
        ((True, True), ("x", "x"), True),
        ((True, False), ("x", "x"), False),
        ((True, True), ("x", "y"), False),
        ((None, None), ("x", "x"), False),
    ],
)
def test_rounds_are_paired_only_within_one_capture_that_took_turns(said, captures, expected):
    sides = [
        make_side(a_run(*[1_000] * 20, interleaved=i, record={"capture_id": c}), None)
        for i, c in zip(said, captures, strict=True)
    ]
    comparison = one(*sides)
    assert (comparison.interleaved, comparison.step_time.paired) == (expected, expected)


def test_break_even_is_what_compiling_costs_over_what_a_step_saves():
    comparison = one(
        make_side(a_run(*[1_000] * 20), None),
        make_side(
            a_run(*[500] * 20, variant="default", first_call_ns=10_050, warm_first_call_ns=1_050),
            None,
        ),
    )
    assert comparison.compile.seconds == pytest.approx(10_000e-9)
    assert comparison.compile.warm_seconds == pytest.approx(1_000e-9)
    assert (comparison.compile.source, comparison.compile.break_even_steps) == ("first call", 200)


def test_break_even_is_a_whole_number_of_steps_that_has_paid():
    comparison = one(
        make_side(a_run(*[1_000] * 20), None),
        make_side(a_run(*[500] * 20, variant="default", first_call_ns=10_055), None),
    )
    assert comparison.compile.break_even_steps == 201  # 10 005 ns at 50 ns per step


def test_logs_tell_what_compiling_takes_and_the_first_call_stands_beside_it():
    compiling = CompileTime(4_000e-9, 3_000e-9, 1_000e-9, runtime_seconds=0.0, n_compilations=2)
    comparison = one(
        make_side(a_run(*[1_000] * 20), None),
        make_side(
            a_run(*[500] * 20, variant="default", first_call_ns=10_050), None, compiling=compiling
        ),
    )
    assert comparison.compile.seconds == pytest.approx(4_000e-9)
    assert comparison.compile.first_call_seconds == pytest.approx(10_000e-9)
    assert (comparison.compile.source, comparison.compile.break_even_steps) == ("logs", 80)


def test_autotuning_at_the_first_calls_has_to_be_paid_back_too():
    """It is not compiling, and nobody gets the first fast step without it."""
    compiling = CompileTime(4_000e-9, 4_000e-9, 0.0, runtime_seconds=1_600e-9, n_compilations=1)
    candidate = a_run(*[500] * 20, variant="default", first_call_ns=10_050)
    comparison = one(
        make_side(a_run(*[1_000] * 20), None), make_side(candidate, None, compiling=compiling)
    )
    assert comparison.compile.seconds == pytest.approx(4_000e-9)
    assert comparison.compile.autotuning_seconds == pytest.approx(1_600e-9)
    assert comparison.compile.break_even_steps == 112  # 5 600 ns at 50 ns per step
    sentences = details(verdict(comparison))
    assert any("at the first calls autotuning 1.60 µs" in text for text in sentences)


@pytest.mark.parametrize("walls", [[1_000] * 20, [2_000] * 20])
def test_what_is_not_faster_never_pays(walls):
    comparison = one(
        make_side(a_run(*[1_000] * 20), None),
        make_side(a_run(*walls, variant="default", first_call_ns=10_000), None),
    )
    assert comparison.compile.break_even_steps is None


def test_a_gain_that_is_no_difference_never_pays():
    walls, other = [1_000_000, 1_010_000] * 10, [999_000, 1_008_000] * 10
    after = a_run(*other, variant="default", first_call_ns=10**7, interleaved=True)
    comparison = one(make_side(a_run(*walls, interleaved=True), None), make_side(after, None))
    assert comparison.step_time.ratio > 1
    assert (comparison.verdict, comparison.compile.break_even_steps) == ("no_difference", None)


def test_whether_compiling_pays_cannot_be_told_from_too_few_rounds():
    """ "it has paid for itself after 922 steps" stood below "too few repeats for a verdict"."""
    comparison = one(
        make_side(a_run(*[1_000] * 3), None),
        make_side(a_run(*[500] * 3, variant="default", first_call_ns=10_050), None),
    )
    assert comparison.verdict == "no_verdict"
    assert comparison.compile.break_even_steps is None
    assert comparison.compile.no_break_even == "cannot be told"


def test_a_faster_step_of_another_workload_pays_for_nothing():
    comparison = one(
        make_side(a_run(*[1_000] * 20, record={"workload": "bert"}), None),
        make_side(
            a_run(
                *[500] * 20, variant="default", first_call_ns=10_050,
                record={"workload": "resnet50"},
            ),
            None,
        ),
    )  # fmt: skip
    assert comparison.workloads_differ
    assert (comparison.compile.source, comparison.compile.break_even_steps) == ("first call", None)


def test_an_eager_candidate_has_no_compile_cost():
    comparison = one(
        make_side(a_run(*[1_000] * 20), None),
        make_side(a_run(*[500] * 20, variant="eager", first_call_ns=10_000), None),
    )
    assert comparison.compile.seconds is None


def test_memory_of_both_sides():
    comparison = one(
        make_side(a_run(peak_reserved_bytes=10, peak_allocated_bytes=5), None),
        make_side(a_run(peak_reserved_bytes=20, peak_allocated_bytes=2), None),
    )
    assert comparison.memory.peak_reserved_bytes == (10, 20)
    assert comparison.memory.peak_allocated_bytes == (5, 2)
    assert comparison.memory.measured is True


def test_a_failed_run_is_compared_as_far_as_it_goes():
    sides = (
        make_side(a_run(*[1_000] * 20), a_summary("a")),
        make_side(
            a_run(variant="max-autotune", record={"status": "failed", "error": "out of memory"}),
            None,
        ),
    )
    comparison = one(*sides)
    assert (comparison.verdict, comparison.status, comparison.error) == (
        "no_verdict",
        "failed",
        "out of memory",
    )
    assert (comparison.n_kernels, comparison.step_time.ratio) == ((1, None), None)
    assert any("out of memory" in note for note in notes_of(*sides))


def test_replayed_kernels_take_the_category_that_their_operators_have_elsewhere():
    eager = a_summary(GEMM, operator="aten::conv2d")
    graph = a_summary(GEMM, GEMM, graph=True)
    assert list(graph.by_category) == ["gemm"]
    sides = (make_side(a_run(), eager), make_side(a_run(variant="reduce-overhead"), graph))
    comparison = one(*sides)
    assert {key: pair.n for key, pair in comparison.by_category.items()} == {"conv": (1, 2)}
    (note,) = [note for note in notes_of(*sides) if "replay" in note and "count as" in note]
    assert note.startswith("reduce-overhead: 2 kernels per step that CUDA graphs replay (")
    assert ") count as convolution, as their operators in the other runs say; " in note
    assert note.endswith("without those runs their names put them under GEMM.")


@pytest.mark.parametrize(("part", "named"), [(0.008, "convolution"), (0.012, "convolution and")])
def test_a_category_is_named_from_a_hundredth_of_the_largest_change_on(part, named):
    """Less is rounding: a category that no kernel changed to differs by a part of a nanosecond."""
    eager = a_summary(GEMM, operator="aten::conv2d")
    sides = (
        make_side(a_run(), eager),
        make_side(a_run(variant="default"), a_summary(GEMM, graph=True)),
    )
    comparison = compare(sides[0], [sides[1]])
    (pair,) = comparison.candidates
    conv = pair.by_category["conv"]
    more = replace(conv, time_ns=(0.0, part * conv.time_ns[1]))
    pair = replace(pair, by_category={**pair.by_category, "pooling": more})
    notes = pair_notes(replace(comparison, candidates=(pair,)), 0)
    (note,) = [note for note in notes if "count as" in note]
    assert (f"count as {named}" in note) and ("pooling" in note) == ("and" in named)


def test_environments_that_differ_are_named():
    ours = {"torch": "2.11", "gpu": "H200", "sm_clock_mhz": 1, "variables": {"OMP": "1"}}
    theirs = {"torch": "2.12", "gpu": "H200", "sm_clock_mhz": 2, "variables": {"OMP": "2"}}
    comparison = one(
        make_side(a_run(record={"environment": ours, "workload": "bert"}), None),
        make_side(a_run(record={"environment": theirs, "workload": "resnet50"}), None),
    )
    assert [(d.key, d.baseline, d.candidate) for d in comparison.environment_differs] == [
        ("torch", "2.11", "2.12"),
        ("variables.OMP", "1", "2"),
        ("workload", "bert", "resnet50"),
    ]


def test_precision_settings_that_follow_from_the_variant_are_no_surprise():
    def side(precision, setting):
        record = {
            "environment": {"float32_matmul_precision": setting},
            "spec": {"precision": precision},
        }
        return make_side(a_run(record=record), None)

    assert one(side("fp32", "highest"), side("tf32", "high")).environment_differs == ()
    assert len(one(side("fp32", "highest"), side("fp32", "high")).environment_differs) == 1


def test_candidates_keep_their_order():
    sides = [make_side(a_run(variant=name), None) for name in ("eager", "b", "a")]
    comparison = compare(sides[0], sides[1:])
    assert [c.label for c in comparison.candidates] == ["b", "a"]
    assert comparison.sides == tuple(sides[1:])


def test_step_times_of_a_gpu_and_of_a_host_are_not_compared_for_that_reason():
    """ "at least one run has neither rounds nor steps" was said of two traces with steps."""
    on_gpu = a_summary(GEMM)
    on_host = summarise(
        a_trace(
            annotations=[step(0, 0, 1_000), step(1, 1_000, 1_000)],
            ops=[op(100, 500, "aten::mm"), op(1_100, 500, "aten::mm")],
        )
    )
    assert (on_gpu.n_steps, on_host.n_steps) == (2, 2)
    sides = [make_side(a_run(variant=v), s) for v, s in (("eager", on_host), ("default", on_gpu))]
    for baseline, candidate in (sides, sides[::-1]):
        notes = pair_notes(compare(baseline, [candidate]), 0)
        (why,) = [note for note in notes if note.startswith("Step times cannot be compared")]
        assert why.endswith("one trace has the kernels of a GPU, the other has none.")
        assert not any("neither rounds nor steps" in note for note in notes)
    without_steps = make_side(a_run(variant="none"), None)
    (why,) = [
        note
        for note in pair_notes(compare(sides[1], [without_steps]), 0)
        if note.startswith("Step times cannot be compared")
    ]
    assert why.endswith("at least one run has neither rounds nor steps.")

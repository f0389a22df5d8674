from dataclasses import replace
from pathlib import Path

import pytest

from profiler_core.analysis.compare import compare
from profiler_core.analysis.measures import common_clock, measures, step_ns
from profiler_core.analysis.side import make_side
from profiler_core.analysis.step_parts import StepParts, step_parts
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.wording.measures import change_text
from profiler_core.analysis.wording.step_bars import scale_notes
from profiler_core.session.comparison import Comparison
from tests.builders import a_run, a_trace, kernel, launch, step


def a_summary(*durations, stream=None, measurement=None):
    """One step of 1000 ns with kernels of these lengths, one after another or on streams."""
    device, ts = [], 10
    for number, dur in enumerate(durations, start=1):
        where = {} if stream is None else {"stream": number}
        device.append(kernel(ts, dur, number, name="triton_poi_fused_0", **where))
        ts += 0 if stream == "each" else dur
    return summarise(
        a_trace(
            annotations=[step(0, 0, 1_000)],
            runtime=[launch(0, 1, n) for n in range(1, len(durations) + 1)],
            device=device,
        ),
        measurement,
    )


def a_side(run, *durations):
    return make_side(run, a_summary(*durations, measurement=run.record.measurement))


def by_label(comparison):
    return {m.label: m for m in measures(comparison)}


def test_break_even_counts_the_autotuning_beside_the_compile_time():
    """9.02 s over 1.02 ms a step are 8 821 steps, and the table said 9 089."""
    folder = Path(__file__).resolve().parents[2] / "sample_traces" / "bert"
    numbers = Comparison.open([folder / "eager", folder / "default"]).numbers
    row = by_label(numbers)["Break-even steps"]
    cost = numbers.candidates[0].compile
    times = by_label(numbers)["Step time"].values
    assert cost.whole_seconds is not None and cost.autotuning_seconds > 0.2
    steps = cost.whole_seconds * 1e9 / (times[0] - times[1])
    assert row.values[1] == pytest.approx(steps, abs=1)
    assert row.definition.startswith("Compile time, with autotuning at the first calls, over")


def test_every_run_has_a_value_and_every_candidate_a_judgement():
    sides = [
        a_side(a_run(*[5_000] * 20, peak_reserved_bytes=100, interleaved=True), 500, 100),
        a_side(
            a_run(*[2_500] * 20, variant="default", peak_reserved_bytes=300, interleaved=True), 200
        ),
        a_side(a_run(*[5_000] * 20, variant="max-autotune", interleaved=True), 500, 100),
    ]
    rows = by_label(compare(sides[0], sides[1:]))
    assert rows["Step time"].values == (500, 250, 500)
    assert rows["Step time"].judgements == ("better", "same")
    assert rows["Speed"].values == (1.0, 2.0, 1.0)
    assert rows["Kernels per step"].values == (2, 1, 2)
    assert rows["Kernels per step"].judgements == ("better", "same")
    assert rows["Peak memory"].values == (100, 300, None)
    assert rows["Peak memory"].judgements == ("worse", "unjudged")
    assert rows["Kernels per step"].change(1) == 0.5
    for measure in rows.values():
        assert len(measure.values) == 3
        assert len(measure.judgements) == 2
        assert measure.definition.endswith(".")


def test_a_time_without_repeats_is_shown_and_not_judged():
    sides = [make_side(a_run(5_000), None), make_side(a_run(500, variant="default"), None)]
    rows = by_label(compare(sides[0], sides[1:]))
    assert rows["Step time"].values == (500, 50)
    assert rows["Step time"].judgements == ("unjudged",)


def test_one_untimed_run_puts_all_on_the_profiled_clock():
    sides = [
        make_side(a_run(5_000), a_summary(100)),
        make_side(a_run(variant="default"), a_summary(100)),
    ]
    assert common_clock(sides) == "profiled"
    assert [step_ns(side, "profiled") for side in sides] == [1_000, 1_000]
    assert "Step time, profiled" in by_label(compare(sides[0], sides[1:]))


def test_a_failed_run_does_not_push_the_others_off_their_clock():
    sides = [make_side(a_run(5_000), None), make_side(a_run(variant="default"), None)]
    assert common_clock(sides) == "unprofiled"
    rows = by_label(compare(sides[0], sides[1:]))
    assert rows["Step time"].values == (500, None)
    assert rows["Step time"].judgements == ("unjudged",)


def test_what_no_run_knows_has_no_row():
    rows = by_label(compare(make_side(a_run(), None), [make_side(a_run(), None)]))
    assert rows == {}


def test_busy_is_of_the_step_on_the_clock_shown():
    side = make_side(a_run(5_000), a_summary(300))  # 500 ns per step unprofiled, busy 300
    assert by_label(compare(side, []))["GPU busy"].values == (0.6,)


def test_a_cpu_is_busy_for_the_share_of_the_profiled_step():
    """The profiler slows operators as much as what is between them: 300 of 1000 ns."""
    summary = replace(a_summary(300), device_kind="cpu")
    side = make_side(a_run(2_500), summary)  # 250 ns per step unprofiled
    assert by_label(compare(side, []))["CPU busy"].values == (0.3,)
    parts = step_parts(summary, 250.0, "unprofiled")
    assert (parts.idle_ns, parts.scale) == (175.0, 0.25)


@pytest.mark.parametrize("step", [None, 600.0, 250.0])
def test_the_parts_of_a_step_sum_to_it(step):
    parts = step_parts(a_summary(300), step, "unprofiled")
    assert sum(parts.by_category.values()) + parts.idle_ns == pytest.approx(parts.step_ns)
    assert parts.step_ns == (step or 1_000)
    assert parts.clock == ("unprofiled" if step else "profiled")


def test_kernels_that_overlap_are_shown_in_proportion():
    parts = step_parts(a_summary(300, 300, stream="each"), None, "profiled")
    assert (parts.by_category["triton_pointwise"], parts.idle_ns) == (300, 700)
    assert parts.scale == 0.5


def test_what_gains_nothing_is_never_earned_back():
    eager = make_side(a_run(*[2_000_000] * 20, variant="eager", interleaved=True), None)
    slower = make_side(
        a_run(*[3_000_000] * 20, variant="default", interleaved=True, first_call_ns=1_000_000_000),
        None,
    )
    (row,) = [m for m in measures(compare(eager, [slower])) if m.label == "Break-even steps"]
    assert row.values == (None, None)
    assert (row.word(0), row.word(1)) == (None, "never")


@pytest.mark.parametrize(("replays", "judgement"), [(False, "better"), (True, "unjudged")])
def test_what_tensors_hold_is_not_judged_beside_graphs_that_keep_it_in_pools(replays, judgement):
    eager = a_side(a_run(*[5_000] * 20, peak_allocated_bytes=100), 500)
    candidate = a_side(a_run(*[5_000] * 20, variant="default", peak_allocated_bytes=3), 500)
    if replays:
        assert candidate.summary is not None
        candidate = replace(candidate, summary=replace(candidate.summary, n_graph_launches=1))
    row = by_label(compare(eager, [candidate]))["Peak allocated"]
    assert row.values == (100, 3) and row.judgements == (judgement,)
    assert row.change(1) == (None if replays else 0.03)
    assert change_text(row, 1) == ("" if replays else "−97 %")
    pair = compare(eager, [candidate]).candidates[0]
    assert pair.memory.allocated_compares is not replays


def test_a_bar_says_that_it_is_scaled_wherever_it_shows_another_number_than_the_table():
    """At 0.4 % of overlap the bar had 4.98 ms and the table 5.00 ms, and no sentence."""
    whole = StepParts(1e7, "unprofiled", {"gemm": 5e6}, 5e6, 1.0, "gpu")
    overlapping = replace(whole, by_category={"gemm": 4.98e6}, scale=0.996)
    (note,) = scale_notes(("a", "b"), (whole, overlapping))
    assert note.startswith("b: kernels overlap, or were slower under the profiler")
    assert "shown at > 99\u00a0% of its time" in note or "shown at > 99 % of its time" in note
    # A profiled step is no shorter than under the profiler.
    (note,) = scale_notes(("a",), (replace(overlapping, clock="profiled"),))
    assert note.startswith("a: kernels overlap; in the bar")
    # Less than the last digit: both say 5.00 ms.
    alike = replace(whole, by_category={"gemm": 4.9999e6}, scale=0.99998)
    assert scale_notes(("a",), (alike,)) == ()

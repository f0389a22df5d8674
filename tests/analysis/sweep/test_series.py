"""The points of a sweep put together, and what is said of them."""

from dataclasses import replace

import msgspec
import pytest

from profiler_core.analysis.sweep.series import build_sweep
from profiler_core.analysis.wording.sentence import plain
from profiler_core.analysis.wording.sweep import (
    evidence,
    failures,
    headline,
    short_failure,
    short_failures,
    without_candidate,
)
from profiler_core.errors import BadInput
from profiler_core.model.run import CompiledByScript
from tests.analysis.sweep.made_up import FAILED, point, sweep, wrong

PAYS_LATER = {
    1: {"eager": 100, "default": 200},
    8: {"eager": 100, "default": 110},
    32: {"eager": 400, "default": 200},
    128: {"eager": 1600, "default": 700},
}


def one(made, number=0):
    return made.series[number]


def test_points_come_in_order_of_their_values():
    made = sweep({value: PAYS_LATER[value] for value in (32, 1, 128, 8)})
    assert [p.value for p in made.points] == [1, 8, 32, 128]
    assert [p.index for p in made.points] == [1, 3, 0, 2]
    assert [p.x for p in made.points] == [1.0, 8.0, 32.0, 128.0]


def test_each_point_has_the_numbers_of_its_comparison():
    (first, *_, last) = sweep(PAYS_LATER).points
    baseline, candidate = last.variants
    assert baseline.ratio is None
    assert baseline.verdict is None
    assert candidate.ratio == pytest.approx(1600 / 700, rel=1e-6)
    assert candidate.interval is not None
    assert candidate.interval[0] > 1
    assert candidate.verdict == "faster"
    # 128 samples in 1600 µs × 1.0045, the median of the ten rounds.
    assert baseline.samples_per_s == pytest.approx(128 / 1600e-6 / 1.0045, rel=1e-4)
    assert first.variants[1].verdict == "slower"


def test_a_step_of_several_batches_or_tokens_is_worth_as_many():
    once, twice = sweep(PAYS_LATER), sweep(PAYS_LATER, batches_per_step=2)
    assert (once.counted, once.points[0].baseline.tokens_per_s) == ("samples", None)
    baseline = twice.points[-1].baseline
    assert baseline.samples_per_s == pytest.approx(2 * once.points[-1].baseline.samples_per_s)
    decoding = sweep(PAYS_LATER, tokens_per_step=16)
    baseline = decoding.points[-1].baseline
    assert decoding.counted == "tokens"
    assert decoding.per_second(baseline) == pytest.approx(16e9 / baseline.step_time_ns)


def test_a_baseline_that_its_script_compiles_is_called_so_at_every_point():
    blocks = CompiledByScript(n_frames=1, n_modules=12)
    points = [
        point(value, times, index=index, values=tuple(PAYS_LATER))
        for index, (value, times) in enumerate(PAYS_LATER.items())
    ]
    first, *others = points[0].sides
    changed = msgspec.structs.replace
    measured = changed(first.run.record.measurement, compiled_by_script=blocks)
    run = changed(first.run, record=changed(first.run.record, measurement=measured))
    # At the other points nobody looked.
    points[0] = replace(points[0], sides=(replace(first, run=run), *others))
    made = build_sweep(points)
    assert made.baseline == "eager, with 12 blocks compiled by the script"
    assert {p.baseline.series for p in made.points} == {made.baseline}
    assert [series.label for series in made.series] == ["default"]


def test_where_compiling_starts_to_pay():
    made = sweep(PAYS_LATER)
    assert one(made).crossing.kind == "from"
    assert plain(headline(made, one(made))) == "default pays from batch size 32 on."
    said = evidence(made, one(made))
    assert "between 0.50 (at 1) and 2.29 (at 128)" in said
    assert "It passes 1 between 8 and 32, at about 9.8 by interpolation." in said
    assert "It is slower at 1 and 8." in said


def test_compile_cost_and_memory_stand_at_each_point():
    made = sweep(
        {8: {"eager": 300, "default": 100}},
        values=(8, 16),
        first_call_ns=2_000_100_000, peak_reserved_bytes=7, peak_allocated_bytes=5,
    )  # fmt: skip
    candidate = made.points[0].variants[1]
    assert candidate.compile.seconds == pytest.approx(2.0, rel=1e-3)
    assert candidate.compile.source == "first call"
    assert candidate.compile.break_even_steps == pytest.approx(10_000, rel=0.01)
    assert made.points[0].baseline.compile.seconds is None
    assert made.peak_is_reserved
    assert made.peak_bytes(candidate) == 7
    assert made.missing == (16,)


def test_on_a_cpu_the_allocated_peak_is_shown():
    made = sweep({1: {"eager": 1, "default": 1}}, peak_allocated_bytes=5)
    assert not made.peak_is_reserved
    assert made.peak_bytes(made.points[0].baseline) == 5


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({1: {"eager": 20, "a": 10}, 2: {"eager": 30, "a": 10}},
         "a pays at every batch size that was measured."),
        ({1: {"eager": 10, "a": 20}, 2: {"eager": 10, "a": 30}},
         "a pays at no batch size that was measured."),
        ({1: {"eager": 20, "a": 10}, 2: {"eager": 10, "a": 30}},
         "a pays up to batch size 1."),
        ({1: {"eager": 20, "a": 10}, 2: {"eager": 10, "a": 30}, 3: {"eager": 20, "a": 10}},
         "a pays at batch size 1 and 3 only."),
        ({1: {"eager": 20, "a": 10}, 2: {"eager": FAILED, "a": FAILED}},
         "a pays at batch size 1, the only one that could be judged."),
        ({1: {"eager": FAILED, "a": 10}, 2: {"eager": 10, "a": FAILED}},
         "a could not be judged at any batch size."),
    ],
)  # fmt: skip
def test_the_headline_says_what_was_measured(table, said):
    made = sweep(table)
    assert plain(headline(made, one(made))) == said


def test_a_point_with_too_few_rounds_says_why_it_has_no_verdict():
    made = sweep({1: {"eager": 20, "a": 10}, 2: {"eager": 30, "a": 10}}, n_rounds=3)
    assert plain(headline(made, one(made))) == "a could not be judged at any batch size."
    assert "There are too few rounds for a verdict: it takes 5 or more." in evidence(
        made, one(made)
    )
    some = build_sweep(
        [
            point(1, {"eager": 20, "a": 10}, values=(1, 2), n_rounds=3),
            point(2, {"eager": 30, "a": 10}, values=(1, 2), index=1),
        ]
    )
    assert "too few rounds for a verdict at 1: it" in evidence(some, one(some))
    enough = sweep(PAYS_LATER)
    assert "too few" not in evidence(enough, one(enough))


def test_up_and_down_is_called_not_monotonic():
    made = sweep({1: {"eager": 20, "a": 10}, 2: {"eager": 10, "a": 30}, 3: {"eager": 20, "a": 10}})
    assert "not monotonic" in evidence(made, one(made))


def test_facts_of_the_sweep_are_those_that_every_point_shares():
    made = sweep(PAYS_LATER)
    assert made.workload == "net"
    assert made.facts == ("net",)


def test_words_are_listed_and_not_ordered():
    made = sweep(
        {"fp32": {"eager": 10, "a": 20}, "bf16": {"eager": 20, "a": 10}},
        name="precision", label="precision",
    )  # fmt: skip
    assert [p.value for p in made.points] == ["fp32", "bf16"]
    assert plain(headline(made, one(made))) == "a pays at precision bf16 only."
    assert "monotonic" not in evidence(made, one(made))
    assert made.points[0].batch_size is None
    assert made.points[0].variants[0].samples_per_s is None


def test_shapes_lie_at_their_number_of_elements():
    made = sweep(
        {"8x3x64x64": {"eager": 20, "a": 10}, "8x3x32x32": {"eager": 10, "a": 20}},
        name="shape", label="input shape",
    )  # fmt: skip
    assert [p.value for p in made.points] == ["8x3x32x32", "8x3x64x64"]
    assert made.points[0].batch_size == 8
    assert "elements by interpolation" in evidence(made, one(made))


def test_a_wrong_answer_does_not_pay_however_fast():
    points = [
        point(1, {"eager": 10, "a": 20}, index=0),
        wrong(point(2, {"eager": 20, "a": 10}, index=1)),
        point(4, {"eager": 20, "a": 10}, index=2),
    ]
    made = build_sweep(points)
    assert plain(headline(made, one(made))) == "a pays from batch size 4 on."
    assert "gives wrong results at 2" in evidence(made, one(made))


def test_what_failed_is_said_with_who_and_why():
    made = sweep(
        {
            1: {"eager": 20, "a": 10, "b": 10},
            2: {"eager": FAILED, "a": 10, "b": FAILED},
            4: {"eager": FAILED, "a": FAILED, "b": FAILED},
        },
        values=(1, 2, 4, 8),
    )
    assert short_failures(made) == [
        "Batch size 2, eager and b: out of memory.",
        "Batch size 4, every variant: out of memory.",
        "a runs at batch size 2, where eager runs out of memory.",
        "Batch size 8: not here. The sweep was stopped before, or the runs were deleted.",
    ]
    assert failures(made)[0] == (
        "Batch size 2, eager and b: Out of memory in the first call: 9 GB."
    )
    assert short_failure(made.points[0].baseline) is None


def test_runs_of_no_sweep_or_of_several_are_refused():
    with pytest.raises(BadInput, match="No point"):
        build_sweep([])
    with pytest.raises(BadInput, match="several sweeps"):
        build_sweep(
            [point(1, {"eager": 1}), point("fp32", {"eager": 1}, name="precision", index=1)]
        )


def test_a_series_goes_on_where_one_point_lacks_it():
    made = sweep(
        {1: {"eager": 20, "a": 10}, 2: {"eager": 20, "a": 10, "b": 5}, 4: {"eager": 20, "b": 5}}
    )
    assert [series.label for series in made.series] == ["a", "b"]
    assert one(made, 1).crossing.paying == (1, 2)


def test_a_baseline_alone_is_a_sweep_with_nothing_to_compare():
    made = sweep({1: {"eager": 10}, 2: {"eager": 20}})
    assert made.series == ()
    assert without_candidate(made).startswith("eager alone was captured")

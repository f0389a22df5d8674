"""Tokens and samples per second of both sides, with an interval, on every surface."""

import pytest

from profiler_core.analysis.compare import compare
from profiler_core.analysis.measures import measures
from profiler_core.analysis.noise import repeated
from profiler_core.analysis.rows.measures import measure_rows
from profiler_core.analysis.side import make_side
from profiler_core.analysis.throughput import throughput
from tests.analysis.worded import worded
from tests.builders import a_run

# Rounds of 2 and 1 ms a step: ten steps each, half of them a per cent longer.
EAGER = [20_000_000, 20_200_000] * 10
COMPILED = [10_000_000, 10_100_000] * 10


def run_of(walls, variant="default", gpu=None, batch=None, **measured):
    spec = {} if batch is None else {"batch_size": batch}
    environment = {"gpu": gpu} if gpu else {}
    record = {"spec": spec, "environment": environment}
    return a_run(*walls, variant=variant, record=record, interleaved=True, **measured)


def compared(**more):
    sides = [
        make_side(run_of(walls, variant, **more), None)
        for walls, variant in ((EAGER, "eager"), (COMPILED, "default"))
    ]
    return compare(sides[0], sides[1:])


def test_tokens_of_a_decoding_step_are_counted_on_both_sides():
    comparison = compared(gpu="NVIDIA H200", tokens_per_step=8)
    before, after = comparison.candidates[0].throughput
    assert (before.counted, after.counted) == ("tokens", "tokens")
    assert before.per_second == pytest.approx(8 / 2.01e-3)
    assert after.per_second == pytest.approx(8 / 1.005e-3)
    # The rounds say half a per cent, two processes 4 %: an interval of what a repetition gives.
    for side in (before, after):
        low, high = side.interval
        assert 0.94 < low / side.per_second < 0.965 and 1.035 < high / side.per_second < 1.06
    (sentence,) = [s for s in worded(comparison.candidates[0]).details if "per second" in s]
    assert sentence.startswith("Tokens per second 3\u202f980 (95 % interval 3\u202f8")
    assert " → 7\u202f960 (95 % interval 7\u202f6" in sentence
    assert [row[1].text for row in measure_rows(comparison) if row[0].text == "Tokens per second"]


def test_samples_are_those_of_all_batches_of_a_step_and_of_a_known_batch_size_only():
    comparison = compared(batch=16, batches_per_step=2)
    (row,) = [m for m in measures(comparison) if m.unit == "rate"]
    assert row.label == "Samples per second"
    assert row.values[0] == pytest.approx(32 / 2.01e-3)
    assert row.judgements == ("better",)
    unknown = compared()
    assert unknown.candidates[0].throughput == (None, None)
    assert not [m for m in measures(unknown) if m.unit == "rate"]
    assert not [s for s in worded(unknown.candidates[0]).details if "per second" in s]


def test_few_rounds_have_a_rate_and_no_interval():
    rate = throughput(run_of(EAGER[:3], tokens_per_step=1).record)
    assert (rate.counted, rate.interval) == ("tokens", None)
    assert throughput(run_of([], tokens_per_step=1).record) is None


def test_a_drift_within_a_run_is_in_its_interval():
    quiet = repeated(run_of(EAGER).record.measurement, on_gpu=True)
    rising = [round(wall * (1 + 0.01 * number)) for number, wall in enumerate(EAGER)]
    drifting = repeated(run_of(rising).record.measurement, on_gpu=True)
    assert drifting[1] > quiet[1] + 0.02 and drifting[0] < quiet[0] - 0.02


def test_steps_of_other_numbers_of_tokens_are_other_workloads():
    sides = [
        make_side(run_of(EAGER, variant, tokens_per_step=tokens), None)
        for variant, tokens in (("eager", 8), ("default", 16))
    ]
    (candidate,) = compare(sides[0], sides[1:]).candidates
    assert candidate.workloads_differ
    assert "one has tokens_per_step 8, the other 16" in worded(candidate).headline

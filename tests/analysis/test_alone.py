"""A step alone on the GPU, before another variant's process had run there, beside its rounds."""

import pytest

from profiler_core.analysis.compare import compare
from profiler_core.analysis.noise import repeated
from profiler_core.analysis.side import make_side
from profiler_core.analysis.throughput import throughput
from profiler_core.analysis.wording.notes import pair_notes
from profiler_core.model.run import Telemetry
from tests.builders import a_run

# Of resnet50 with CUDA graphs in bf16 autocast on an H200: 777 µs per step in turns with eager,
# 832 in a process of its own.
IN_TURNS = [100_000_000, 101_000_000] * 10
ALONE = Telemetry(started_ns=0, wall_ns=322_000_000, n_steps=386)


def replayed(**measured):
    return a_run(
        *IN_TURNS, n_steps=130, variant="reduce-overhead", record={"environment": {"gpu": "H200"}},
        interleaved=True, tokens_per_step=1, **measured,
    )  # fmt: skip


def notes_of(candidate):
    baseline = a_run(*IN_TURNS, n_steps=40, interleaved=True)
    comparison = compare(make_side(baseline, None), [make_side(candidate, None)])
    return [note for note in pair_notes(comparison, 0) if "alone on the GPU" in note]


def test_the_interval_of_a_repetition_reaches_to_what_it_takes_alone():
    in_turns = repeated(replayed().record.measurement, on_gpu=True)
    low, high = repeated(replayed(alone=ALONE).record.measurement, on_gpu=True)
    alone_over_turns = (322_000_000 / 386) / (100_500_000 / 130)
    assert low == in_turns[0]
    assert high == pytest.approx(in_turns[1] * alone_over_turns)
    faster = Telemetry(started_ns=0, wall_ns=280_000_000, n_steps=386)
    low, high = repeated(replayed(alone=faster).record.measurement, on_gpu=True)
    assert low < in_turns[0] and high == in_turns[1]


def test_a_rate_has_that_interval_too():
    rate = throughput(replayed(alone=ALONE).record)
    assert rate.interval[0] < 386 / 0.322 < rate.interval[1]


def test_a_step_that_takes_longer_alone_is_noted_and_one_that_does_not_is_not():
    (note,) = notes_of(replayed(alone=ALONE))
    assert "took 834" in note and note.endswith("more than in turns with them.")
    same = Telemetry(started_ns=0, wall_ns=100_500_000, n_steps=130)
    assert notes_of(replayed(alone=same)) == notes_of(replayed()) == []


@pytest.mark.parametrize("sign", [1, -1])
def test_what_rounds_differ_by_is_not_noted(sign):
    for share, n_notes in ((0.019, 0), (0.021, 1)):
        wall_ns = round(100_500_000 * (1 + sign * share))
        alone = Telemetry(started_ns=0, wall_ns=wall_ns, n_steps=130)
        assert len(notes_of(replayed(alone=alone))) == n_notes, share


def test_no_step_is_no_time():
    empty = Telemetry(started_ns=0, wall_ns=0, n_steps=0)
    assert repeated(replayed(alone=empty).record.measurement, on_gpu=True) == repeated(
        replayed().record.measurement, on_gpu=True
    )

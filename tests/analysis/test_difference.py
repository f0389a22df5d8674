"""What a step gained between two runs, in numbers and in words."""

import pytest

from profiler_core.analysis.difference import difference_of, is_regression
from profiler_core.analysis.wording.difference import difference_sentence, prediction_sentence
from profiler_core.model.review import Difference
from profiler_core.model.run import Measurement, Round, RunRecord


def run(run_id, wall_ns, n_rounds=20, capture_id="", interleaved=False):
    rounds = tuple(
        Round(index=n, order=0, n_steps=1, wall_ns=wall_ns + n % 3) for n in range(n_rounds)
    )
    return RunRecord(
        run_id=run_id,
        capture_id=capture_id,
        measurement=Measurement(rounds=rounds, interleaved=interleaved),
        environment={"gpu": "H200"},
    )


def test_a_gain_beyond_the_noise_and_the_share_of_the_prediction():
    difference = difference_of(run("a", 2_000_000), run("b", 1_000_000), predicted_ns=4e6)
    assert (difference.before_ns, difference.after_ns) == (2_000_001, 1_000_001)
    low, high = difference.gained_ns
    assert 900_000 < low < 1_000_000 < high < 1_100_000
    assert difference.is_beyond_noise and not is_regression(difference)
    assert difference.realised == 0.25


def test_rounds_of_one_capture_are_paired_and_the_interval_is_narrower():
    apart = difference_of(run("a", 2_000_000), run("b", 1_900_000))
    together = [run(name, ns, 20, "c", True) for name, ns in (("a", 2_000_000), ("b", 1_900_000))]
    in_turns = difference_of(*together)
    width = [d.gained_ns[1] - d.gained_ns[0] for d in (apart, in_turns)]
    assert width[1] < width[0] / 3


def test_a_loss_is_a_regression_and_noise_is_none():
    assert is_regression(difference_of(run("a", 1_000_000), run("b", 1_500_000)))
    assert not is_regression(difference_of(run("a", 1_000_000), run("b", 1_005_000)))
    assert not is_regression(difference_of(run("a", 1_000_000, 2), run("b", 3_000_000, 2)))
    assert difference_of(run("a", 1), RunRecord(run_id="b")) is None


@pytest.mark.parametrize(
    ("difference", "sentences"),
    [
        (
            Difference("a", "b", 2e6, 1.5e6, (4e5, 6e5), 1e6, is_bound=True),
            ("95 % interval −600 µs to −400 µs.", "put at most 1.00 ms per step at stake: 50 % of"),
        ),
        (Difference("a", "b", 2e6, 1.5e6, (4e5, 6e5), 1e5), ("", "more than that was gained.")),
        (Difference("a", "b", 2e6, 2.5e6, (-6e5, -4e5), 1e5), ("+25 %", "none of it was gained.")),
        (
            Difference("a", "b", 2e6, 1.9e6, (-1e5, 3e5), 1e5),
            ("which is within the noise.", "cannot be told from noise."),
        ),
        (
            Difference("a", "b", 2e6, 1.5e6, (4e5, 6e5), -1.5e5),
            ("95 %", "expected no gain, but a step that takes 150 µs longer."),
        ),
        (Difference("a", "b", 2e6, 1.9e6), ("too few rounds for an interval.", "")),
    ],
)
def test_words(difference, sentences):
    told = difference_sentence(difference), prediction_sentence(difference)
    for text, part in zip(told, sentences, strict=True):
        assert part in text
    assert bool(told[1]) == bool(sentences[1])

import pytest

from profiler_core.analysis.headline import split_headline


@pytest.mark.parametrize(
    ("labels", "sentence", "headline", "evidence"),
    [
        (
            ("default", "eager"),
            "default is 2.00 times as fast as eager: a step takes 4 ms → 2 ms (an interval).",
            "default is 2.00 times as fast as eager.",
            "A step takes 4 ms → 2 ms (an interval).",
        ),
        (
            ("a: b (1)", "a: b (2)"),
            "Device time per step 2 µs → 1 µs from a: b (1) to a: b (2) (profiled, 5 steps): so.",
            "Device time per step 2 µs → 1 µs from a: b (1) to a: b (2).",
            "Profiled, 5 steps: so.",
        ),
        (
            ("default", "eager"),
            "Whether default is faster or slower than eager cannot be told: a step takes 2 µs.",
            "Whether default is faster or slower than eager cannot be told.",
            "A step takes 2 µs.",
        ),
        (
            ("a", "b"),
            "A step takes 2 µs with a and 1 µs with b, measured over 5 steps.",
            "A step takes 2 µs with a and 1 µs with b.",
            "Measured over 5 steps.",
        ),
    ],
)
def test_a_headline_ends_where_its_evidence_begins(labels, sentence, headline, evidence):
    assert split_headline(sentence, labels) == (headline, evidence)

"""The share of wrong time, by the judge: what docs/ledger.md publishes must stay true."""

import pytest

from tests.analysis.ledger.judge.pairs import ROOT, all_pairs, judged

PAIRS = [
    pytest.param(baseline, candidate, id=name.replace(" ", ""))
    for name, baseline, candidate in all_pairs(
        [ROOT / "tests" / "fixtures" / "ledger", *sorted((ROOT / "sample_traces").glob("*/"))]
    )
]


@pytest.mark.parametrize(("baseline", "candidate"), PAIRS)
def test_with_structured_logs_almost_nothing_is_wrong(baseline, candidate):
    """One kernel that all layers share, a mask of all layers, parts of a graph that DDP cut."""
    for verdict in judged(baseline, candidate, logs=True):
        assert verdict.wrong <= 0.005 * verdict.total, verdict.mistakes.most_common(3)
        assert verdict.undecidable <= 0.03 * verdict.total
        assert verdict.merged <= 0.01 * verdict.total

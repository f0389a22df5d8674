"""The share of wrong time, by the judge: what docs/ledger.md publishes must stay true."""

import pytest

from profiler_core.analysis.ledger import filling, matching
from tests.analysis.ledger.judge.pairs import ROOT, all_pairs, judged, ledger_of

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


SAMPLES = ROOT / "sample_traces"
BF16 = "bf16-autocast+channels_last"


@pytest.mark.parametrize(
    ("pair", "most_wrong"),
    [
        ("bert/default", (0.01, 0.055)),
        ("dynshape/default", (0.0, 0.0)),
        ("breaky/default", (0.0, 0.0)),
        (f"resnet50-bf16/reduce-overhead+{BF16}", (0.015, 0.005)),
        ("simplecnn-training/default", (0.01, 0.02)),
    ],
)
def test_without_logs_no_more_is_wrong_than_is_published(pair, most_wrong):
    verdicts = judged(eager_of(pair), SAMPLES / pair, logs=False)
    for verdict, most in zip(verdicts, most_wrong, strict=True):
        assert verdict.wrong <= most * verdict.total, verdict.mistakes.most_common(3)


def eager_of(pair: str):
    folder, variant = pair.split("/")
    return SAMPLES / folder / f"eager{variant.partition('+')[1]}{variant.partition('+')[2]}"


def lost(pair: str) -> float:
    """Wrong and unmatched time of both sides without logs, shares added up."""
    baseline, candidate = eager_of(pair), SAMPLES / pair
    ledger = ledger_of(baseline, candidate, logs=False)
    unmatched = 2 - ledger.coverage_baseline - ledger.coverage_candidate
    return unmatched + sum(v.wrong / v.total for v in judged(baseline, candidate, logs=False))


WITNESSES = [
    ("names_baseline", f"resnet50-bf16/reduce-overhead+{BF16}", 0.05),
    ("names_candidate", "simplecnn-training/reduce-overhead", 0.01),
    ("copy_for_what_follows", f"resnet50-bf16/reduce-overhead+{BF16}", 0.02),
    ("kernel_of_library", "bert/reduce-overhead", 0.1),
    ("alone_in_place", "simplecnn-training/reduce-overhead", 0.02),
    ("reach", "resnet50/default", 0.005),
]


@pytest.mark.parametrize(("rule", "pair", "least"), WITNESSES)
def test_every_rule_earns_its_place(rule, pair, least, monkeypatch):
    """Switched off, it loses time of a pair that it places rightly."""
    before = lost(pair)
    if hasattr(filling, rule):
        kept = tuple(one for one in filling.RULES if one.__name__ != rule)
        assert len(kept) == len(filling.RULES) - 1
        monkeypatch.setattr(filling, "RULES", kept)
    else:
        monkeypatch.setattr(matching, rule, lambda *_: None)
    assert lost(pair) >= before + least

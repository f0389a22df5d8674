"""The JSON of ledger, waterfall and findings: the design's keys, whole ns that add up."""

import json

import pytest

from profiler_core.analysis.findings import Finding
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.waterfall import waterfall
from profiler_core.answers.encoding import plain
from profiler_core.answers.explanation import finding_answer, fusion_answer, waterfall_answer
from tests.analysis.ledger.pairs import FIXTURES, SMALL, side, small


@pytest.mark.parametrize(("baseline", "candidate"), SMALL)
def test_groups_add_up_in_whole_nanoseconds(baseline, candidate):
    ledger = small(baseline, candidate)
    fusion = json.loads(json.dumps(plain(fusion_answer(ledger))))
    assert fusion["baseline_ns"] == round(ledger.baseline_ns / ledger.n_baseline_steps)
    for key in ("baseline_ns", "candidate_ns"):
        assert sum(group[key] for group in fusion["groups"]) == fusion[key]
        assert all(isinstance(group[key], int) for group in fusion["groups"])
    lone = [g["candidate_ns"] for g in fusion["groups"] if g["kind"] == "only in the candidate"]
    assert fusion["compiled_only_ns"] == sum(lone)
    assert {"baseline_ops", "candidate_kernels", "source", "module", "notes", "evidence",
            "confidence"} <= set(fusion["groups"][0])  # fmt: skip


def test_waterfall_rows():
    names = ("bert.eager", "bert.default")
    summaries = tuple(summarise(side(FIXTURES / name).trace) for name in names)
    result = waterfall(summaries, (7e6, 6e6))
    rows = plain(waterfall_answer(result))
    assert sum(row["delta_ns"] for row in rows) == -1_000_000
    assert {"class", "baseline_ns", "candidate_ns", "delta_ns"} <= set(rows[0])


def test_rows_open_into_the_groups_of_fusion():
    names = ("bert.eager", "bert.default")
    summaries = tuple(summarise(side(FIXTURES / name).trace) for name in names)
    ledger = small(*names)
    n_groups = len(fusion_answer(ledger).groups)
    for row in plain(waterfall_answer(waterfall(summaries, (7e6, 6e6), ledger))):
        if row["groups"]:
            assert sum(part["baseline_ns"] for part in row["groups"]) == row["baseline_ns"]
            assert sum(part["candidate_ns"] for part in row["groups"]) == row["candidate_ns"]
            assert all(0 <= part["group"] < n_groups for part in row["groups"])
        else:
            assert row["class"].startswith(("idle", "overlap", "clocks"))


def test_absent_is_null():
    finding = plain(finding_answer(Finding("k", "T.", "e", "a", "overview")))
    assert finding["at_stake_ns"] is None
    assert finding["one_off_ns"] is None

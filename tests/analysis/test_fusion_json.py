"""The JSON of ledger, waterfall and findings: the design's keys, whole ns that add up."""

import json

import pytest

from profiler_core.analysis.findings import Finding
from profiler_core.analysis.fusion_json import finding_json, fusion_json, waterfall_json
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.waterfall import waterfall
from tests.analysis.ledger.pairs import FIXTURES, SMALL, side, small


@pytest.mark.parametrize(("baseline", "candidate"), SMALL)
def test_groups_add_up_in_whole_nanoseconds(baseline, candidate):
    ledger = small(baseline, candidate)
    plain = json.loads(json.dumps(fusion_json(ledger)))
    assert plain["baseline_ns"] == round(ledger.baseline_ns / ledger.n_baseline_steps)
    for key in ("baseline_ns", "candidate_ns"):
        assert sum(group[key] for group in plain["groups"]) == plain[key]
        assert all(isinstance(group[key], int) for group in plain["groups"])
    lone = [g["candidate_ns"] for g in plain["groups"] if g["kind"] == "only in the candidate"]
    assert plain["compiled_only_ns"] == sum(lone)
    assert {"baseline_ops", "candidate_kernels", "source", "module", "notes", "evidence",
            "confidence"} <= set(plain["groups"][0])  # fmt: skip


def test_waterfall_rows():
    names = ("bert.eager", "bert.default")
    summaries = tuple(summarise(side(FIXTURES / name).trace) for name in names)
    result = waterfall(summaries, (7e6, 6e6))
    rows = waterfall_json(result)
    assert sum(row["delta_ns"] for row in rows) == -1_000_000
    assert {"class", "baseline_ns", "candidate_ns", "delta_ns"} <= set(rows[0])


def test_rows_open_into_the_groups_of_fusion():
    names = ("bert.eager", "bert.default")
    summaries = tuple(summarise(side(FIXTURES / name).trace) for name in names)
    ledger = small(*names)
    n_groups = len(fusion_json(ledger)["groups"])
    for row in waterfall_json(waterfall(summaries, (7e6, 6e6), ledger)):
        if row["groups"]:
            assert sum(part["baseline_ns"] for part in row["groups"]) == row["baseline_ns"]
            assert sum(part["candidate_ns"] for part in row["groups"]) == row["candidate_ns"]
            assert all(0 <= part["group"] < n_groups for part in row["groups"])
        else:
            assert row["class"].startswith(("idle", "overlap", "clocks"))


def test_absent_is_null():
    plain = finding_json(Finding("k", "T.", "e", "a", "overview"))
    assert plain["at_stake_ns"] is None
    assert plain["one_off_ns"] is None

"""What looks like another program leads no list of candidates, and passes no gate."""

from pathlib import Path

import pytest

from profiler_core.analysis.gate.limits import limits_of
from profiler_core.cli.main import main
from profiler_core.report.contents import gather
from profiler_core.session.comparison import Comparison

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"
EAGER, REPLAYED, OTHER = (
    CAPTURES / name / "trace.json.gz"
    for name in ("breaky.eager", "breaky.default", "customcnn_b1.reduce-overhead")
)


def test_the_fastest_candidate_of_another_program_does_not_lead() -> None:
    """Pages showed it first, and the report another one."""
    comparison = Comparison.open([EAGER, OTHER, REPLAYED])
    other, related = comparison.pairs
    assert other.unrelated
    assert related.unrelated == ""
    ratios = [pair.numbers.step_time.ratio or 0.0 for pair in comparison.pairs]
    assert ratios[0] > ratios[1]
    assert comparison.leading is related
    assert comparison.shown_first == related.number
    contents = gather(comparison)
    assert contents.lead is contents.comparison.candidates[related.number]


def test_among_several_of_other_programs_one_leads_all_the_same() -> None:
    comparison = Comparison.open([EAGER, OTHER, OTHER])
    assert comparison.leading is comparison.pairs[0]
    assert comparison.shown_first == 0


def test_a_gate_does_not_judge_what_looks_like_another_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Another model's 3 launches per step passed as fewer than 12."""
    gate = Comparison.open([EAGER, OTHER]).pairs[0].gate(limits_of({"launches": "+0"}), [])
    (check,) = gate.checks
    assert (gate.outcome, gate.exit_status) == ("cannot judge", 3)
    assert (check.candidate or 0.0) < (check.baseline or 0.0)
    assert "look like different programs: " in check.sentence
    assert main(["gate", str(EAGER), str(OTHER), "--max-launches", "+0"]) == 3
    assert "look like different programs" in capsys.readouterr().out
    related = Comparison.open([EAGER, EAGER]).pairs[0].gate(limits_of({"launches": "+0"}), [])
    assert related.outcome == "pass"

"""A break in a line: the user's call, the place inside a library that it led to, its own hint."""

from dataclasses import replace

from profiler_core.analysis.compilation.graph_break_cost import BreakCost
from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.gate.answer import annotations, break_lines, junit_xml, summary_markdown
from profiler_core.analysis.gate.judgement import Check, Gate
from profiler_core.analysis.gate.limits import QUANTITIES
from profiler_core.analysis.rows.compilation import break_table
from profiler_core.analysis.wording.compilation import break_line, evidence
from profiler_core.cli.logs import _text
from profiler_core.model.compilation import CompileLog, Frame, FrameSkip, GraphBreak

MINE, LIBRARY = "/home/ada/repo/chat.py", "/v/site-packages/transformers/generation/utils.py"
GENERATE = GraphBreak(
    file=LIBRARY,
    line=2650,
    function="_sample",
    reason="Data-dependent branching.",
    hints=("Use torch.cond.", "It may be possible to report an issue to PyTorch."),
    stack=(Frame(MINE, 12, "answer"), Frame(LIBRARY, 2650, "_sample")),
    compile_ids=("0/0",),
)
OWN = replace(GENERATE, file=MINE, line=30, function="answer", hints=(), stack=())


def report_of(*graph_breaks, skips=()):
    return compilation_report(CompileLog(graph_breaks=graph_breaks, frame_skips=skips))


def test_the_users_call_and_the_place_inside_stand_there():
    (entry,) = report_of(GENERATE).breaks
    assert entry.innermost == Frame(LIBRARY, 2650, "_sample")
    assert break_line(entry) == (
        f"{MINE}:12 (inside {LIBRARY}:2650): Data-dependent branching. Use torch.cond."
    )


def test_a_step_is_not_called_what_the_device_needs():
    """Of a job it is the step of all ranks, waiting and the host's share included."""
    cost = BreakCost(2, 3.16e6, 34.6e6, 34.6e6, 0.0, (0.0, 0.0), "unprofiled", "device", {}, 3, 3)
    assert evidence(replace(report_of(GENERATE), break_cost=cost)) == [
        "The device sets the pace: in a step of 34.6 ms it hides the host's 3.16 ms between the "
        "compiled calls."
    ]


def test_a_break_on_the_users_own_line_has_no_other_place_and_the_advice_of_its_kind():
    (entry,) = report_of(OWN).breaks
    assert entry.innermost is None
    assert break_line(entry) == f"{MINE}:30: Data-dependent branching. {entry.cause.change}"


def test_breaks_at_one_call_are_told_apart_by_where_they_are():
    """As with `generate()`: six breaks, all at the user's own call."""
    report = report_of(*(replace(GENERATE, line=2650 + n) for n in range(3)))
    text = _text(report)
    for n in range(3):
        assert f"inside {LIBRARY}:{2650 + n}" in text
    cells = [row[0].below for row in break_table(report, 10).rows]
    assert sorted(below[-1] for below in cells) == [
        f"inside generation/utils.py:{2650 + n}" for n in range(3)
    ]


def test_a_skipped_frame_gives_pytorchs_hint():
    skip = FrameSkip(
        function="answer", function_line=10, file=MINE, line=12, reason="a loop",
        hints=("Move the break out of the loop.",),
    )  # fmt: skip
    (entry,) = report_of(skips=(skip,)).skips
    assert entry.change.startswith("Move the break out of the loop. ")


def gate_of(outcome):
    quantity = next(entry for entry in QUANTITIES if entry.key == "graph_breaks")
    check = Check(quantity, outcome, 0.0, 1.0, "0", "0 → 1, the limit 0.")
    return Gate((check,), None, True, (), report_of(GENERATE).breaks)


def test_a_gate_says_which_breaks_and_marks_their_lines():
    gate = gate_of("regression")
    (line,) = break_lines(gate)
    assert line.startswith(f"Graph break at {MINE}:12 (inside {LIBRARY}:2650)")
    assert line in junit_xml(gate, "chat")
    assert "Use torch.cond." in summary_markdown(gate, "chat")
    total, at_line = annotations(gate, "/home/ada/repo")
    assert total.startswith("::error title=Graph breaks")
    assert at_line.startswith("::error file=chat.py,line=12,title=Graph break::")
    assert annotations(gate_of("cannot judge"))[1].startswith(f"::warning file={MINE},line=12")

"""A break in a line: the user's call, the place inside a library that it led to, its own hint."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from profiler_core.analysis.compilation.causes import recompile_cause
from profiler_core.analysis.compilation.graph_break_cost import BreakCost
from profiler_core.analysis.compilation.recompiles import RecompileReport
from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.finding_rules.compiler import recompiles
from profiler_core.analysis.gate.answer import annotations, break_lines, junit_xml, summary_markdown
from profiler_core.analysis.gate.judgement import Check, Gate
from profiler_core.analysis.gate.limits import QUANTITIES
from profiler_core.analysis.rows.compilation import break_table, fact_table, recompile_table
from profiler_core.analysis.wording.compilation import break_line, evidence, headline
from profiler_core.analysis.wording.findings import stake_text
from profiler_core.analysis.wording.sentence import plain
from profiler_core.cli.logs import _text
from profiler_core.model.compilation import CompileLog, Frame, FrameSkip, GraphBreak, Recompile
from tests.builders import a_trace, op, step

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


def recompiled(costs_ns):
    """A report of recompiles of these costs, None where it is not known."""
    event = Recompile(function="f", file="m.py", line=3, compile_id="0/1", reasons=())
    reports = tuple(
        RecompileReport(event, recompile_cause(event.reasons), cost, None, None)
        for cost in costs_ns
    )
    known = [cost for cost in costs_ns if cost is not None]
    return replace(
        compilation_report(CompileLog()),
        recompiles=reports, recompile_ns=sum(known) if known else None,
    )  # fmt: skip


PRICED = BreakCost(
    2, 3e4, 205e3, 180e3, 25e3, (1e3, 75e3), "unprofiled", "host", {"0/0": 0.7, "0/1": 0.3}, 3, 3
)  # fmt: skip


@pytest.mark.parametrize(("costs_ns", "said", "told"), [
    ([2e9], "1 recompile took 2.00 s.", "2.00 s"),
    ([2e9, 1e9], "2 recompiles took 3.00 s.", "3.00 s"),
    ([2e9, None], "2 recompiles: one took 2.00 s, what the other one took is not known.",
     "2.00 s, not known of 1"),
    ([2e9, 1e9, None, None], "4 recompiles: 2 took 3.00 s, what the other 2 took is not known.",
     "3.00 s, not known of 2"),
    ([None], "1 recompile, whose time is not known.", "–"),
])  # fmt: skip
def test_the_time_is_of_the_recompiles_whose_time_is_known(costs_ns, said, told):
    """ "4 recompiles took 3.00 s" stood there where the log timed two of them."""
    report = recompiled(costs_ns)
    assert plain(headline(report)).replace("\u00a0", " ") == said
    rows = {row[0].text: row[1].text for row in fact_table([("a", report)]).rows}
    assert rows["Time of the recompiles"].replace("\u00a0", " ") == told
    table = recompile_table(report, 9)
    assert table.heads[3:5] == ("times", "at step")  # which, and not how many
    (row,) = table.rows
    assert row[-1].text.replace("\u00a0", " ") == told


@pytest.mark.parametrize(("costs_ns", "amount", "told"), [
    ([2e9, 1e9], "3.00 s", ""),
    ([2e9, 1e9, None], "≥ 3.00 s", " At least 3.00 s: how long one of them took is not known."),
    ([None, None], "–", ""),
])  # fmt: skip
def test_the_stake_of_recompiles_of_which_some_are_not_timed_is_a_lower_bound(
    costs_ns, amount, told
):
    """ "3.00 s once" stood there as what all of them took."""
    finding = recompiles(SimpleNamespace(compilation=recompiled(costs_ns)))
    assert stake_text(finding)[0].replace("\u00a0", " ") == amount
    said = finding.evidence.replace("\u00a0", " ")
    assert said == f"f (m.py:3): no reason logged.{told}"


def priced(*costs_ns):
    """A report of breaks of these costs, None where it is not known; 25 µs together."""
    (entry,) = report_of(GENERATE).breaks
    breaks = tuple(replace(entry, cost_ns=cost) for cost in costs_ns)
    return replace(report_of(GENERATE), breaks=breaks, break_cost=PRICED)


@pytest.mark.parametrize(("costs_ns", "said", "without"), [
    ([25e3], "1 graph break costs 25.0 µs per step.", "the breaks"),
    ([20e3, 5e3], "2 graph breaks cost 25.0 µs per step.", "the breaks"),
    ([25e3, None], "2 graph breaks: one costs 25.0 µs per step, what the other break costs is not "
     "known.", "that break"),
    ([20e3, 5e3, None, None], "4 graph breaks: 2 cost 25.0 µs per step, what the other 2 cost is "
     "not known.", "those 2 breaks"),
    # No call of the trace is any of theirs: what is saved is saved by all of them.
    ([None, None], "2 graph breaks cost 25.0 µs per step.", "the breaks"),
])  # fmt: skip
def test_the_cost_is_of_the_breaks_whose_cost_is_known(costs_ns, said, without):
    """ "2 graph breaks cost 25.5 µs" stood above a list in which one of them had no cost."""
    report = priced(*costs_ns)
    assert plain(headline(report)).replace("\u00a0", " ") == said
    assert f"Without {without} a step would take 180" in evidence(report)[0]
    n_known = len(costs_ns) - report.n_unpriced_breaks
    assert ("do not add up" in evidence(report)[0]) == (n_known > 1)


@pytest.mark.parametrize(("trace", "why"), [
    (None, "the run has no trace"),
    (a_trace(annotations=[op(0, 10, "forward")]), "the trace has no steps"),
    (a_trace(annotations=[step(0, 0, 10)]), "the trace shows no compiled call after it"),
])  # fmt: skip
def test_why_the_cost_of_breaks_is_not_known_is_told(trace, why):
    """The list had "–", without a word; a trace without steps "no compiled call after it"."""
    report = compilation_report(CompileLog(graph_breaks=(GENERATE,)), trace=trace)
    assert report.unpriced == why
    told = f"What the breaks cost is not known: {why}."
    assert told in _text(report)
    assert (told in evidence(report)) == ("steps" in why)


def test_a_table_says_of_how_many_breaks_the_cost_is_not_known():
    (row,) = (
        row for row in fact_table([("default", priced(25e3, None))]).rows if "Cost" in row[0].text
    )
    assert row[1].text.replace("\u00a0", " ") == "25.0 µs, not known of 1"


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


ITEM = replace(
    OWN,
    reason="Unsupported Tensor.item() call with capture_scalar_outputs=False",
    hints=("Set `torch._dynamo.config.capture_scalar_outputs = True`.",),
)
# (source, of it the line of the break, does the break go with capture_scalar_outputs?)
VALUES = (
    ("def f(x):\n    if x.sum().item() > 0:\n        return x + 1\n    return x\n", 2, False),
    ("def f(x):\n    while x.sum().item() > 0:\n        x = x - 1\n    return x\n", 2, False),
    ("def f(x):\n    y = x + 1 if x.mean().item() > 0 else x - 1\n    return y\n", 2, False),
    ("def f(x):\n    scale = x.max().item()\n    return x * scale\n", 2, True),
    ("def f(x):\n    assert x.sum().item() < 0\n    return x + 1\n", 2, True),
    ("def f(x):\n    y = x.sum().item() if len(x) > 1 else 3\n    return x * y\n", 2, True),
    ("def f(x):\n    if x.long().tolist()[0] > 0:\n        return x + 1\n    return x\n", 2, False),
)


@pytest.mark.torch
@pytest.mark.parametrize(("source", "line", "goes"), VALUES)
def test_a_setting_is_advised_with_which_torch_breaks_no_more(source, line, goes, tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "values.py"
    path.write_text(source)
    names = {}
    exec(compile(source, str(path), "exec"), names)
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        torch._dynamo.reset()
        explained = torch._dynamo.explain(names["f"])(torch.full((3,), -1.0))
    breaks = [why for why in explained.break_reasons if "generic_jump" in why.reason]
    assert (not breaks) == goes
    code = source.splitlines()[line - 1].strip()
    (entry,) = report_of(replace(ITEM, stack=(Frame(MINE, line, "f", code),))).breaks
    assert entry.cause.key == "tensor_item"
    assert ("capture_scalar_outputs = True`." in entry.advice) == goes
    assert ("torch.where or torch.cond" in entry.advice) != goes


def test_a_value_whose_line_is_not_known_has_pytorchs_hint():
    (entry,) = report_of(ITEM).breaks
    assert entry.advice == "Set `torch._dynamo.config.capture_scalar_outputs = True`."

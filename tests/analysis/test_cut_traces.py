"""A trace of which an unknown part is missing is told as cut before all else, and not compared."""

from dataclasses import replace

import pytest

from profiler_core.analysis.compare import compare
from profiler_core.analysis.explanation import Material, explain, explain_run
from profiler_core.analysis.headline_metrics import headline_metrics
from profiler_core.analysis.measures import measures, step_bars_of
from profiler_core.analysis.rows.categories import category_rows
from profiler_core.analysis.side import make_side
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.verdict import Claim
from profiler_core.analysis.wording.measures import change_text
from profiler_core.analysis.wording.sentence import plain
from profiler_core.analysis.wording.verdict import headline
from profiler_core.model.tally import CUT_SHORT, Tally
from tests.analysis.worded import worded
from tests.builders import a_run, a_trace, kernel, launch, step

WHOLE = a_trace(
    annotations=[step(0, 0, 1000)], runtime=[launch(10, 5, 1)], device=[kernel(20, 600, 1)]
)
CUT = replace(WHOLE, tally=Tally(9, repairs={CUT_SHORT: 1}))


def a_side(trace, label, *wall_ns):
    run = a_run(*wall_ns, variant=label, interleaved=True)
    return make_side(run, summarise(trace, run.record.measurement), label=label)


@pytest.mark.parametrize("traces", [(WHOLE, CUT), (CUT, WHOLE), (CUT, CUT)])
def test_profiled_times_of_a_cut_trace_are_not_compared(traces):
    comparison = compare(a_side(traces[0], "eager"), [a_side(traces[1], "default")])
    pair = comparison.candidates[0]
    told = headline(comparison)
    assert worded(pair).claim is Claim.CUT_TRACE
    assert pair.step_time.ratio is None
    assert None in pair.n_kernels and None in pair.device_time_ns
    assert told.is_bad
    assert plain(told.title).startswith("Not compared: the trace")
    assert "cut" in plain(told.title)
    assert told.lines == ()  # it is said once
    for row in measures(comparison):
        assert change_text(row, 1) == "", row.label
        assert row.judgements == ("unjudged",), row.label


def test_what_is_left_of_a_trace_is_no_step():
    sides = [a_side(WHOLE, "eager"), a_side(CUT, "default")]
    shown = {row.label: row.values for row in measures(compare(sides[0], sides[1:]))}
    assert shown["Step time, profiled"] == (1_000, None)
    assert shown["Kernels per step"] == (1, None)
    assert [row.label for row in measures(compare(sides[1], []))] == []
    assert [row.runs for row in category_rows(sides)] == [((1, 600), None)]
    assert category_rows(sides[1:]) == ()  # no time per step of a part of one
    assert step_bars_of(sides)[0] == ("eager",)  # what is missing would be drawn as idle


def test_two_whole_traces_are_compared():
    comparison = compare(a_side(WHOLE, "eager"), [a_side(WHOLE, "default")])
    assert worded(comparison.candidates[0]).claim is Claim.PROFILED
    assert not headline(comparison).is_bad


def test_a_cut_run_alone_says_so_first():
    told = headline(compare(a_side(CUT, "eager"), []))
    assert plain(told.title).startswith("The trace of eager is cut")
    assert told.is_bad


def test_timed_rounds_are_compared_and_the_cut_comes_first_below():
    times = ([2_000_000] * 20, [1_000_000] * 20)
    comparison = compare(a_side(WHOLE, "eager", *times[0]), [a_side(CUT, "default", *times[1])])
    said = worded(comparison.candidates[0])
    assert said.claim is Claim.FASTER
    assert said.details[0] == (
        "The trace of default is cut, and what it lacks is not known. Only the timed rounds are "
        "compared."
    )


@pytest.mark.parametrize("cut_side", [0, 1])
def test_a_cut_pair_has_neither_waterfall_nor_ledger(cut_side):
    traces = [CUT if side == cut_side else WHOLE for side in (0, 1)]
    comparison = compare(a_side(traces[0], "eager"), [a_side(traces[1], "default")])
    told = explain(comparison, 0, *(Material(trace) for trace in traces))
    assert (told.waterfall, told.ledger) == (None, None)
    assert any("is cut" in note for note in told.notes)
    assert (told.findings is None) == (cut_side == 1)  # what is missing looks like idle time


def test_a_cut_run_has_no_findings_and_no_numbers_to_follow():
    run = a_run(variant="eager")
    summary = summarise(CUT)
    findings, notes = explain_run(run.record, summary, Material(CUT))
    assert findings is None
    assert "is cut" in notes[0]
    assert headline_metrics(run.record, summary, None).n_kernels is None
    assert headline_metrics(run.record, summarise(WHOLE), None).n_kernels == 1

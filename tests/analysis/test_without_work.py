"""Traces without kernels and operators: what they are said to be."""

from dataclasses import replace

import pytest

from profiler_core.analysis.compare import compare
from profiler_core.analysis.explainable import not_explained
from profiler_core.analysis.measures import step_bars_of
from profiler_core.analysis.side import make_side
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.trace_notes import MEASURED_ON_THE_CPU
from profiler_core.analysis.without_work import without_work
from profiler_core.analysis.wording.notes import pair_notes
from profiler_core.analysis.wording.without_work import RECORD_IT, how_to_get_work, what_it_holds
from profiler_core.model.tally import CUT_SHORT, Tally
from profiler_core.model.trace import RECORDED_BY, RECORDING
from tests.builders import a_run, a_trace, kernel, op, step


def event(ts, category, name="work"):
    return {"ts_ns": ts, "dur_ns": 1, "ph": "X", "cat": category, "name": name}


def call(ts):
    return {"ts_ns": ts, "dur_ns": 1, "name": "net.py(3): forward"}


CHROME = a_trace(other=[event(0, "toplevel"), event(1, "blink"), event(2, "toplevel")])
PYTHON = a_trace(python=[call(0), call(1)])


def said(trace, name=""):
    lacking = without_work(trace)
    assert lacking is not None
    return what_it_holds(lacking, name)


@pytest.mark.parametrize(
    "trace",
    [a_trace(device=[kernel(0, 1)]), a_trace(ops=[op(0, 1, "aten::add")])],
)
def test_one_kernel_or_operator_is_work(trace):
    assert without_work(trace) is None


def test_the_trace_of_another_program_is_named_by_the_categories_of_its_events():
    assert said(CHROME, "chrome") == (
        "The trace of chrome is no profile of PyTorch: it holds 3 events of another program "
        "(2 of toplevel and 1 of blink), and neither a kernel nor an operator."
    )
    assert "(1 without a category)" in said(a_trace(other=[event(0, None)]))
    many = [event(n, f"kind{n}") for n in range(5)]
    assert "(1 of kind0, 1 of kind1, 1 of kind2 and 2 other kinds)" in said(a_trace(other=many))
    assert how_to_get_work(without_work(CHROME)) == RECORD_IT


def test_what_the_profiler_recorded_is_no_other_program():
    assert said(PYTHON) == (
        "The trace holds neither a kernel nor an operator that computes, only 2 Python calls."
    )
    allocating = a_trace(ops=[op(0, 1, "aten::empty_strided")], annotations=[step(0, 0, 9)])
    assert said(allocating).endswith("only 1 annotation and 1 operator that wraps or allocates.")
    assert "no profile" not in said(
        a_trace(other=[event(0, "Trace")], metadata={"schemaVersion": 1})
    )


def test_no_events_are_no_events():
    assert said(a_trace(), "empty") == "The trace of empty holds no events."


def test_a_cut_trace_may_have_held_work():
    cut = replace(CHROME, tally=Tally(3, repairs={CUT_SHORT: 1}))
    assert said(cut, "a").startswith("What is left of the cut trace of a holds neither a kernel")
    assert how_to_get_work(without_work(cut)).startswith("Record it again, or copy it again")


def test_another_tool_says_itself_how_to_record_what_is_missing():
    how = "The recording holds no GPU work: record with nsys profile -t cuda,nvtx."
    recording = {RECORDED_BY: "Nsight Systems", RECORDING: {"missing": [how]}}
    assert how_to_get_work(without_work(a_trace(metadata=recording))) == how


@pytest.mark.parametrize("trace", [CHROME, PYTHON])
def test_no_note_of_such_a_trace_speaks_of_numbers_or_of_a_cpu(trace):
    """It said that the numbers are for the whole trace, of which there are none."""
    notes = summarise(trace).notes
    assert said(trace) in notes
    assert MEASURED_ON_THE_CPU not in notes
    assert not any("numbers are for" in note for note in notes)


def test_beside_another_run_it_is_told_what_it_is_and_it_has_no_bar():
    on_cpu = a_trace(annotations=[step(0, 0, 20)], ops=[op(0, 10, "aten::conv2d")])
    full = make_side(a_run(), summarise(on_cpu), label="a")
    other = make_side(a_run(variant="b"), summarise(CHROME), label="b")
    comparison = compare(full, [other])
    assert any(
        "b: the trace is no profile of PyTorch" in note for note in pair_notes(comparison, 0)
    )
    assert step_bars_of((full, other))[0] == ("a",)
    # It said that one trace had the kernels of a GPU, and the other operators.
    assert not_explained(comparison, 0) == "the trace of b holds neither kernels nor operators."

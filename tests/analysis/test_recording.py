"""What is said of a recording of Nsight Systems, from metadata that anybody may have written."""

import pytest

from profiler_core.analysis.recording import (
    recorded_by,
    recording_notes,
    recording_of,
)
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.wording.notes import mixed_notes
from profiler_core.model.trace import RECORDED_BY, RECORDING
from tests.builders import a_trace, kernel, launch


def recorded(**said):
    return a_trace(
        device=[kernel(10, 5, 1)],
        runtime=[launch(1, 2, 1)],
        metadata={RECORDED_BY: "Nsight Systems", RECORDING: said},
    )


def test_a_trace_of_torch_is_none():
    trace = a_trace(device=[kernel(10, 5)])
    assert recording_of(trace) is None
    assert recorded_by(trace) == "torch.profiler"


def test_steps_processes_and_what_is_missing_are_said():
    trace = recorded(
        steps="step #", process=7, other_processes=[8, 9], missing=["Record more."], version="2026"
    )
    recording = recording_of(trace)
    assert recording is not None
    notes = recording_notes(recording)
    assert notes[0].startswith(
        "The recording holds 3 processes that used a GPU; shown is 7, not 8,"
    )
    assert "“step #”" in notes[1]
    assert notes[2] == "Record more."
    assert set(notes) <= set(summarise(trace).notes)


@pytest.mark.parametrize(
    "said",
    [
        {"steps": 5, "process": "x", "other_processes": "no list", "missing": {"a": 1}},
        {"ranges": [1, 2], "missing": [None, 3, "one"], "other_processes": [None, "x"]},
        {"ranges": {"a": "b", 3: 4}},
    ],
)
def test_odd_metadata_is_left_out(said):
    recording = recording_of(recorded(**said))
    assert recording is not None
    assert recording.steps is None
    assert recording.ranges == {}
    assert recording.other_processes == ()
    assert set(recording.missing) <= {"one"}


def test_sides_of_one_tool_share_everything():
    assert mixed_notes("Nsight Systems", "Nsight Systems") == []
    (note,) = mixed_notes("torch.profiler", "Nsight Systems")
    assert "host times do not" in note

"""Whole captures with a counters pass: real children, a stand-in for ncu."""

import pytest

from profiler_core.capture import launcher
from profiler_core.capture.counters.tool import find_tool
from profiler_core.capture.spec import CaptureSpec
from profiler_core.cli.capture_answer import capture_answer, capture_text
from profiler_core.errors import BadInput
from profiler_core.ingest.counters.reader import read_counters, read_run_counters
from profiler_core.ingest.run import open_run


@pytest.fixture
def capture_counted(fake_ncu, capture_tiny, monkeypatch):
    """A capture on the CPU that believes in counters."""
    monkeypatch.setattr(launcher, "counters_tool", lambda device: find_tool())

    def capture(variants, ncu):
        monkeypatch.setenv("FAKE_NCU", ncu)
        return capture_tiny("with_marks_for_a_profiler", variants, counters=True)

    return capture


@pytest.mark.torch
def test_each_variant_is_measured_in_a_process_of_its_own(capture_counted):
    finished = capture_counted("eager,backend:aot_eager", "measures")
    assert [run.status for run in finished.runs] == ["finished", "finished"]
    for run in finished.runs:
        opened = open_run(run.directory)
        counted = opened.record.measurement.counters
        assert counted.problem is None
        assert (counted.tool, counted.n_steps) == ("Nsight Compute 2025.3.1.0", 1)
        assert read_counters(opened.counters).kernels.height == counted.n_kernels == 125
        assert "counters" in opened.record.measurement.phase_seconds
        assert opened.record.spec["counters"] is True
    said = (finished.directory / "progress.jsonl").read_text()
    assert "Measures what each kernel of aot_eager moves" in said


@pytest.mark.torch
def test_counters_that_may_not_be_read_take_nothing_else_with_them(capture_counted):
    finished = capture_counted("eager", "has no permission")
    (run,) = finished.runs
    assert run.status == "finished"
    opened = open_run(run.directory)
    assert opened.counters is None
    assert opened.record.measurement.rounds
    (problem,) = read_run_counters(opened).problems
    assert problem.startswith("No hardware counters: Nsight Compute may not read this GPU's")
    assert "eager: no hardware counters. Nsight Compute may not" in capture_text(finished)
    assert capture_answer(finished).runs[0].counters["n_kernels"] == 0


def test_ranks_and_counters_are_refused_together():
    with pytest.raises(BadInput, match="ranks would wait for each other"):
        CaptureSpec("ddp", counters=True)

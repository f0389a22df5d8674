"""A variant that the capture does not compile, of code that compiles itself."""

import json
from pathlib import Path

import pytest

from profiler_core.cli.capture_answer import capture_text
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run

WORKLOADS = Path(__file__).resolve().parent / "workloads" / "compiled_by_user.py"

pytestmark = [pytest.mark.torch, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def blocks(capture_tiny):
    """Two of three blocks compiled by the user, with the passes that come after the timing."""
    return capture_tiny(
        "blocks", "eager,backend:aot_eager", path=WORKLOADS, profile=True, numerics=True, rounds=3
    )


def test_compiled_blocks_stand_in_the_record_of_eager_and_not_in_that_of_a_compiled_variant(blocks):
    eager, compiled = (open_run(run.directory).record.measurement for run in blocks.runs)
    assert eager.compiled_by_script.modules == ("0", "1")
    assert eager.compiled_by_script.n_modules == 2
    assert eager.compiled_by_script.n_frames >= 1
    assert not eager.compiled_by_script.is_whole
    assert compiled.compiled_by_script is None


def test_kernels_that_the_user_compiled_stand_in_the_trace_of_eager(blocks):
    trace = open_trace(open_run(blocks.runs[0].directory).trace)
    assert any("cpp_fused" in str(name) for name in trace.ops["name"].to_list())


def test_the_reference_in_double_precision_leaves_no_line_in_the_logs_of_the_user(blocks):
    """It runs the user's compiled blocks in fp64, which compiles them again."""
    eager = Run.open(blocks.runs[0].directory)
    assert eager.compile_log.recompiles == ()
    n_frames = eager.record.measurement.compiled_by_script.n_frames
    assert sum(c.direction == "forward" for c in eager.compile_log.compilations) == n_frames
    texts = [path.read_text() for path in eager.files.torch_logs]
    assert not any("float64" in text or "Double" in text for text in texts)
    assert json.loads((blocks.directory / "capture.json").read_text())["numerics"] is True
    assert Run.open(blocks.runs[1].directory).record.numerics.verdict == "right"


@pytest.mark.parametrize("function", ["whole", "own_step", "wrapped_but_switched_off"])
def test_other_ways_to_compile(capture_tiny, function):
    (run,) = capture_tiny(function, "eager", path=WORKLOADS).runs
    compiled = open_run(run.directory).record.measurement.compiled_by_script
    if function == "wrapped_but_switched_off":
        assert compiled is None
        return
    assert compiled.n_frames == 1
    assert compiled.is_whole == (function == "whole")
    assert compiled.n_modules == (1 if function == "whole" else 0)


def test_the_comparison_names_what_it_is(blocks):
    comparison = Comparison.open([run.directory for run in blocks.runs])
    assert comparison.labels == ("eager, with 2 blocks compiled by the script", "aot_eager")
    assert "eager, with 2 blocks compiled by the script" in capture_text(blocks)

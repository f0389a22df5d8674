"""What skipped frames lose, with whole-number answers."""

import pytest

from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.compilation.skipped_frames import Other, lost_gain, other_run
from profiler_core.model.compilation import Compilation, CompileLog, FrameSkip
from profiler_core.model.run import Measurement, Round
from profiler_core.report.contents import gather
from profiler_core.report.html.document import html_report
from tests.builders import a_run, a_trace, kernel, launch, op, step
from tests.made_up_runs import MadeUpRun, made_up_comparison

SKIP = FrameSkip(function="loop", function_line=3, file="m.py", line=5, reason="in a loop")


def timed(step_ns):
    rounds = tuple(Round(index=i, order=0, n_steps=10, wall_ns=10 * step_ns) for i in range(5))
    return Measurement(rounds=rounds)


def half_compiled():
    """Two kernels of the same length; a compiled call launches one of them."""
    return a_trace(
        annotations=[step(0, 0, 1000)],
        ops=[
            op(10, 400, "Torch-Compiled Region: 0/0"),
            op(20, 300, "## Call CompiledFxGraph abc ##"),
        ],
        runtime=[launch(50, 10, 1), launch(600, 10, 2)],
        device=[kernel(100, 50, 1), kernel(700, 50, 2)],
    )


def eager_trace():
    return a_trace(
        annotations=[step(0, 0, 1000)], runtime=[launch(50, 10, 1)], device=[kernel(100, 50, 1)]
    )


def test_a_run_that_compiles_the_whole_step_tells_it_exactly():
    whole = Other("without the loop", 600, compiled=True, whole=True)
    gain = lost_gain(half_compiled(), timed(1000), [whole])
    assert (gain.ns, gain.source) == (400, "compared")


def test_a_faster_skipping_run_lost_nothing():
    whole = Other("without the loop", 1600, compiled=True, whole=True)
    assert lost_gain(half_compiled(), timed(1000), [whole]).ns == 0


def test_the_gain_of_the_compiled_half_is_what_the_other_half_lost_at_most():
    # Eager 1500: 500 outside and 1000 for what is compiled to 500 now, so half of it is gained.
    eager = Other("eager", 1500, compiled=False, whole=False)
    gain = lost_gain(half_compiled(), timed(1000), [eager])
    assert (gain.ns, gain.source) == (pytest.approx(250), "estimated")
    assert gain.sentence.startswith("An upper bound: 50")


@pytest.mark.parametrize(
    ("trace", "measurement", "others", "why"),
    [
        (eager_trace(), timed(1000), [], "nothing of this run is compiled"),
        (half_compiled(), timed(1000), [], "no eager run"),
        (half_compiled(), None, [], "not timed"),
        (None, timed(1000), [], "no trace"),
        (
            half_compiled(), timed(1000), [Other("eager", 900, compiled=False, whole=False)],
            "gained nothing",
        ),
        # A compiled run that skips functions as well is nothing to compare with.
        (
            half_compiled(), timed(1000), [Other("other", 900, compiled=True, whole=False)],
            "no eager run",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_known_says_why(trace, measurement, others, why):
    gain = lost_gain(trace, measurement, others)
    assert (gain.ns, gain.source) == (None, None)
    assert why in gain.sentence


def test_a_run_is_whole_when_its_log_shows_compilations_and_no_skip():
    compiled = CompileLog(compilations=(Compilation(compile_id="0/0"),))
    skipping = CompileLog(compilations=compiled.compilations, frame_skips=(SKIP,))
    assert other_run("a", timed(5), compiled, compiled=True).whole
    assert not other_run("a", timed(5), skipping, compiled=True).whole
    assert not other_run("a", timed(5), None, compiled=True).whole
    assert not other_run("a", timed(5), compiled, compiled=False).whole
    assert other_run("a", None, compiled, compiled=True) is None


def test_a_report_says_it_only_where_a_frame_was_skipped():
    assert compilation_report(CompileLog()).lost is None
    report = compilation_report(CompileLog(frame_skips=(SKIP,)), trace=eager_trace())
    assert report.lost.ns is None
    assert report.eager_only


def test_skipped_frames_are_priced_by_the_other_runs_of_the_comparison():
    """A whole candidate beside the skipping one tells exactly what its skipped function lost."""
    traces = (eager_trace(), half_compiled(), half_compiled())
    logs = (
        None,
        CompileLog(frame_skips=(SKIP,), compilations=(Compilation(compile_id="0/0"),)),
        CompileLog(compilations=(Compilation(compile_id="0/0"),)),
    )
    runs = [
        MadeUpRun(a_run(*[step_ns] * 10, n_steps=1, variant=variant), trace, log)
        for step_ns, variant, trace, log in zip(
            (1500, 1000, 700), ("eager", "skips", "whole"), traces, logs, strict=True
        )
    ]
    alone = made_up_comparison(*runs[:2]).pairs[0]
    skipped = {finding.key: finding for finding in alone.findings}["frame_skipped"]
    assert (skipped.at_stake_ns, skipped.is_bound) == (pytest.approx(250), True)
    every = made_up_comparison(*runs)
    skipped = {finding.key: finding for finding in every.pairs[0].findings}["frame_skipped"]
    assert (skipped.at_stake_ns, skipped.is_bound) == (300, False)
    assert "whole compiles the whole step" in skipped.evidence
    contents = gather(every)
    assert contents.compilations[1].lost.ns == 300
    assert "Frames skipped: lost 300 ns per step." in html_report(contents)

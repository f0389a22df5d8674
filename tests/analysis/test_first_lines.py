"""The first line of a page is its answer for the chosen runs."""

from dataclasses import replace

from profiler_core.analysis.kernel_sides import kernel_sides
from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.wording.first_lines import (
    experiments_line,
    fusion_line,
    jobs_line,
    kernels_line,
    reviews_line,
    runs_line,
    timeline_line,
    trends_line,
)
from profiler_core.session.comparison import Comparison
from tests.analysis.ledger.pairs import small
from tests.analysis.ranks.mesh_job import Mesh, Planted, play, write
from tests.builders import a_trace, kernel, launch, step


def a_summary(*durations_ns, step_ns=10_000):
    """One step with a kernel of its own name for each duration."""
    starts = [100 + sum(durations_ns[:n]) for n in range(len(durations_ns))]
    return summarise(
        a_trace(
            annotations=[step(0, 0, step_ns)],
            runtime=[launch(10 + n, 1, n) for n in range(len(durations_ns))],
            device=[
                kernel(start, dur, n, name=f"kernel_{n}")
                for n, (start, dur) in enumerate(zip(starts, durations_ns, strict=True))
            ],
        )
    )


def test_kernels_of_a_pair():
    runs = [a_summary(*[100] * 10), a_summary(300, 100, 100, 100, 100, 100)]
    assert kernels_line(("eager", "default"), kernel_sides(runs)) == (
        "10 → 6 kernels per step from eager to default; the five most expensive of default take "
        "88 % of the time."
    )


def test_kernels_of_one_run_and_of_three():
    assert kernels_line(("eager",), kernel_sides([a_summary(100)])) == (
        "1 kernel per step; the most expensive one takes 100 % of the time."
    )
    runs = [a_summary(100, 100), a_summary(100), a_summary(100)]
    assert kernels_line(("eager", "default", "graphs"), kernel_sides(runs)).startswith(
        "Kernels per step: 2 with eager, 1 with default and 1 with graphs; "
    )
    assert kernels_line((), ()) == ""


def test_a_cut_trace_is_not_compared_and_the_line_answers_all_the_same():
    runs = [a_summary(100, 100), a_summary(100)]
    rows = kernel_sides(runs, in_all_steps=True)
    assert kernels_line(("eager", "default"), rows, cut=("default",)) == (
        "Not compared: the trace of default is cut, and what it lacks is not known; kernels in "
        "what there is: 2 in eager and 1 in default; the most expensive one of default takes "
        "100 % of the time."
    )
    assert kernels_line(("eager", "default"), rows, cut=("default",), on_host={1}).endswith(
        "is not known; in what there is, 2 kernels in eager and 1 operators with their time on the "
        "host in default; the most expensive one of default takes 100 % of the time."
    )
    alone = kernels_line(("eager",), kernel_sides(runs[:1]), cut=("eager",), on_host={0})
    assert alone.startswith(
        "What is left of the cut trace has 2 operators with their time on the host; "
    )
    assert kernels_line(("eager",), kernel_sides(runs[:1]), cut=("eager",)).startswith(
        "What is left of the cut trace has 2 kernels; "
    )
    cut = [replace(run, is_cut=True) for run in runs]
    assert timeline_line(("eager", "default"), cut) == (
        "Not compared: the traces of eager and default are cut, and what they lack is not known; "
        "what is left is drawn below."
    )
    assert timeline_line(("eager",), cut[:1]).startswith("The trace is cut")


def test_what_fusion_saved_and_where():
    line = fusion_line(
        ("eager", "default"), fold(small("bert.eager", "bert.default").groups), "GPU time"
    )
    assert line == (
        "156 kernels per step of eager became 139 in default: GPU time 6.36 ms → 5.49 ms (−14 %); "
        "most is saved in 12 × linear (layer.output.dense, −726 µs) and most is lost in "
        "12 × scaled_dot_product_attention (+37.9 µs)."
    )
    assert fusion_line(("eager", "default"), (), "GPU time") == ""


def test_what_two_runs_of_one_code_differ_by_is_not_named_as_lost():
    """ "Most is lost in randn (+51 ns)" stood there, of 14.7 µs and of a step of 4.94 ms."""
    groups = fold(small("bert.eager", "bert.default").groups)
    faster = [group for group in groups if group.delta_ns <= 0]
    (slower,) = [g for g in groups if g.title == "12 × scaled_dot_product_attention"]

    def line_with(after: float) -> str:
        """Of the groups that became faster, and of one that takes `after` times as long."""
        (first, *others) = slower.groups
        work = replace(first.candidate, time_ns=round(first.baseline.time_ns * after))
        one = replace(slower, groups=(replace(first, candidate=work),), numbers=slower.numbers[:1])
        assert others
        return fusion_line(("eager", "default"), [*faster, one], "GPU time")

    assert line_with(1.04).endswith("most is saved in 12 × linear (layer.output.dense, −726 µs).")
    assert " and most is lost in scaled_dot_product_attention (+" in line_with(1.5)
    (first, *_) = slower.groups
    step_ns = sum(group.baseline_ns for group in faster)
    for share, is_named in ((0.0011, True), (0.0009, False)):  # of the device's time of a step
        n = round(0.5 * first.baseline.time_ns / (share * step_ns))
        work = replace(first.candidate, time_ns=round(1.5 * first.baseline.time_ns))
        tiny = replace(first, candidate=work, n_steps=(n, n))
        one = replace(slower, groups=(tiny,), numbers=slower.numbers[:1])
        line = fusion_line(("eager", "default"), [*faster, one], "GPU time")
        assert ("most is lost" in line) is is_named


def test_how_busy_the_device_was():
    runs = [a_summary(5_000), a_summary(4_000, step_ns=5_000)]
    assert timeline_line(("eager", "default"), runs) == (
        "The GPU is busy for 50 % of the step of eager (10.0 µs) and 80 % of the step of default "
        "(5.00 µs), under the profiler."
    )
    assert timeline_line(("eager",), [None]) == ""


def test_a_job_whose_rank_waits_is_busy_without_the_waiting(tmp_path):
    mesh = Mesh(2, 1, 1)
    for name, planted in (("even", ()), ("late", (Planted(1, "spin", 3000.0),))):
        write(tmp_path / name, mesh, play(mesh, *planted))
    even, late = (
        run.summary for run in Comparison.open([tmp_path / "even", tmp_path / "late"]).runs
    )
    assert timeline_line(("even", "late"), [even, late]).endswith(
        ", under the profiler; neither waiting for another rank nor what that slows down beside it "
        "is counted."
    )
    assert timeline_line(("even",), [even]).endswith(", under the profiler.")


def test_what_is_here_and_what_goes_on():
    assert runs_line({"capture": 0, "upload": 0, "sample": 0}) == ""
    assert runs_line({"capture": 1, "upload": 0, "sample": 8}, "resnet50", "21 Nov 2026") == (
        "1 capture and 8 samples are here; the newest is resnet50, of 21 Nov 2026."
    )
    assert runs_line({"sample": 1}) == "1 sample is here."
    assert jobs_line(0, 0, 0) == "No job is running or waiting."
    assert (
        jobs_line(0, 0, 2, "capture") == "No capture is running or waiting; 2 of the newest failed."
    )
    assert jobs_line(1, 2, 0) == "1 job is running and 2 are waiting."
    assert jobs_line(0, 1, 3) == "1 job is waiting."
    assert trends_line(0, 0) == ""
    assert trends_line(10, 0) == (
        "10 runs are recorded; none has a run before it on its line to be held against."
    )
    assert trends_line(3, 1) == (
        "3 runs are recorded; the newest run of the only line with more than one is not slower "
        "than the run before it beyond the noise."
    )
    assert trends_line(9, 2) == (
        "9 runs are recorded; on none of the 2 lines with more than one is the newest slower than "
        "the run before it beyond the noise."
    )
    assert trends_line(3, 1, "resnet50 takes 12 % longer.").endswith(
        ": resnet50 takes 12 % longer."
    )


def test_what_wants_a_verdict_and_what_was_found():
    assert reviews_line(0, 0) == ""
    assert reviews_line(5, 2) == "2 of 5 reviews need a verdict."
    assert reviews_line(1, 1) == "1 review needs a verdict."
    assert reviews_line(3, 0) == "3 reviews, all with a verdict."
    assert experiments_line(0, "", "") == ""
    assert experiments_line(1, "bert", "default is the fastest.") == "bert: default is the fastest."
    assert experiments_line(4, "bert", "nothing yet.") == (
        "The newest of 4 experiments, bert: nothing yet."
    )

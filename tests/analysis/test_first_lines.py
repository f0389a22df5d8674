"""The first line of a page is its answer for the chosen runs."""

from profiler_core.analysis.kernel_sides import kernel_sides
from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.wording.first_lines import fusion_line, kernels_line, timeline_line
from tests.analysis.ledger.pairs import small
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


def test_what_fusion_saved_and_where():
    line = fusion_line(
        ("eager", "default"), fold(small("bert.eager", "bert.default").groups), "GPU time"
    )
    assert line == (
        "eager's 156 kernels per step became 139 in default: GPU time 6.36 ms → 5.49 ms (−14 %); "
        "most is saved in 12 × linear (−726 µs) and most is lost in "
        "12 × scaled_dot_product_attention (+37.9 µs)."
    )
    assert fusion_line(("eager", "default"), (), "GPU time") == ""


def test_how_busy_the_device_was():
    runs = [a_summary(5_000), a_summary(4_000, step_ns=5_000)]
    assert timeline_line(("eager", "default"), runs) == (
        "The GPU is busy for 50 % of eager's step of 10.0 µs and 80 % of default's step of "
        "5.00 µs, under the profiler."
    )
    assert timeline_line(("eager",), [None]) == ""

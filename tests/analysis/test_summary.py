from dataclasses import replace

import pytest

from profiler_core.analysis.summary import summarise
from profiler_core.analysis.trace_notes import MEASURED_ON_THE_CPU
from profiler_core.model.run import Measurement
from profiler_core.model.tally import CUT_SHORT, Tally
from tests.builders import a_trace, kernel, launch, memcpy, memset, op, step

H200 = {
    "id": "0",  # Kineto's numbers come as text or as numbers, as the reader left them
    "name": "NVIDIA H200",
    "computeMajor": 9,
    "computeMinor": 0,
    "numSms": 132,
    "totalGlobalMem": "150109880320",
}


def test_totals_are_over_the_window():
    summary = summarise(
        a_trace(
            annotations=[step(0, 10, 10), step(1, 20, 10)],
            runtime=[launch(11, 1, 1), launch(21, 1, 2), launch(22, 1, 3)],
            device=[
                kernel(0, 5, name="left_over"),
                kernel(12, 4, 1),
                memcpy(22, 2, 2),
                memset(24, 1, 3),
            ],
        )
    )
    assert (summary.n_kernels, summary.n_memcpy, summary.n_memset) == (1, 1, 1)
    assert (summary.kernel_time_ns, summary.device_time_ns) == (4, 7)
    assert (summary.window_ns, summary.busy_ns, summary.idle_ns) == (20, 7, 13)
    assert [(k.name, k.n, k.time_ns, k.mean_ns) for k in summary.kernels] == [("a_kernel", 1, 4, 4)]
    assert any("1 device event" in note for note in summary.notes)
    assert summary.n_steps == 2


def test_kernels_are_added_up_by_name_longest_first():
    summary = summarise(
        a_trace(device=[kernel(0, 2, name="b"), kernel(5, 4, name="b"), kernel(10, 9, name="a")])
    )
    assert [(k.name, k.n, k.time_ns, k.mean_ns, k.min_ns, k.max_ns) for k in summary.kernels] == [
        ("a", 1, 9, 9, 9, 9),
        ("b", 2, 6, 3, 2, 4),
    ]


def test_a_cpu_run_has_no_copies_and_says_so():
    summary = summarise(
        a_trace(
            annotations=[step(0, 0, 20)], ops=[op(0, 10, "aten::conv2d"), op(12, 3, "aten::relu")]
        )
    )
    assert summary.device_kind == "cpu"
    assert (summary.n_kernels, summary.kernel_time_ns, summary.busy_ns) == (2, 13, 13)
    assert (summary.n_memcpy, summary.n_memset, summary.n_launches) == (None, None, None)
    assert summary.idle_by_cause_ns is None
    assert MEASURED_ON_THE_CPU in summary.notes


def test_an_empty_trace_is_all_zero_or_unknown():
    summary = summarise(a_trace())
    assert (summary.window_ns, summary.busy_ns, summary.idle_ns, summary.n_kernels) == (0, 0, 0, 0)
    assert summary.busy_fraction is None
    assert summary.memory.peak_reserved_bytes is None


def test_without_kernels_the_notes_say_what_was_recorded():
    """One with 1862 calls of CUDA "was recorded without ProfilerActivity.CUDA, or on the CPU"."""
    steps, mm = [step(3, 10, 100)], op(20, 5, "aten::mm")
    called = summarise(a_trace(annotations=steps, ops=[mm], runtime=[launch(21, 1, 1)])).notes
    assert any("calls of its runtime were recorded, kernels were not" in note for note in called)
    gpu = {"deviceProperties": [H200]}
    silent = summarise(a_trace(metadata=gpu, annotations=steps, ops=[mm])).notes
    assert any("without ProfilerActivity.CUDA, or on the CPU" in note for note in silent)
    late = [mm, op(300, 5, "aten::empty")]
    notes = summarise(a_trace(annotations=steps, ops=late)).notes
    assert "1 operator began after the last step: not counted here." in notes


def test_a_device_whose_number_is_not_listed_is_the_only_one_that_is():
    """On ROCm CPUs are counted, too: the kernels of the only listed MI300X, 0, were of device 2."""
    mi300x = {"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 205822885888}
    of_two = {**kernel(0, 1), "device": 2}
    assert (
        summarise(a_trace(metadata={"deviceProperties": [mi300x]}, device=[of_two])).device.name
        == "AMD Instinct MI300X"
    )
    other = {**mi300x, "id": 1, "name": "AMD Instinct MI210"}
    unlike = a_trace(metadata={"deviceProperties": [mi300x, other]}, device=[of_two])
    assert summarise(unlike).device.name is None


def test_the_device_is_named_by_the_trace():
    summary = summarise(a_trace(metadata={"deviceProperties": [H200]}, device=[kernel(0, 1)]))
    device = summary.device
    assert (device.name, device.compute_capability, device.index) == ("NVIDIA H200", "9.0", 0)
    assert (device.n_multiprocessors, device.memory_bytes) == (132, 150109880320)


def test_memory_is_measured_or_else_the_peak_in_the_window():
    trace = a_trace(
        annotations=[step(0, 10, 10)],
        runtime=[launch(11, 1, 1)],
        device=[kernel(12, 1, 1)],
        memory=[
            {
                "ts_ns": ts,
                "device_type": kind,
                "total_allocated_bytes": allocated,
                "total_reserved_bytes": 4 * allocated,
            }
            for ts, kind, allocated in [(5, 1, 900), (12, 1, 100), (13, 1, 200), (14, 0, 700)]
        ],
    )
    seen = summarise(trace).memory
    assert (seen.peak_allocated_bytes, seen.peak_reserved_bytes, seen.source) == (200, 800, "trace")
    measured = Measurement(peak_allocated_bytes=1, peak_reserved_bytes=2)
    preferred = summarise(trace, measured).memory
    assert (preferred.peak_reserved_bytes, preferred.source) == (2, "measured")


@pytest.mark.parametrize(("longest", "is_told"), [(1_200, False), (1_201, True)])
def test_steps_of_uneven_length_are_said(longest, is_told):
    """Two of five steps of a training run were 25 % longer, and nothing said so."""
    at = [0, 1_000, 2_000]
    notes = summarise(
        a_trace(
            annotations=[step(number, ts, 1_000) for number, ts in enumerate(at)],
            runtime=[launch(ts + 10, 5, number) for number, ts in enumerate(at)],
            device=[
                kernel(ts + 20, length - 20, number)
                for number, (ts, length) in enumerate(zip(at, (1_000, 1_000, longest), strict=True))
            ],
        )
    ).notes
    told = (
        "The profiled steps took 1.00 to 1.20 µs each: what the trace says per step is their mean."
    )
    assert (told in notes) == is_told


def test_the_first_step_is_no_shorter_for_the_work_of_the_warm_up():
    """It begins where that work ends, here in its middle."""
    notes = summarise(
        a_trace(
            annotations=[step(0, 0, 1_000), step(1, 1_000, 1_000), step(2, 2_000, 1_000)],
            runtime=[launch(ts + 10, 5, ts) for ts in (0, 1_000, 2_000)],
            device=[
                kernel(5, 495),
                *(kernel(ts + 510, 480, ts) for ts in (0, 1_000, 2_000)),
            ],
        )
    ).notes
    assert not [note for note in notes if note.startswith("The profiled steps took")]


def test_unequal_steps_are_said():
    summary = summarise(
        a_trace(
            annotations=[step(0, 0, 10), step(1, 10, 10)],
            runtime=[launch(1, 1, 1), launch(11, 1, 2), launch(12, 1, 3)],
            device=[kernel(2, 1, 1), kernel(12, 1, 2), kernel(14, 1, 3)],
        )
    )
    assert any("same number of device events" in note for note in summary.notes)


def test_a_gpu_trace_that_lost_its_kernels_is_no_cpu_run():
    trace = replace(
        a_trace(
            metadata={"deviceProperties": [H200]},
            annotations=[step(0, 0, 20)],
            ops=[op(0, 10, "aten::conv2d")],
        ),
        tally=Tally(n_events=3, skipped={"no name": 1}, repairs={CUT_SHORT: 1}),
    )
    notes = summarise(trace).notes
    assert MEASURED_ON_THE_CPU not in notes
    assert notes[:3] == (
        "The trace is cut (file cut short, its last event is incomplete): its numbers cover "
        "what is left of it, and cannot be compared with another run's.",
        "1 event could not be read: no name.",
        "The trace holds no GPU events, although the machine has an NVIDIA H200: the file was cut "
        "short. Kernels here are operators on the host.",
    )

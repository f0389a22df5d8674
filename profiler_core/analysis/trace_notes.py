"""What limits the numbers of one trace, a sentence for each thing; the gravest first."""

from collections.abc import Mapping, Sequence

import polars as pl

from profiler_core.analysis.engines import memory_note
from profiler_core.analysis.gpu_time import GpuTime
from profiler_core.analysis.graph_replays.join import replayed_calls
from profiler_core.analysis.graph_replays.servers import server_of
from profiler_core.analysis.launches import Launches
from profiler_core.analysis.recording import recording_notes, recording_of
from profiler_core.analysis.steps import Window
from profiler_core.analysis.unnamed_code import UNNAMED_CODE
from profiler_core.analysis.without_work import without_work
from profiler_core.analysis.wording.replays import replay_notes
from profiler_core.analysis.wording.sentence import listed
from profiler_core.analysis.wording.without_work import what_it_holds
from profiler_core.analysis.work import device_work
from profiler_core.model.tally import Tally
from profiler_core.model.trace import Trace
from profiler_core.units import format_count, format_duration, format_durations

WHAT_IS_LEFT = "its numbers cover what is left of it, and cannot be compared with another run's."
_EVEN = 1.2  # the longest step over the shortest
_LATE = 0.01  # of the window
_MOST_KEYS = 5  # in one sentence
MEASURED_ON_THE_CPU = "Measured on the CPU: there are no copies, launches or idle causes to count."


def trace_notes(
    trace: Trace,
    window: Window,
    events: pl.DataFrame,
    times: tuple[GpuTime, ...],
    launch: Launches | None,
    *,
    unnamed: bool,
) -> tuple[str, ...]:
    """The sentences.

    Args:
        trace: as read.
        window: of the trace.
        events: the device work inside the window, with its `step`.
        times: of each device, the busiest first.
        launch: None where launches cannot be counted.
        unnamed: the kernels of compiled code have no names in it.
    """
    recording = recording_of(trace)
    notes = _damage(trace.tally)
    notes += _of_torch(trace, window) if recording is None else recording_notes(recording)
    hidden = memory_note(trace)
    if hidden:
        notes.append(hidden)
    if unnamed:
        notes.append(UNNAMED_CODE)
    if window.n_left_over:
        notes.append(_left_over(trace, window))
    if window.n_launched_after:
        notes.append(
            f"{_events(window.n_launched_after)} launched after the last step: not counted here."
            if trace.has_device_events
            else f"{_count(window.n_launched_after, 'operator')} began after the last step: not "
            "counted here."
        )
    if len(times) > 1:
        notes.append(
            f"The trace holds {len(times)} devices: busy and idle are those of device "
            f"{times[0].device}, the busiest."
        )
    if recording is None and trace.has_device_events and launch is None:
        notes.append("The trace has no calls of a runtime or driver: launches cannot be counted.")
    elif launch and launch.n_events_unlinked:
        notes.append(
            f"{_events(launch.n_events_unlinked)} without a launch in the trace: counted as device "
            "time, not as launches."
        )
    if launch and launch.n_graph_calls:
        notes += replay_notes(replayed_calls(trace).join, server_of(trace))
    per_step = events.group_by("step").len()["len"]
    if len(window.steps) > 1 and (per_step.n_unique() > 1 or per_step.len() < len(window.steps)):
        kind = "device events" if trace.has_device_events else "operators"
        notes.append(f"The steps do not all have the same number of {kind}.")
    return tuple(notes) if trace.tally.is_cut else (*notes, *_uneven(window))


def _left_over(trace: Trace, window: Window) -> str:
    """What is not counted because it was launched before the first step, or before the trace."""
    noun = "device event" if trace.has_device_events else "operator"
    events = _count(window.n_left_over, noun)
    if window.steps:
        return (
            f"{events} had been launched before the first profiled step: work of the warm-up, not "
            f"counted here.{_late_first_step(window)}"
        )
    lasts = format_duration(int(device_work(trace)["dur_ns"].head(window.n_left_over).sum()))
    return f"{events} ({lasts}) had been launched before the profiler began: not counted here."


def _late_first_step(window: Window) -> str:
    """How much shorter steps look than they were on the host, where that matters; else "".

    The window begins where the warm-up's work ends on the device. Where the device is as far behind
    the host at the end as it was there, a step is as long on both; else the host took longer.
    """
    if not window.steps:
        return ""
    first, last = window.steps[0], window.steps[-1]
    on_host_ns = last.host_ts_ns + last.host_dur_ns - first.host_ts_ns
    if on_host_ns < (1 + _LATE) * window.dur_ns:
        return ""
    late, whole = (
        format_duration(ns)
        for ns in (window.start_ns - first.host_ts_ns, on_host_ns / window.n_steps)
    )
    return (
        f" The first step counts from its end, {late} after it began: on the host a step took "
        f"{whole}."
    )


def cut_clause(labels: Sequence[str]) -> str:
    """Why runs with these labels are not compared: an unknown part of their traces is missing."""
    if len(labels) == 1:
        return f"the trace of {labels[0]} is cut, and what it lacks is not known."
    return f"the traces of {listed(labels)} are cut, and what they lack is not known."


WHOLE_TRACES = (
    "neither trace marks steps, so whole traces are compared, as if both held as many steps: "
    "a measurement, not a verdict."
)
MARK_STEPS = "Call profiler.step() after each step when recording."


def unmarked_clause(labels: Sequence[str]) -> str:
    """Why runs with these labels are not compared: the others' traces mark their steps."""
    marks = "marks" if len(labels) == 1 else "mark"
    return (
        f"the trace{'' if len(labels) == 1 else 's'} of {listed(labels)} {marks} no steps, so what "
        "one step takes is not known."
    )


def _of_torch(trace: Trace, window: Window) -> list[str]:
    """What a trace of the torch profiler lacks: all work, the GPU's, or marks of the steps."""
    lacking = without_work(trace)
    if lacking is not None:
        return [what_it_holds(lacking)]
    notes = [] if trace.has_device_events else [_without_gpu_events(trace)]
    if not window.annotated:
        notes.append(
            "The trace has no ProfilerStep annotations: the numbers are for the whole trace."
        )
    return notes


def _uneven(window: Window) -> list[str]:
    # Work of the warm-up takes a part of the first step.
    times_ns = [step.dur_ns for step in window.steps[1 if window.n_left_over else 0 :]]
    if len(times_ns) < 2 or max(times_ns) <= _EVEN * min(times_ns):
        return []
    return [
        f"The profiled steps took {format_durations(min(times_ns), max(times_ns))} each: what the "
        "trace says per step is their mean."
    ]


def _damage(tally: Tally) -> list[str]:
    """What the reader had to mend or leave out: whatever it was, numbers may lack it."""
    notes = []
    if tally.is_cut:
        notes.append(f"The trace is cut ({'; '.join(tally.repairs)}): {WHAT_IS_LEFT}")
    elif tally.repairs:
        notes.append(f"The file is damaged and was mended: {'; '.join(tally.repairs)}.")
    if tally.n_skipped:
        reasons = "; ".join(tally.skipped)
        notes.append(f"{_count(tally.n_skipped, 'event')} could not be read: {reasons}.")
    if tally.unread_keys:
        notes.append(_unread(tally.unread_keys))
    return notes


def _unread(keys: Mapping[str, int]) -> str:
    most = sorted(keys.items(), key=lambda entry: -entry[1])
    shown = listed([f"{key} ({format_count(n)})" for key, n in most[:_MOST_KEYS]])
    more = len(keys) - _MOST_KEYS
    others = f", and {_count(more, 'other key')}" if more > 0 else ""
    return (
        "The trace's events have what Fusionscope does not read (a newer torch, or another "
        f"writer): {shown}{others}."
    )


def _without_gpu_events(trace: Trace) -> str:
    """A CPU run, or a GPU run whose kernels are missing: Kineto writes them at the file's end."""
    gpu = _first_gpu(trace)
    if gpu is None and not trace.runtime.height:
        return MEASURED_ON_THE_CPU
    if trace.tally.repairs:
        reason = "the file was cut short"
    elif trace.runtime.height:
        reason = (
            "calls of its runtime were recorded, kernels were not, as when another tool holds it"
        )
    else:
        reason = "it was recorded without ProfilerActivity.CUDA, or on the CPU"
    return (
        f"The trace holds no GPU events, although the machine has {gpu or 'a GPU'}: {reason}. "
        "Kernels here are operators on the host."
    )


def _first_gpu(trace: Trace) -> str | None:
    listed = trace.metadata.get("deviceProperties")
    first = listed[0] if isinstance(listed, list) and listed else None
    name = first.get("name") if isinstance(first, Mapping) else None
    return f"an {name}" if isinstance(name, str) and name.startswith("NVIDIA") else name or None


def _events(n: int) -> str:
    return _count(n, "device event")


def _count(n: int, noun: str) -> str:
    return f"{format_count(n)} {noun}{'' if n == 1 else 's'}"

"""What the canvas is told: the runs on one axis, their tracks, colours, steps. No streamlit here.

The axis: 0 is the start of the step at which the runs are aligned; `offset_ns` is where that
step starts on the run's own axis. The browser asks for packets on each run's own axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from profiler_core.timeline.index import Index
from profiler_core.timeline.layout import Track
from profiler_core.ui.timeline.colours import LegendEntry, legend
from profiler_core.units import format_count, format_share_of

_ONLY_WAITS = 0.9  # of the time in which anything is open: the rest only calls the waits


@dataclass(frozen=True)
class SceneRun:
    """One run as the timeline needs it."""

    number: int  # place in the choice: 0 is the baseline; stays where another run is broken
    label: str
    role: str  # "baseline" or "candidate"
    colour: str
    token: str  # lets the browser ask for this trace's packets
    index: Index


def step_names(runs: Sequence[SceneRun]) -> tuple[str, ...]:
    """The steps to align at: those of the baseline. Empty: it has none."""
    return tuple(step.name for step in runs[0].index.layout.steps)


def offset_ns(index: Index, step: int) -> int:
    """Where 0 of the common axis lies on the run's own axis.

    Args:
        index: of the run.
        step: counted from 0 among the run's own steps; its last one where it has fewer. Without
            steps the first event.
    """
    steps = index.layout.steps
    if not steps:
        return index.layout.start_ns
    return steps[min(step, len(steps) - 1)].ts_ns


def reading_notes(runs: Sequence[SceneRun]) -> list[str]:
    """What is not in the picture because the file did not have it whole, a sentence a run."""
    sentences = []
    for run in runs:
        layout = run.index.layout
        parts = [f"{format_count(n)} skipped: {why}" for why, n in layout.skipped.items()]
        if layout.repairs:
            parts.append(f"the file was mended ({'; '.join(layout.repairs)})")
        if parts:
            drawn = f"{_counted(layout.n_events)} drawn"
            sentences.append(f"{run.label}: {', '.join([drawn, *parts])}.")
    return sentences


def replay_notes(runs: Sequence[SceneRun]) -> list[str]:
    """Why a replayed convolution may look like a GEMM, a sentence for each run that replays.

    A category here is part of the index of one trace, which no other run can teach, as
    `analysis.replayed` does for the pages with tables.
    """
    if not any("conv" in run.index.layout.categories for run in runs):
        return []
    return [
        f"{run.label}: a CUDA graph replays kernels without their operators, so a convolution that "
        "runs as a matrix product has the colour of a GEMM here; the other pages count it as a "
        "convolution where another run of its capture shows its operator."
        for run in runs
        if b"GraphLaunch" in run.index.name_bytes.tobytes()
    ]


def scene(runs: Sequence[SceneRun], step: int, *, dark: bool) -> dict[str, Any]:
    """The component's data that changes with the runs, the step and the theme only."""
    present = {key for run in runs for key in run.index.layout.categories}
    entries = legend(present, dark=dark)
    return {
        "runs": [_run(run, step, entries) for run in runs],
        "categories": [
            {"label": e.label, "fill": e.fill, "ink": e.ink, "host": e.host} for e in entries
        ],
        "dark": dark,
    }


def _run(run: SceneRun, step: int, entries: Sequence[LegendEntry]) -> dict[str, Any]:
    layout = run.index.layout
    position_of = {entry.key: number for number, entry in enumerate(entries)}
    host_ns, window_ns = _host_ns(run.index), _window_ns(run.index)
    return {
        "number": run.number,
        "label": run.label,
        "role": run.role,
        "colour": run.colour,
        "token": run.token,
        "offset_ns": offset_ns(run.index, step),
        "start_ns": layout.start_ns,
        "end_ns": layout.end_ns,
        "n_events": layout.n_events,
        "steps": [[_step_label(s.name), s.ts_ns, s.end_ns] for s in layout.steps],
        # The category numbers of this run's packets -> places in the common legend.
        "categories": [position_of[key] for key in layout.categories],
        "tracks": [
            _track(track, window_ns if track.kind == "stream" else host_ns)
            for track in layout.tracks
        ],
    }


def _host_ns(index: Index) -> int:
    """All steps on the host, as what threads do is told of them; without steps the whole trace."""
    layout = index.layout
    if not layout.steps:
        return layout.end_ns - layout.start_ns
    return max(step.end_ns for step in layout.steps) - layout.steps[0].ts_ns


def _window_ns(index: Index) -> int:
    """All steps and the work of all streams, as the first line has it; 0 without any work."""
    layout = index.layout
    streams = {number for number, t in enumerate(layout.tracks) if t.kind == "stream"}
    lanes = [lane for lane in layout.lanes if lane.track in streams and lane.last > lane.first]
    starts = [int(index.ts[lane.first]) for lane in lanes]
    ends = [int(index.ts[lane.last - 1] + index.dur[lane.last - 1]) for lane in lanes]
    if not starts:
        return 0
    starts += [step.ts_ns for step in layout.steps]
    ends += [step.end_ns for step in layout.steps]
    return max(ends) - min(starts)


def _track(track: Track, span_ns: int) -> dict[str, Any]:
    return {
        "kind": track.kind,
        "label": track_label(track),
        "note": _note(track, span_ns),
        "first_lane": track.first_lane,
        "n_lanes": track.n_lanes,
        "n_events": track.n_events,
    }


def track_label(track: Track) -> str:
    """What a track is called: "GPU 0 · stream 7", "Main thread 938"."""
    if track.kind == "ranges":
        return "Ranges on the device"
    if track.kind == "stream":
        device = "GPU" if track.device is None else f"GPU {track.device}"
        return device if track.stream is None else f"{device} · stream {track.stream}"
    return track.label if track.tid is None else f"{track.label} {track.tid}"


def _note(track: Track, span_ns: int) -> str:
    if track.kind == "ranges":
        return ""
    n_events = _counted(track.n_events)
    if not span_ns:
        return f"– busy · {n_events}"
    waiting = format_share_of(track.waiting_ns, span_ns)
    busy = format_share_of(track.busy_ns - track.waiting_ns, span_ns)
    if track.waiting_ns >= _ONLY_WAITS * track.busy_ns:
        return f"{waiting} waiting · {n_events}"
    told = f"{busy} busy, {waiting} waiting" if track.waiting_ns else f"{busy} busy"
    return f"{told} · {n_events}"


def _counted(n_events: int) -> str:
    return f"{format_count(n_events)} {'event' if n_events == 1 else 'events'}"


def _step_label(name: str) -> str:
    """As in the picture: "ProfilerStep#3" -> "Step 3"."""
    return name.replace("ProfilerStep#", "Step ")

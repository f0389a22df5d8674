"""One bar of the waterfall opened into its fusion groups, equal groups as one line.

The lines' whole nanoseconds sum to the bar's two sides exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.unprofiled_idle import AssumedPace
from profiler_core.analysis.waterfall import OTHER_LABELS, BarPart, WaterfallRow, open_bar
from profiler_core.units import format_duration, format_per_step

_REST = "work that the ledger does not have"

# What a bar without groups is, in a sentence: (beginning of the key, sentence).
_WITHOUT_GROUPS: tuple[tuple[str, str], ...] = (
    (
        "overlap",
        "What streams that run at the same time save: the sum of the kernels' times minus the time "
        "in which the device was busy.",
    ),
    (
        "slowed",
        "Kernels took longer than the same kernels alone, because a transfer between ranks ran "
        "beside them.",
    ),
    (
        "late_work",
        "What the late rank has to compute more than the others, which wait for it.",
    ),
    (
        "idle_late_rank",
        "The device of the late rank idled for longer than the others' did: its host came late.",
    ),
    (
        "idle_pipeline_bubble",
        "A stage of a pipeline stands still until its first microbatch has come and while the last "
        "one is on its way: one microbatch's work on all other stages. More microbatches per step, "
        "or several stages on each rank, make it smaller.",
    ),
    (
        "idle_other_ranks",
        "The rank waited in collectives for the last one to come, and computed nothing beside it.",
    ),
    (
        "idle_slowed_by_waiting",
        "Kernels took longer than the same kernels alone, because a collective that waited ran "
        "beside them.",
    ),
    (
        "clocks",
        "The device was busy for longer in the profiled steps than a whole step takes without the "
        "profiler, and this takes the difference back.",
    ),
    (
        "idle_between_kernels",
        "The device's own pause between two kernels that were already waiting in the queue.",
    ),
    (
        "idle_launch_latency",
        "The queue was empty, and a launch takes some microseconds to reach the device.",
    ),
    ("idle_dependency", "A stream waited for the work of another one."),
    (
        "idle_host_guards",
        "The host had entered a compiled region and run nothing of it yet, and the device had no "
        "work. Page Compilation has the guards and the prologue in it, which are less.",
    ),
    (
        "idle_host_between_compiled_calls",
        "The host was running Python between two compiled calls of a step: after a graph break, or "
        "where parts of the model are compiled apart.",
    ),
    (
        "idle_host_compiling",
        "The host was compiling: tracing, generating and tuning code, or recording CUDA graphs. "
        "That happens at first calls, before a step is worth timing.",
    ),
    ("idle_host_synchronisation", "The host waited for the device, and then had to catch up."),
    ("idle_host_data_loader", "The host waited for the data loader."),
    (
        "idle_host_setup",
        "The host was reserving or freeing the device's memory, or setting the device up: streams, "
        "modules, its context. Most of that happens once, before a step is worth timing.",
    ),
    ("idle_host_launching", "The host was launching kernels more slowly than the device ran them."),
    ("idle_host_other", "The host did something else, and the device had no work."),
    ("idle_tail", "The device was done, and the step had not ended yet."),
    (
        "idle_beyond_profile",
        "Without the profiler the device had no work for longer than in the profiled steps, so the "
        "trace does not say why.",
    ),
    ("idle", "The device had no work."),
)
# The same of the bar between kernels where a side of it is not as in the trace.
_ASSUMED_PACE = (
    "The device's own pause between two kernels, assumed for the step without the profiler: what "
    "the trace has where the next kernel was already waiting, and for each gap that ended with a "
    "late launch the median of these pauses (1.2 µs where the trace has too few), because the host "
    "may be in time when no profiler slows it."
)


@dataclass(frozen=True)
class BarLine:
    """Equal fusion groups in one bar, whole ns per step."""

    title: str
    source: str
    group: int | None  # the first one's place in the ledger; None: not one of its groups
    baseline_ns: int
    candidate_ns: int

    @property
    def delta_ns(self) -> int:
        """Below 0: the candidate needs less."""
        return self.candidate_ns - self.baseline_ns


def bar_lines(row: WaterfallRow, ledger: FusionLedger, *, most: int = 12) -> tuple[BarLine, ...]:
    """The groups of a bar, biggest change first; empty for a bar that has none.

    Args:
        row: of a waterfall that was made with this ledger.
        ledger: the groups.
        most: lines; what has less to say is one line at the end.
    """
    parts = {part.group: part for part in open_bar(row)}
    unowned = parts.pop(None, None)
    numbers = [number for number in parts if number is not None]
    lines = []
    for folded in fold(ledger.groups, numbers):
        first = folded.first
        source = first.sources[0][0] if first.sources else ""
        members = [parts[number] for number in folded.numbers]
        lines.append(_line(folded.label, source, folded.numbers[0], members))
    lines.sort(key=lambda line: -abs(line.delta_ns))
    if len(lines) > most:
        small = lines[most - 1 :]
        n = sum(1 for _ in small)
        lines[most - 1 :] = [
            BarLine(
                title=f"{n} more kinds of groups",
                source="",
                group=None,
                baseline_ns=sum(line.baseline_ns for line in small),
                candidate_ns=sum(line.candidate_ns for line in small),
            )
        ]
    if unowned is not None:
        lines.append(_line(_REST, "", None, [unowned]))
    return tuple(lines)


def what_it_is(row: WaterfallRow, labels: Sequence[str]) -> str:
    """A sentence about a bar that has no groups, with what is assumed in it; "" for device work.

    Args:
        row: the bar.
        labels: of baseline and candidate.
    """
    if row.key not in OTHER_LABELS:
        return ""
    if any(row.paces):
        sides = zip(labels, row.paces, strict=True)
        return " ".join(
            (_ASSUMED_PACE, *(_assumed(label, pace) for label, pace in sides if pace is not None))
        )
    return next((text for start, text in _WITHOUT_GROUPS if row.key.startswith(start)), "")


def _assumed(label: str, pace: AssumedPace) -> str:
    """For instance: eager: 36.1 µs in the trace, and 312 gaps of 1.03 µs."""
    parts = [f"{format_duration(pace.measured_ns)} in the trace"]
    if pace.n_late:
        gaps = "gap" if pace.n_late == 1 else "gaps"
        parts.append(f"{format_per_step(pace.n_late)} {gaps} of {format_duration(pace.gap_ns)}")
    cut = ", of which the step has time for a part" if pace.is_cut else ""
    return f"{label}: {', and '.join(parts)}{cut}."


def _line(title: str, source: str, group: int | None, parts: Sequence[BarPart]) -> BarLine:
    return BarLine(
        title,
        source,
        group,
        sum(part.baseline_ns for part in parts),
        sum(part.candidate_ns for part in parts),
    )

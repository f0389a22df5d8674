"""The first line of a page: the answer to its question for the chosen runs, with its numbers."""

from collections.abc import Collection, Mapping, Sequence

from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.group_marks import group_marks
from profiler_core.analysis.ledger.result import changed
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.trace_notes import MARK_STEPS, cut_clause, unmarked_clause
from profiler_core.analysis.wording.sentence import clause, clipped, counted, listed
from profiler_core.units import (
    format_change_between,
    format_count,
    format_difference,
    format_duration,
    format_share,
)

_MOST_EXPENSIVE = 5
_LEAST_OF_STEP = 0.001  # of the device's time: below it lies what clocks of kernels can tell
_WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
_NO_WAITING = "neither waiting for another rank nor what that slows down beside it is counted"
_LONGEST = 40  # characters of a run's name
# Of a table whose rows are more than the kernels that its page counts.
COPIES_ARE_LISTED = (
    "Copies and memsets are listed with the kernels, in kinds of their own. They are no kernels: "
    "the counts above leave them out."
)
_ON_HOST = "operators with their time on the host"


def kernels_line(
    labels: Sequence[str],
    rows: Sequence[KernelRow],
    of: int = -1,
    cut: Sequence[str] = (),
    on_host: Collection[int] = (),
    unmarked: Sequence[str] = (),
    span: Span = PER_STEP,
) -> str:
    """How many kernels a step has in each run, and how much of their time the first five take.

    Args:
        labels: of the runs, the baseline first.
        rows: all kernels of these runs, per step; with `cut` or `unmarked` in all steps.
        of: place of the run whose kernels are weighed; the last one by default.
        cut: labels of the runs of whose traces a part is missing; with one, nothing is compared.
        on_host: places of the runs of which the rows are operators, with the host's times.
        unmarked: labels of the runs whose traces mark no steps, where others do; likewise.
        span: what counts and times are of.
    """
    if not rows or not labels:
        return ""
    of %= len(labels)
    names = [clipped(label, _LONGEST) for label in labels]
    counts = [format_count(sum(row.n(run) for row in rows)) for run in range(len(names))]
    if len(names) == 1:
        many = _of_one(counts[0], span, bool(cut), bool(on_host))
    elif cut:
        many = f"{_not_compared(cut)}; {_what_there_is(counts, names, on_host)}"
    elif unmarked:
        why = unmarked_clause([clipped(label, _LONGEST) for label in unmarked])
        there_is = _what_there_is(counts, names, on_host)
        return f"Not compared: {why} {MARK_STEPS} {there_is[0].upper()}{there_is[1:]}."
    elif len(names) == 2:
        many = f"{counts[0]} → {counts[1]} kernels {span} from {names[0]} to {names[1]}"
    else:
        each = [f"{count} with {name}" for count, name in zip(counts, names, strict=True)]
        many = f"Kernels {span}: {listed(each)}"
    times = sorted((row.time_ns(of) for row in rows), reverse=True)
    n = min(_MOST_EXPENSIVE, sum(1 for ns in times if ns))
    if not n:
        return f"{many}."
    where = "" if len(names) == 1 else f" of {names[of]}"
    verb = "takes" if n == 1 else "take"
    subject = "the most expensive one" if n == 1 else f"the {_WORDS[n]} most expensive"
    return (
        f"{many}; {subject}{where} {verb} {format_share(sum(times[:n]) / sum(times))} of the time."
    )


def _of_one(count: str, span: Span, is_cut: bool, is_on_host: bool) -> str:
    """The kernels of a run that stands alone, or what is left of them in its trace."""
    noun = "kernel" if count == "1" else "kernels"
    if not is_cut:
        return f"{count} {noun} {span}"
    return f"What is left of the cut trace has {count} {_ON_HOST if is_on_host else noun}"


def _what_there_is(counts: Sequence[str], names: Sequence[str], on_host: Collection[int]) -> str:
    """Of traces of which one is cut: kernels, and operators where no event of the GPU is left."""
    if not on_host:
        each = [f"{count} in {name}" for count, name in zip(counts, names, strict=True)]
        return f"kernels in what there is: {listed(each)}"
    each = [
        f"{count} {_ON_HOST} in {name}" if run in on_host else f"{count} kernels in {name}"
        for run, (count, name) in enumerate(zip(counts, names, strict=True))
    ]
    return f"in what there is, {listed(each)}"


def fusion_line(
    labels: tuple[str, str], groups: Sequence[FoldedGroup], time_word: str, span: Span = PER_STEP
) -> str:
    """What became of the baseline's kernels in the candidate, and where most was saved and lost.

    Args:
        labels: of the baseline and the candidate.
        groups: all groups of the ledger, folded.
        time_word: what their times are: "GPU time".
        span: what these are of.
    """
    if not groups:
        return ""
    baseline, candidate = (clipped(label, _LONGEST) for label in labels)
    counts = [format_count(sum(group.n_kernels[side] for group in groups)) for side in (0, 1)]
    before = sum(group.baseline_ns for group in groups)
    after = sum(group.candidate_ns for group in groups)
    change = f" ({format_change_between(before, after)})" if before and after else ""
    marks = group_marks(groups)
    differ = [n for n, group in enumerate(groups) if _differs(group, before or after)]
    parts, is_limited = [], False
    for what, sign in (("most is saved in", -1), ("most is lost in", 1)):
        n = max(differ, key=lambda each: sign * groups[each].delta_ns, default=None)
        if n is None or sign * groups[n].delta_ns <= 0:
            continue
        parts.append(f"{what} {_with_difference(groups[n], marks[n])}")
        is_limited |= any(sign * (group.delta_ns - groups[n].delta_ns) > 0 for group in groups)
    limit = ", of groups that change by 5 % or more" if is_limited else ""
    ending = f"; {listed(parts)}{limit}" if parts else ""
    noun = "kernel" if counts[0] == "1" else "kernels"
    return (
        f"{counts[0]} {noun} {span} of {baseline} became {counts[1]} in {candidate}: {time_word} "
        f"{format_duration(before)} → {format_duration(after)}{change}{ending}."
    )


def _with_difference(group: FoldedGroup, mark: str) -> str:
    """A group's title, mark and difference: "12 × linear (attention.output.dense, −726 µs)".

    Args:
        group: of the ledger, folded.
        mark: what tells it apart from those of its title; "": no other has it.
    """
    difference = format_difference(group.delta_ns)
    return f"{clipped(group.title, 60)} ({f'{mark}, ' if mark else ''}{difference})"


def _differs(group: FoldedGroup, step_ns: float) -> bool:
    """Is its difference more than two runs of one code have, and not lost in a step of theirs?

    Args:
        group: of the ledger, folded.
        step_ns: device time of a step.
    """
    became = changed(group.baseline_ns, group.candidate_ns)
    return became != "alike" and abs(group.delta_ns) >= _LEAST_OF_STEP * step_ns


def timeline_line(labels: Sequence[str], summaries: Sequence[Summary | None]) -> str:
    """How long the device was busy in a profiled step of each run.

    Args:
        labels: of the runs.
        summaries: of their traces; None: it is not known yet.
    """
    whole = [
        (clipped(label, _LONGEST), summary)
        for label, summary in zip(labels, summaries, strict=True)
        if summary is not None and not summary.is_cut and summary.by_category
    ]
    if not whole:
        cut = [label for label, s in zip(labels, summaries, strict=True) if s and s.is_cut]
        if len(labels) == 1 and cut:
            return "The trace is cut; what is left of it is drawn below."
        return f"{_not_compared(cut)}; what is left is drawn below." if cut else ""
    parts = [
        f"{format_share(summary.busy_fraction)} of the "
        f"{'step' if summary.window.annotated else 'trace'} of {label} "
        f"({format_duration(summary.profiled_step_ns)})"
        for label, summary in whole
    ]
    on_cpu = all(summary.device_kind == "cpu" for _, summary in whole)
    waits = any(s.critical is not None and s.critical.late_work_ns for _, s in whole)
    left_out = f"; {_NO_WAITING}" if waits else ""
    device = "CPU" if on_cpu else "GPU"
    return f"The {device} is busy for {listed(parts)}, under the profiler{left_out}."


def _not_compared(cut: Sequence[str]) -> str:
    """Without a full stop: the numbers of what is left may follow."""
    return f"Not compared: {clause(cut_clause([clipped(label, _LONGEST) for label in cut]))}"


def runs_line(n_of: Mapping[str, int], newest: str = "", created: str = "") -> str:
    """What has been measured here, and what came last.

    Args:
        n_of: "capture", "upload", "sample" -> how many comparisons there are.
        newest: title of the newest capture or upload; "" where there are samples alone.
        created: its day.
    """
    parts = [counted(n, noun) for noun, n in n_of.items() if n]
    if not parts:
        return ""
    verb = "is" if sum(n_of.values()) == 1 else "are"
    of_day = f", of {created}" if created else ""
    last = f"; the newest is {clipped(newest, _LONGEST)}{of_day}" if newest else ""
    return f"{listed(parts)} {verb} here{last}."


def trends_line(n_runs: int, n_lines: int, slower: str = "") -> str:
    """Did anything become slower?

    Args:
        n_runs: that are recorded.
        n_lines: on which a run has another one before it.
        slower: a sentence about the newest run that became slower than the one before it.
    """
    if slower:
        return f"The newest regression: {slower}"
    if not n_runs:
        return ""
    recorded = f"{counted(n_runs, 'run')} {'is' if n_runs == 1 else 'are'} recorded; "
    if not n_lines:
        return f"{recorded}none has a run before it on its line to be held against."
    if n_lines == 1:
        newest = "the newest run of the only line with more than one is not"
    else:
        newest = f"on none of the {n_lines:,} lines with more than one is the newest"
    return f"{recorded}{newest} slower than the run before it beyond the noise."


def jobs_line(n_running: int, n_waiting: int, n_failed: int, noun: str = "job") -> str:
    """What goes on now, and how many of the newest jobs failed."""
    if not n_running and not n_waiting:
        failed = f"; {n_failed} of the newest failed" if n_failed else ""
        return f"No {noun} is running or waiting{failed}."
    parts = []
    if n_running:
        parts.append(f"{counted(n_running, noun)} {'is' if n_running == 1 else 'are'} running")
    if n_waiting:
        named = counted(n_waiting, noun) if not parts else str(n_waiting)
        parts.append(f"{named} {'is' if n_waiting == 1 else 'are'} waiting")
    return f"{listed(parts)}."


def reviews_line(n: int, n_open: int) -> str:
    """How many reviews still want a verdict; "" where there is none."""
    if not n:
        return ""
    if not n_open:
        return f"{counted(n, 'review')}, {'with a verdict' if n == 1 else 'all with a verdict'}."
    of_all = "" if n_open == n else f"{n_open} of "
    return f"{of_all}{counted(n, 'review')} {'needs' if n_open == 1 else 'need'} a verdict."


def experiments_line(n: int, title: str, answer: str) -> str:
    """What the newest experiment found; "" where there is none.

    Args:
        n: how many there are.
        title: of the newest one.
        answer: its headline.
    """
    if not n:
        return ""
    of = f"The newest of {n} experiments, " if n > 1 else ""
    return f"{of}{clipped(title, _LONGEST)}: {answer}"

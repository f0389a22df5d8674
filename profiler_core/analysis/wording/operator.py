"""What the dossier of an operator says: its time, who calls it, and what its time is of."""

from collections.abc import Mapping, Sequence
from math import isclose

from profiler_core.analysis.dossier.elsewhere import CountedElsewhere
from profiler_core.analysis.dossier.record import RunTime
from profiler_core.analysis.operators import OperatorRow
from profiler_core.analysis.span import Span
from profiler_core.analysis.wording.dossier import times_answer
from profiler_core.analysis.wording.sentence import listed
from profiler_core.units import format_duration

_MOST_CALLERS = 3  # of an operator, in a sentence


def operator_answer(
    times: Sequence[RunTime],
    computes: str,
    span: Span,
    *,
    is_one_of_many: bool = False,
    callers: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Its time in the runs, and what product it is; of one of many candidates also which it is.

    Where a run calls it inside of others, its calls are not what became of it: each by itself.
    """
    timed = [time for time in times if time.time_ns]
    if callers and timed:
        each = [f"{format_duration(time.time_ns)} in {time.label}" for time in timed]
        return f"{f'{computes}: ' if computes else ''}{listed(each)}, {span}."
    text = times_answer(times, span, in_last=f" in {times[-1].label}" if is_one_of_many else "")
    return f"{computes}: {text}" if computes else text


def callers_about(callers: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Where other operators call it alone, what its time is of and where the rest is told.

    Args:
        callers: the operators, by the label of the run.
    """
    names = list(dict.fromkeys(name for of_run in callers.values() for name in of_run))
    if not names:
        return ()
    caller = callers_text(names)
    call = "calls" if len(names) == 1 else "call"
    return (
        f"In {listed(list(callers))} {caller} {call} it: its time there "
        f"is what its own calls launch, and what became of it is told of {caller}.",
    )


def operator_about(row: OperatorRow | None, labels: tuple[str, str]) -> tuple[str, ...]:
    """What of its time is of kernels that do the work of others too, or may be of others.

    Args:
        row: of the operator; None: no group is named by it.
        labels: what the two runs are called.
    """
    if row is None or row.is_only_in_candidate:
        return ()
    sentences = []
    other = 1 - row.named_by
    if shared_ns := row.per_step(row.shared_ns[other], other):
        sentences.append(
            f"{format_duration(shared_ns)} of it in {labels[other]} is its part of kernels that "
            "do the work of other operators too, in proportion to the time that each takes in "
            f"{labels[row.named_by]}."
        )
    if undecidable_ns := row.per_step(row.undecidable_ns, 1):
        sentences.append(
            f"For {format_duration(undecidable_ns)} of it in {labels[1]} another group would "
            "explain the kernels equally well."
        )
    return tuple(sentences)


def elsewhere_about(counted: CountedElsewhere, span: Span) -> str:
    """What all its calls take in a run, and what of that counts under which other operators."""
    parts = []
    if counted.inside_ns:
        inside = format_duration(counted.inside_ns)
        parts.append(f"{inside} of it is inside of {callers_text(counted.callers)}")
    if counted.replacing_ns:
        replacing = format_duration(counted.replacing_ns)
        parts.append(f"{replacing} of it replaces {callers_text(counted.replaced)}")
    too = ", too" if counted.is_here_too else ""
    calls = format_duration(counted.calls_ns)
    if isclose(counted.replacing_ns, counted.calls_ns):
        replaced = callers_text(counted.replaced)
        return f"Its calls in {counted.label} replace {replaced} and count there{too}."
    return (
        f"In {counted.label} its own calls take {calls} {span}: {listed(parts)} and counts "
        f"there{too}."
    )


def inside_about(times: Sequence[RunTime]) -> tuple[str, ...]:
    """In which runs other operators of a CPU call it and have its time, one sentence each."""
    return tuple(
        f"In {time.label} it runs inside of {callers_text(time.inside)}, whose time has its own."
        for time in times
        if time.inside
    )


def place_text(others: Sequence[str]) -> str:
    """What runs in the place of an operator, as a cell: the longest, and how many more."""
    if not others:
        return "nothing"
    first, *more = others
    return f"{first} and {len(more)} more" if more else first


def place_about(label: str, others: Sequence[str]) -> str:
    """What a run does in the place of a CPU's operator that it does not call.

    Args:
        label: of the run.
        others: its operators and generated kernels in the same fusion groups, longest first.
    """
    if not others:
        return f"In {label} nothing runs in its place."
    verb = "runs" if len(others) == 1 else "run"
    return f"In {label} {callers_text(others)} {verb} in its place."


def callers_text(callers: Sequence[str]) -> str:
    """The operators that call another, the first of many: "aten::linear and aten::matmul"."""
    more = ("others",) if len(callers) > _MOST_CALLERS else ()
    return listed([*callers[:_MOST_CALLERS], *more])

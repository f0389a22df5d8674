"""What a dossier says in sentences: how near the device's limits, and what cannot be known."""

from collections.abc import Mapping, Sequence
from typing import Literal

from profiler_core.analysis.dossier.record import Launch, RunTime
from profiler_core.analysis.dossier.roofline import Roofline
from profiler_core.analysis.handed_more import HandedMore
from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.result import COPIES_INPUTS, FusionGroup
from profiler_core.analysis.ranks.job import CollectiveRow
from profiler_core.analysis.ranks.job_summary import BESIDE_A_COLLECTIVE
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.wording.groups import (
    handed_sentence,
    how_known,
    how_known_of_all,
    what_kind,
    what_slows,
)
from profiler_core.analysis.wording.sentence import capitalised, listed
from profiler_core.units import (
    format_bytes,
    format_change_between,
    format_count,
    format_difference,
    format_duration,
    format_share,
)

_A_LOG = "the compiled run's structured log (TORCH_TRACE)"
NEEDS_LOG = f"that takes {_A_LOG}."
LINE_OF_FUNCTION = "Python calls in a trace have the line where a function begins."
# The functions of the user's that call a thing are known; calls are recorded, and none is around
# it; none are recorded.
PythonCalls = Literal["around", "elsewhere", ""]
TRANSFER_ALONE = (
    "Its times count the transfer alone: waiting for other ranks, which the "
    "timeline shows as part of a call, is left out."
)
NO_COUNTERS = "Bytes are estimates from shapes: no hardware counters were captured (with ncu)."
_LONG_LISTS = "torch records no shapes of lists of over 30 tensors."
_NO_LONG_LISTS = f"Inputs are not known: {_LONG_LISTS}"
_UNTYPED_LISTS = "of lists of tensors a trace has the shapes without their types."

# Tried with torch 2.11 on an H200. The key of AOTAutograd's cache has the marks in torch 2.14.
_WITHOUT_COPIES = (
    "It reads inputs where they lie if each step hands it the same tensors, marked before the "
    "first call by torch._dynamo.mark_static_address(tensor). That saves time where what makes "
    "the inputs writes them there: a copy_ from another tensor costs as much again. Compile once "
    "with a new TORCHINDUCTOR_CACHE_DIR: torch 2.11 takes code from its cache that was made "
    "without the mark, and goes on copying."
)


def kernel_answer(
    rooflines: Sequence[Roofline], computes: str, category: str, *, names_run: bool = False
) -> str:
    """Why it takes what it takes, for instance "Matrix product at 1 % of the memory's bandwidth.".

    Args:
        rooflines: of the runs that have it, the baseline's first; the last one is told, of a
            product the last one whose operations are known.
        computes: what product it is; "": none.
        category: of the kernel, where it is no product.
        names_run: say which run is told.
    """
    work = computes or category
    if not rooflines:
        return f"{capitalised(work)}."
    line = rooflines[-1]
    if computes:  # its bytes alone would call one that is short of FLOPs slow
        line = next((r for r in rooflines[::-1] if r.compute_share is not None), line)
    shares = _shares(line)
    in_run = f" in {line.label}" if names_run else ""
    return f"{capitalised(work)} at {shares}{in_run}." if shares else f"{capitalised(work)}."


def _shares(line: Roofline) -> str:
    """How near it comes to the memory's bandwidth and to the peak of its units; "": not known."""
    shares = []
    is_all = line.kernels_per_call == 1  # else its bytes are its operator's, and other kernels' too
    if line.memory_share is not None and is_all:
        shares.append(f"{memory_share_text(line)} of the memory's bandwidth")
    if line.compute_share is not None:
        of_products = "" if line.is_all_products else ", in its products alone"
        shares.append(f"{format_share(line.compute_share)} of the {line.units} peak{of_products}")
    return " and ".join(shares)


def memory_share_text(line: Roofline) -> str:
    """What it comes to of the memory's peak: "37 %", "36 % or more" of what may move more."""
    if not line.counts_once:
        return format_share(line.memory_share)
    return f"{format_share(line.memory_share, 'down')} or more"


def launch_sentences(launches: Sequence[Launch]) -> tuple[str, ...]:
    """Where a grid is too small for the device: a sentence of the last run that it is true of."""
    for launch in reversed(launches):
        blocks, units = launch.n_blocks, launch.n_multiprocessors
        if blocks is not None and units is not None and blocks < units:
            return (
                f"Its grid of {blocks} block{'' if blocks == 1 else 's'} leaves at least "
                f"{units - blocks} of the device's {units} multiprocessors idle.",
            )
    return ()


def beside_collectives(recorded_ns: Mapping[str, float], span: Span) -> tuple[str, ...]:
    """That calls beside a collective count as without one, and what they took; () for no run.

    Args:
        recorded_ns: name of a run -> time of all calls as its trace has it, of the runs where it
            differs from what is counted.
        span: what these times are of.
    """
    if not recorded_ns:
        return ()
    times = [f"{format_duration(ns)} in {label}" for label, ns in recorded_ns.items()]
    return (f"Calls {BESIDE_A_COLLECTIVE}; as recorded all take {listed(times)} {span}.",)


def collective_sentence(label: str, row: CollectiveRow, span: Span) -> str:
    """What a run's collectives of a kind move, and how fast; "" where no trace says it."""
    if row.bytes is None:
        return ""
    text = f"{label}: {format_bytes(row.bytes)} {span} and rank"
    if row.bus_bandwidth is not None:
        text += f", at a bus bandwidth of {format_bytes(row.bus_bandwidth)}/s"
    return f"{text}."


def missing_of_kernel_groups(
    *,
    has_ledger: bool,
    in_groups: bool,
    has_sources: bool,
    has_modules: bool,
    has_log: bool,
    calls: PythonCalls = "",
    is_cut: bool = False,
) -> tuple[str, ...]:
    """One sentence for each thing that the ledger does not tell of a kernel.

    There is none beside a trace that `is_cut`.
    """
    takes = (
        "whole traces"
        if is_cut
        else "a baseline and a candidate with traces of the same kind of device, of which both "
        "mark steps, or neither"
    )
    sentences = (
        (has_ledger, f"What it was before or became is not known: that takes {takes}."),
        (in_groups or not has_ledger, "No fusion group has it: it runs outside of the profiled "
         "steps."),
        (has_sources or not in_groups, unknown_line(has_log=has_log, calls=calls)),
        (has_modules or not in_groups, _unknown_module(has_log=has_log)),
    )  # fmt: skip
    return tuple(sentence for known, sentence in sentences if not known)


def missing_of_kernel_runs(
    *,
    has_arguments: bool,
    has_traffic: bool,
    has_counters: bool,
    is_generated: bool,
    has_code: bool,
    has_occupancy: bool,
    unsized: Sequence[str] = (),
    without_flops: Sequence[str] = (),
    has_unsized_list: bool = False,
    takes_lists: bool = False,
) -> tuple[str, ...]:
    """One sentence for each thing that the runs' files do not tell of a kernel.

    Those in `unsized` run it in convolutions whose strides and paddings are not recorded, those in
    `without_flops` replay it, and no products of the baseline are surely matched with it.
    """
    sentences = (
        (not without_flops, f"How many operations it computes in {listed(without_flops)} is not "
         "known: the replay of a CUDA graph has no shapes, and no products of the baseline are "
         "surely matched with it."),
        (not unsized, f"Bytes of {listed(unsized)} are not known: the shape of a convolution's "
         "result takes its stride and padding, which were not recorded."),
        (has_arguments or not has_unsized_list, _NO_LONG_LISTS),
        (has_arguments or has_unsized_list, "Inputs are not known: the trace has no shapes of its "
         "operator (record_shapes=False, or the replay of a CUDA graph)."),
        (has_traffic or unsized, "Bytes against the roofline are not known: " + (
            _UNTYPED_LISTS if takes_lists
            else "the shapes above do not tell all that it moves." if has_arguments
            else "that takes the shapes of all operators that launch it.")),
        (has_occupancy, "Occupancy is not known: the trace has no estimate of it."),
        (has_counters or not has_traffic, NO_COUNTERS),
        (has_code or not is_generated, f"Its generated code is not known: {NEEDS_LOG}"),
    )  # fmt: skip
    return tuple(sentence for known, sentence in sentences if not known)


def group_answer(group: FusionGroup, line: Roofline | None, computes: str, span: Span) -> str:
    """What became of it, and how near the candidate's side comes to the device's limits.

    Args:
        group: of the ledger.
        line: of the candidate; None: not known.
        computes: what product it is; "": none.
        span: what its times are of.
    """
    before, after = group.baseline_step_ns, group.candidate_step_ns
    parts = [f"{format_duration(before)} → {format_duration(after)} {span}"]
    if before and after:
        parts[0] += (
            f" ({format_difference(after - before)}, {format_change_between(before, after)})"
        )
    if line is not None and (shares := _shares(line)):
        parts.append(f"now at {shares}")
    if computes:
        parts.append(computes)
    return f"{'; '.join(parts)}."


def group_about(
    folded: FoldedGroup, group: FusionGroup, span: Span, more: HandedMore | None = None
) -> tuple[str, ...]:
    """What made it slower, how sure the match is, when it runs, and how many like it there are."""
    sentences = [text] if (text := what_slows(group)) else []
    if more is not None:
        sentences.append(handed_sentence(more))
    n = len(folded.groups)
    if n > 1:
        sentences.append(
            f"One of {n} like it, which together go from {format_duration(folded.baseline_ns)} to "
            f"{format_duration(folded.candidate_ns)} {span}."
        )
    sentences.append(how_known(group) if group.kind == "matched" else what_kind(group))
    if group.kind == "matched" and (of_all := how_known_of_all(folded)):
        sentences.append(of_all)
    if folded.occurrence is not None:
        sentences.append(f"It runs {folded.occurrence}; times are averages over all steps.")
    sentences.extend(f"{capitalised(note)}." for note in group.notes[:8])
    if COPIES_INPUTS in group.notes:
        sentences.append(_WITHOUT_COPIES)
    return tuple(sentences)


def copies_about(groups: Sequence[FusionGroup], span: Span = PER_STEP) -> tuple[str, ...]:
    """Of a kernel or operator that it copies a CUDA graph's inputs, and how to do without.

    Args:
        groups: of the ledger, that have it.
        span: what their times are of.
    """
    copies = [group for group in groups if COPIES_INPUTS in group.notes]
    if not copies:
        return ()
    if len(copies) == len(groups):
        return (f"It {COPIES_INPUTS}.", _WITHOUT_COPIES)
    time_ns = sum(group.candidate_step_ns for group in copies)
    return (
        f"In {format_count(len(copies))} of its {format_count(len(groups))} fusion groups it "
        f"{COPIES_INPUTS}, in {format_duration(time_ns)} {span}.",
        _WITHOUT_COPIES,
    )


def times_answer(times: Sequence[RunTime], span: Span, *, in_last: str = "") -> str:
    """From the baseline to the last run that is compared with it, which `in_last` may name."""
    known = [time for time in times if time.time_ns is not None]
    if not known:
        return "It takes no time in any of these runs."
    if len(times) < 2:
        return f"{format_duration(known[0].time_ns)} {span}."
    if times[0].inside or times[-1].inside:  # it runs there, for a time that is another's
        return f"{format_duration(known[-1].time_ns)} {span} in {known[-1].label}."
    first, last = times[0].time_ns or 0.0, times[-1].time_ns or 0.0
    change = f" ({format_difference(last - first)})" if first and last else ""
    return f"{format_duration(first)} → {format_duration(last)} {span}{in_last}{change}."


def missing_of_group(
    *,
    has_sources: bool,
    has_module: bool,
    has_code: bool,
    runs_compiled: bool,
    has_log: bool,
    has_traffic: bool,
    has_counters: bool,
    has_arguments: bool,
    calls: PythonCalls = "",
    takes_lists: bool = False,
    has_unsized_list: bool = False,
) -> tuple[str, ...]:
    """One sentence for each part of a group's dossier that these files do not tell."""
    code = "the log names no call for it." if has_log else NEEDS_LOG
    sentences = (
        (has_sources, unknown_line(has_log=has_log, calls=calls)),
        (has_module, _unknown_module(has_log=has_log)),
        (has_code or not runs_compiled, f"What was generated for it is not known: {code}"),
        (has_traffic, "How many bytes it moves is not known: " + (
            _LONG_LISTS if has_unsized_list else _UNTYPED_LISTS if takes_lists
            else "not all of its shapes were recorded.")),
        (has_arguments or not has_unsized_list, _NO_LONG_LISTS),
        (has_arguments or has_unsized_list, "Inputs and outputs are not known: no operator in it "
         "has recorded shapes, and no log names its buffers."),
        (has_counters or not has_traffic, NO_COUNTERS),
    )  # fmt: skip
    return tuple(sentence for known, sentence in sentences if not known)


def missing_of_operator(
    *,
    has_ledger: bool,
    has_calls: bool,
    has_arguments: bool,
    has_shapes: bool,
    has_sources: bool,
    has_modules: bool,
    has_log: bool,
    calls: PythonCalls = "",
    has_unsized_list: bool = False,
) -> tuple[str, ...]:
    """One sentence for each part of an operator's dossier that these files do not tell.

    With shapes recorded, what has no arguments is handed no tensors, but for lists that
    torch gives no shapes of.
    """
    sentences = (
        (has_ledger, "What it became is not known: no fusion group of these runs has it."),
        (has_shapes or not has_calls, "Inputs are not known: the trace has no shapes "
         "(record_shapes=False)."),
        (has_arguments or not has_unsized_list, _NO_LONG_LISTS),
        (has_calls, "Inputs are not known: no call of it that starts work is in the traces, as "
         "the replay of a CUDA graph has none."),
        (has_sources, unknown_line(has_log=has_log, calls=calls)),
        (has_modules, _unknown_module(has_log=has_log)),
    )  # fmt: skip
    return tuple(sentence for known, sentence in sentences if not known)


def missing_of_some(groups: Sequence[FusionGroup], *, has_log: bool) -> tuple[str, ...]:
    """Of how many groups no line and no module is known, where others have them.

    Args:
        groups: of one kernel or operator; an optimizer's have no module.
        has_log: of the candidate's compiler.
    """
    in_modules = [group for group in groups if group.phase != "update"]
    sentences = []
    for what, every, without, why in (
        ("line", groups, [group for group in groups if not group.sources], _no_line),
        ("module", in_modules, [group for group in in_modules if not group.module], _no_module),
    ):
        if 0 < len(without) < len(every):
            reason = why("it" if len(without) == 1 else "them", has_log=has_log)
            share = f"{format_count(len(without))} of its {format_count(len(every))}"
            sentences.append(f"The {what} of {share} fusion groups is not known: {reason}")
    return tuple(sentences)


def unknown_line(*, has_log: bool, calls: PythonCalls) -> str:
    """That no line is known, and why.

    Args:
        has_log: of the candidate's compiler.
        calls: what Python calls in the traces tell of it.
    """
    if calls == "around":
        why = LINE_OF_FUNCTION
    elif has_log:
        why = _no_line("it", has_log=True)
    elif calls == "elsewhere":
        why = f"no Python call of your code is around it, and a line takes {_A_LOG}."
    else:
        why = (
            f"that takes {_A_LOG}; Python calls in the trace (with_stack=True) tell the function "
            "that calls it."
        )
    return f"Which line it comes from is not known: {why}"


def _no_line(them: str, *, has_log: bool) -> str:
    return f"no graph that runs here names one for {them}." if has_log else NEEDS_LOG


def _unknown_module(*, has_log: bool) -> str:
    return f"The module is not known: {_no_module('it', has_log=has_log)}"


def _no_module(them: str, *, has_log: bool) -> str:
    log_reason = f"no node of the log's graphs that names one and no Python call belongs to {them}."
    return log_reason if has_log else "no file names modules by path."

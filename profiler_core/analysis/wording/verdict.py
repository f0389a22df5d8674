"""A verdict in words: the same on the page, in the terminal, in reports and for agents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from profiler_core.analysis.compare import CandidateComparison, ComparedNumbers
from profiler_core.analysis.environment import of_workload
from profiler_core.analysis.span import PER_STEP
from profiler_core.analysis.step_time import StepTime
from profiler_core.analysis.trace_notes import (
    MARK_STEPS,
    WHAT_IS_LEFT,
    WHOLE_TRACES,
    cut_clause,
    unmarked_clause,
)
from profiler_core.analysis.verdict import Claim, Detail, Verdict, leading, verdict
from profiler_core.analysis.wording.compile_cost import compile_cost_sentence
from profiler_core.analysis.wording.incomparable import INCOMPARABLE, clause_of_unrelated
from profiler_core.analysis.wording.notes import not_in_turns
from profiler_core.analysis.wording.script_compilation import not_compiled, not_eager
from profiler_core.analysis.wording.sentence import (
    Phrase,
    Statement,
    Strong,
    capitalised,
    ended,
    listed,
)
from profiler_core.analysis.wording.telemetry import fairness_statement
from profiler_core.analysis.wording.throughput import throughput_sentence
from profiler_core.model.run import HostLoad
from profiler_core.units import (
    format_bytes,
    format_count,
    format_duration,
    format_energy,
    format_share,
)

# The upper over the lower end of an interval beyond which its middle is no result: "1.14 to 3.39
# times" is one sign and no number.
_WIDE = 1.5
_ENVIRONMENT = 3  # differences that are named; the report has all


def statement(verdict: Verdict) -> Statement:
    """The claim, and the numbers that it rests on."""
    return _CLAIMS[verdict.claim](verdict.numbers)


def details(verdict: Verdict) -> tuple[str, ...]:
    """Further sentences, in the order in which they matter."""
    sentences = (_DETAILS[detail](verdict.numbers) for detail in verdict.details)
    return tuple(sentence for sentence in sentences if sentence)


@dataclass(frozen=True)
class Headline:
    """What is read first: large letters, then sentences below them."""

    title: Phrase
    lines: tuple[str, ...]
    is_bad: bool = False  # a loss, or wrong results


def headline(comparison: ComparedNumbers, *, with_unfinished: bool = True) -> Headline:
    """The verdict on the leading candidate, then one sentence on each other.

    Args:
        comparison: a baseline with any number of candidates.
        with_unfinished: name candidates whose run did not finish, too.
    """
    lead = leading(comparison)
    others = [
        statement(verdict(c)).sentence
        for c in comparison.candidates
        if c is not lead and (with_unfinished or lead is None or c.status == "finished")
    ]
    if lead is None:
        sides = (comparison.baseline, *comparison.sides)
        is_cut = any(side.is_cut for side in sides)
        is_unmarked = any(side.is_unmarked for side in sides)
        if is_cut or is_unmarked:  # the title says it once for all
            of_title = Claim.CUT_TRACE if is_cut else Claim.UNMARKED_STEPS
            told = [verdict(c) for c in comparison.candidates]
            others = [statement(v).sentence for v in told if v.claim is not of_title]
            others += [MARK_STEPS] if is_unmarked and not is_cut else []
        return Headline(_alone(comparison), tuple(others), is_bad=is_cut)
    first = candidate_headline(verdict(lead))
    return Headline(first.title, (*first.lines, *others), first.is_bad)


def candidate_headline(verdict: Verdict) -> Headline:
    """The verdict on one candidate, with what it rests on in one line."""
    claim = statement(verdict)
    line = " ".join(filter(None, (claim.grounds, *details(verdict))))
    return Headline(claim.heading, (line,), verdict.kind in ("wrong_numerics", "slower"))


def _alone(comparison: ComparedNumbers) -> Phrase:
    """What is said of runs of which none can be compared: the baseline's step time."""
    side = comparison.baseline
    cut = [run.label for run in (side, *comparison.sides) if run.is_cut]
    if cut and not comparison.candidates:
        return (Strong(f"The trace of {side.label} is cut"), f": {WHAT_IS_LEFT}")
    if cut:
        return (Strong("Not compared"), f": {cut_clause(cut)}")
    unmarked = [run.label for run in (side, *comparison.sides) if run.is_unmarked]
    if unmarked and comparison.candidates:
        return (Strong("Not compared"), f": {unmarked_clause(unmarked)}")
    if side.step_time_ns is None:
        return (side.label,)
    # Without annotations the trace may hold any number of steps.
    profiled = side.clock == "profiled"
    per = side.span if profiled else PER_STEP
    clock = ", profiled" if profiled else ""
    return (f"{side.label}: {format_duration(side.step_time_ns)} {per}{clock}.",)


def _wrong(c: CandidateComparison) -> Statement:
    claim = (Strong(c.label), " gives wrong results, so its speed does not count")
    numerics = c.numerics
    if numerics is None or numerics.rms_error is None or numerics.tolerance is None:
        return Statement(claim)
    error = numerics.baseline_rms_error
    against = "" if error is None else f", {c.baseline_label} is off by {error:.2g}"
    return Statement(
        claim,
        f"RMS error {numerics.rms_error:.2g} where {numerics.tolerance:.2g} is allowed{against}.",
    )


def _slower(c: CandidateComparison) -> Statement:
    if _is_wide(c.step_time):
        return _by_how_much(c, "slower", _interval(c.step_time, "slowdown", inverse=True))
    return Statement(
        (*_subject(c), f" is slower than {c.baseline_label}"),
        f"a step takes {1 / (c.step_time.ratio or 1.0):.2f} times as long, {_times(c.step_time)} "
        f"({_interval(c.step_time, 'slowdown', inverse=True)}).",
    )


def _faster(c: CandidateComparison) -> Statement:
    if _is_wide(c.step_time):
        return _by_how_much(c, "faster", _interval(c.step_time, "speed-up"))
    factor = Strong(f"{c.step_time.ratio:.2f} times")
    return Statement(
        (*_subject(c), " is ", factor, f" as fast as {c.baseline_label}"),
        f"a step takes {_times(c.step_time)} ({_interval(c.step_time, 'speed-up')}).",
    )


def _is_wide(time: StepTime) -> bool:
    """Is the interval too wide for one number to stand for it?"""
    return time.interval is not None and time.interval[1] > _WIDE * time.interval[0]


def _by_how_much(c: CandidateComparison, which: str, interval: str) -> Statement:
    """The direction alone, with nothing in it that stands out."""
    return Statement(
        (
            f"{_on_busy_host(c)}{c.label} is {which} than {c.baseline_label}, but by how much "
            "cannot be told",
        ),
        f"a step takes {_times(c.step_time)}, and the rounds differ too much for one number "
        f"({interval}).",
    )


def _no_difference(c: CandidateComparison) -> Statement:
    return Statement(
        (*_subject(c), f" makes no difference against {c.baseline_label}"),
        f"a step takes {_times(c.step_time)}, and the interval of the speed-up includes 1 "
        f"({_interval(c.step_time)}).",
    )


def _uncertain(c: CandidateComparison) -> Statement:
    question = f"hether {c.label} is faster or slower than {c.baseline_label} cannot be told"
    return Statement(
        (f"{_on_busy_host(c)}w{question}" if c.busy_host else f"W{question}",),
        f"a step takes {_times(c.step_time)}, and the interval of the speed-up includes 1 and is "
        f"too wide ({_interval(c.step_time)}).",
    )


def _subject(c: CandidateComparison) -> Phrase:
    """The candidate's name, after the load of a busy host: that stands before every number."""
    return (_on_busy_host(c), Strong(c.label)) if c.busy_host else (Strong(c.label),)


def _on_busy_host(c: CandidateComparison) -> str:
    return "" if c.busy_host is None else f"On a busy host ({load_seen(c.busy_host)}), "


def load_seen(load: HostLoad) -> str:
    """What other work did to a run, as a part of a sentence."""
    parts = []
    if load.others_cpus is not None:
        of_all = f" of {load.n_cpus}" if load.n_cpus else ""
        parts.append(f"other processes kept {load.others_cpus:.1f}{of_all} CPUs busy")
    if load.waited_share:
        parts.append(f"its threads waited for one {format_share(load.waited_share)} of the time")
    return ", ".join(parts)


def _other_workload(c: CandidateComparison) -> Statement:
    times = ""
    if c.step_time.baseline_ns is not None and c.step_time.candidate_ns is not None:
        before, after = map(format_duration, (c.step_time.baseline_ns, c.step_time.candidate_ns))
        times = f" (a step takes {before} and {after})"
    if c.unrelated:
        return Statement(
            (clause_of_unrelated((c.baseline_label, c.label)),),
            f"{c.unrelated}, so neither is faster or slower than the other{times}.",
        )
    first = of_workload(c.environment_differs)[0]
    verb = "is" if first.key == "workload" else f"has {first.spec_option or first.key}"
    return Statement(
        (f"{c.baseline_label} and {c.label} are different workloads",),
        f"one {verb} {first.baseline}, the other {first.candidate}, so neither is faster or slower "
        f"than the other{times}.",
    )


def _not_finished(c: CandidateComparison) -> Statement:
    return Statement((f"{c.label} cannot be judged, its run is {c.status}",), c.error or "")


def _too_few_rounds(c: CandidateComparison) -> Statement:
    time = c.step_time
    return Statement(
        (
            f"A step takes {format_duration(time.baseline_ns)} with {c.baseline_label} and "
            f"{format_duration(time.candidate_ns)} with {c.label}",
        ),
        f"measured over {_repeats(time.n_steps, time.n_rounds)}: too few repeats for a verdict.",
        joint=", ",
    )


def _repeats(n_steps: tuple[int, int], n_rounds: tuple[int, int]) -> str:
    """Timed steps and rounds of both sides: a round has the more steps, the shorter they are."""
    steps, rounds = (
        " and ".join(format_count(n) for n in dict.fromkeys(counts))
        for counts in (n_steps, n_rounds)
    )
    if n_rounds[0] != n_rounds[1]:
        each = " each" if n_steps[0] == n_steps[1] else ""
        return f"{steps} steps{each} in {rounds} rounds"
    return f"{steps} steps in {'one round' if n_rounds[0] == 1 else f'{rounds} rounds'} each"


def _profiled(c: CandidateComparison) -> Statement:
    before, after = map(format_duration, c.device_time_ns)
    steps = sorted({n for n in c.n_profiled_steps if n is not None})
    n_steps = listed([format_count(n) for n in steps])
    busy = "Profiled CPU time" if c.device_kinds == ("cpu", "cpu") else "Device time"
    # A step can take longer while the device does less: the host is what it waits for.
    what = "the step itself" if steps else "from start to end"
    step = "" if c.step_time.ratio is None else f", {what} {_times(c.step_time)},"
    runs = f"from {c.baseline_label} to {c.label}"
    if not steps:
        return Statement((f"{busy} {c.span} {before} → {after}{step} {runs}",), WHOLE_TRACES)
    return Statement(
        (f"{busy} {c.span} {before} → {after}{step} {runs}",),
        f"profiled over {n_steps} step{'' if steps == [1] else 's'} without repeats: a "
        "measurement, not a verdict.",
        joint=", ",
    )


_CLAIMS: Mapping[Claim, Callable[[CandidateComparison], Statement]] = {
    Claim.WRONG: _wrong,
    Claim.SLOWER: _slower,
    Claim.FASTER: _faster,
    Claim.NO_DIFFERENCE: _no_difference,
    Claim.UNCERTAIN: _uncertain,
    Claim.OTHER_WORKLOAD: _other_workload,
    Claim.NOT_FINISHED: _not_finished,
    Claim.TOO_FEW_ROUNDS: _too_few_rounds,
    **INCOMPARABLE,
    Claim.PROFILED: _profiled,
}


def _cut(c: CandidateComparison) -> str:
    return f"{capitalised(cut_clause(c.cut_traces))} Only the timed rounds are compared."


def _not_eager(c: CandidateComparison) -> str:
    compiled = c.baseline_compiled
    return "" if compiled is None else not_eager(c.baseline_label, compiled)


def _unfair(c: CandidateComparison) -> str:
    return fairness_statement(c.fairness).sentence if c.fairness is not None else ""


def _numerics(c: CandidateComparison) -> str:
    numerics = c.numerics
    if numerics is None:
        return ""
    if numerics.verdict == "right":
        on_ranks = f" on all {numerics.n_ranks} ranks" if numerics.n_ranks else ""
        compared = f" ({numerics.compared} compared{on_ranks})" if numerics.compared else ""
        return f"Its results are right{compared}."
    if numerics.verdict == "wrong":
        ratio = c.step_time.ratio
        return "" if ratio is None else f"A step takes {_times(c.step_time)}, ratio {ratio:.2f}."
    reason = numerics.reason or numerics.verdict
    return f"Its results could not be checked: {ended(reason)}"


def _memory(c: CandidateComparison) -> str:
    change = _change(*map(format_bytes, c.memory.peak_reserved_bytes))
    return f"Peak memory (reserved) {change}."


def _energy(c: CandidateComparison) -> str:
    fair = c.fairness is not None and c.fairness.fair
    clocks = ", the GPU at the same clocks for both" if fair else ""
    return f"Energy per step {_change(*map(format_energy, c.energy_per_step_j))}{clocks}."


def _not_in_turns(c: CandidateComparison) -> str:
    return not_in_turns("The runs", c.step_time)


def _environment(c: CandidateComparison) -> str:
    named = ", ".join(
        f"{d.key} ({d.baseline} against {d.candidate})"
        for d in c.environment_differs[:_ENVIRONMENT]
    )
    n_more = len(c.environment_differs) - _ENVIRONMENT
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"The runs differ in more than the variant: {named}{more}."


_DETAILS: Mapping[Detail, Callable[[CandidateComparison], str]] = {
    Detail.CUT: _cut,
    Detail.COMPILED_NOTHING: lambda c: not_compiled(c.label),
    Detail.NOT_EAGER: _not_eager,
    Detail.UNFAIR: _unfair,
    Detail.NUMERICS: _numerics,
    Detail.THROUGHPUT: lambda c: throughput_sentence(*c.throughput),
    Detail.COMPILE_COST: lambda c: compile_cost_sentence(c.compile, c.baseline_label),
    Detail.MEMORY: _memory,
    Detail.ENERGY: _energy,
    Detail.NOT_IN_TURNS: _not_in_turns,
    Detail.ENVIRONMENT: _environment,
}


def _change(before: str, after: str) -> str:
    return f"stays at {before}" if before == after else f"{before} → {after}"


def _times(time: StepTime) -> str:
    return f"{format_duration(time.baseline_ns)} → {format_duration(time.candidate_ns)}"


def _interval(time: StepTime, of: str = "", *, inverse: bool = False) -> str:
    """The interval, what it is of ("" where the sentence says it before), and its rounds."""
    if time.interval is None:
        return "no interval"
    low, high = time.interval
    if inverse:
        low, high = 1 / high, 1 / low
    rounds = f"{min(time.n_rounds)} {'interleaved ' if time.paired else ''}rounds"
    if time.noise is not None and time.noise.of_fastest_steps is not None:
        rounds = f"by the fastest steps of {rounds}"
    # As many digits as tell the ends apart: "1.25 to 1.25" would look like a mistake.
    # So would "1.00 to 1.04" of a candidate that is called faster.
    is_beside_one = (low > 1 and f"{low:.2f}" == "1.00") or (high < 1 and f"{high:.2f}" == "1.00")
    digits = 3 if is_beside_one or f"{low:.2f}" == f"{high:.2f}" else 2
    of = of and f" of the {of}"
    return f"95 % interval{of} {low:.{digits}f} to {high:.{digits}f}, {rounds}"

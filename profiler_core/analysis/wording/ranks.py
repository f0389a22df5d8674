"""What a job says in sentences: the page and the command line use the same."""

from profiler_core.analysis.categories import CATEGORIES, OTHER
from profiler_core.analysis.idle import CAUSES
from profiler_core.analysis.ranks.claim import Claim, Waiting, claim_of
from profiler_core.analysis.ranks.critical import CriticalPath, Lateness
from profiler_core.analysis.ranks.host_bound import hides_who_is_late
from profiler_core.analysis.ranks.job import Job, Straggler
from profiler_core.analysis.ranks.links import slowest
from profiler_core.analysis.ranks.rank_row import RankRow
from profiler_core.analysis.wording.sentence import Phrase, Strong, capitalised, plain
from profiler_core.units import format_bytes, format_duration, format_share

# Less waiting than this share of the step is that of even ranks.
_TELLING_SHARE = 0.02
_LEAST_PART_NS = 1_000  # of a lateness that is told
_WORK = {OTHER: "uncategorised kernels"}  # a category as a part of some work, where it differs


def headline(job: Job, where: str = "") -> Phrase:
    """Who waits for whom (`claim_of`), without a full stop.

    Args:
        job: the ranks.
        where: what stands before it in the same sentence ("in default, "); "" begins one.
    """
    first, *further = _claimed(job, claim_of(job))
    if where:
        return (f"{where}{first}", *further)
    return (capitalised(str(first)), *further)


def _claimed(job: Job, claim: Claim) -> Phrase:
    n = len(job.ranks)
    match claim.waiting:
        case Waiting.NO_RANK:
            return ("no rank of this job could be read",)
        case Waiting.FOR_RANK:
            return (_waiters(job, claim.rank), Strong(f"rank {claim.rank}"), *_cause(job, claim))
        case Waiting.UNTOLD if claim.step_ns is None:
            return (f"who waits for whom cannot be told from {_ranks(n)}",)
        case Waiting.UNTOLD:
            return ("who waits for whom cannot be told: the profiler slows the hosts",)
        case Waiting.NONE:
            waits = (job.wait_share or 0.0) >= _TELLING_SHARE  # in the trace, at no cost
            clause = "no rank is late" if waits else "no rank waits"
            if _has_bubble(job):
                clause = "no rank waits beyond the pipeline's bubble"
            return (f"{clause}: the {n} ranks are even",)
        case Waiting.IN_TURN:
            return (f"the {n} ranks wait for each other in turn",)


def _waiters(job: Job, late: int | None) -> str:
    n = len(job.ranks)
    if n == 2:
        waiter = next(row.rank for row in job.ranks if row.rank != late)
        return f"rank {waiter} waits for "
    if job.straggler is None or job.straggler.rank != late:
        return "other ranks wait for "
    waiters = job.straggler.n_waiters
    if waiters < n - 1:
        return f"{waiters} of {n} ranks wait for " if waiters > 1 else "a rank waits for "
    return f"the other {n - 1} ranks wait for "


def _cause(job: Job, claim: Claim) -> Phrase:
    """That a lower clock makes the rank late, where it is most of it; () where it is not."""
    late = job.critical.late if job.critical is not None else None
    if late is None or late.rank != claim.rank or late.clock is None:
        return ()
    if not late.clock.is_cause_of(late.total_ns):
        return ()
    return (f", whose GPU runs at a {format_share(late.clock.lower)} lower clock",)


def slow_clock(path: CriticalPath | None) -> str:
    """What a lower clock of the late rank's GPU costs, with both clocks; "" where there is none.

    Args:
        path: of the job.
    """
    late = path.late if path is not None else None
    if late is None or late.clock is None:
        return ""
    clock = late.clock
    when = "in the profiled steps" if clock.is_profiled else "while its steps run"
    held = "; ".join(f"{e.words} in {format_share(e.share)} of the samples" for e in clock.held_by)
    others = "the other" if path is not None and path.n_ranks == 2 else "the others (median)"
    return (
        f"{format_duration(clock.cost_ns)} of what rank {late.rank} works more are its clock: its "
        f"GPU runs at {clock.mhz:.0f} MHz {when}, {others} at {clock.others_mhz:.0f} MHz "
        f"({format_share(clock.lower)} lower){f', {held}' if held else ''}."
    )


def _has_bubble(job: Job) -> bool:
    path, step_ns = job.critical, job.unprofiled_step_ns
    return path is not None and path.bubble_ns >= _TELLING_SHARE * (step_ns or path.step_ns)


def evidence(job: Job) -> str:
    """The numbers of the profiled steps behind the headline; "" where there are none."""
    if not job.ranks or job.wait_share is None or job.step_ns is None:
        return ""
    claim = claim_of(job)
    profiled = "profiled step" if claim.step_ns is not None else "step"
    step = f"{profiled} of {format_duration(job.step_ns)}"
    late = job.straggler
    if not job.wait_share:
        return f"In the {step} no rank waits in a collective."
    if late is None or claim.rank != late.rank:
        whose = "" if late is None else f", {_part(late)}"
        # The claim is of the profiled steps, and no rank stands out of their waiting.
        needs = _needs(job.critical) if late is None and claim.rank is not None else ""
        is_of_these = needs and claim.step_ns is None
        return (
            f"Ranks spend {format_share(job.wait_share)} of the {step} waiting in "
            f"collectives{whose}.{f' {needs}' if is_of_these else ''}"
        )
    waiters = late.n_waiters
    per_rank = format_duration(late.made_wait_ns / waiters)
    amount = f"{per_rank} of the {step}"
    if waiters > 1:
        amount = f"{per_rank} each, on average, of the {step}"
    longest = sorted(job.ranks, key=lambda row: (row.rank == late.rank, -row.waited_ns))[:waiters]
    # Named, as the page puts the name of the run before it.
    subject = f"Rank {longest[0].rank} waits" if waiters == 1 else "They wait"
    exposed = sum(row.exposed_communication_ns for row in longest) / waiters
    return (
        f"{subject} {amount} in collectives{_last_share(late)}. {format_duration(exposed)} of that "
        f"communication are not hidden behind compute. {_why(job, late)}"
    )


def without_profiler(job: Job) -> str:
    """What the unprofiled step says otherwise than the profiled ones; "" where nothing.

    Args:
        job: the ranks, with the step where it is known (`Job.unprofiled`).
    """
    claim, path = claim_of(job), job.critical
    if path is None or claim.step_ns is None:
        return ""
    step = f"Without the profiler a step takes {format_duration(claim.step_ns)}"
    late_ns = format_duration(claim.late_ns)
    named = job.straggler.rank if job.straggler is not None else None
    if claim.waiting is Waiting.UNTOLD:
        return f"{step}, less than the hosts need under it: who is late then, traces do not say."
    if claim.waiting is not Waiting.FOR_RANK:
        if named is None or path.late is None or path.late.rank != named:
            return ""
        return f"{step}, of which waiting for rank {named} takes {late_ns}."
    waiter = "the other waits" if len(job.ranks) == 2 else "the others wait"
    if path == job.by_work:
        is_all = path.device_ns >= claim.step_ns
        needed = "all" if is_all else format_duration(path.device_ns)
        return (
            f"{step}, and rank {path.rank}'s device needs {needed} of it: then {waiter} for "
            f"rank {path.rank}, which works {format_duration(path.late_work_ns)} "
            "more."
        )
    if named != claim.rank:
        return f"{step}: then {waiter} {late_ns} for rank {claim.rank}."
    if hides_who_is_late(path, claim.untold_ns):
        least = format_duration(claim.late_ns, "down")
        return (
            f"{step}, less than the hosts need under it: at least {least} of it is waiting for "
            f"rank {claim.rank}; who causes the rest, traces do not say."
        )
    return ""


def of_all_ranks(job: Job | None) -> str:
    """Who waits for whom, beside times that are one rank's alone; "" where ranks do not tell.

    Args:
        job: the ranks; None: the others are not here.
    """
    if job is None or len(job.ranks) < 2 or job.wait_share is None:
        return ""
    return f"{plain(headline(job))}. {evidence(job)}"


def _last_share(late: Straggler) -> str:
    if late.share >= 0.995:
        return f": all waiting is for rank {late.rank}"
    return f": {format_share(late.share)} of all waiting is for rank {late.rank}"


def _part(late: Straggler) -> str:
    part = "all" if late.share >= 0.995 else format_share(late.share)
    return f"{part} of it for rank {late.rank}"


def slowest_link(job: Job) -> str:
    """Which group of ranks talks slower than those that do the same; "" where none stands out."""
    link = slowest(job.links)
    if link is None:
        return ""
    return (
        f"The slowest link: {link.label} between ranks {link.group} moves "
        f"{format_bytes(link.bus_bandwidth)}/s, {format_bytes(link.others_bandwidth)}/s between "
        "the ranks of other groups."
    )


def lateness(late: Lateness, work_ns: float, idle_ns: float) -> str:
    """What a late rank needs more, the larger first: "8.00 ms more work (other 8.00 ms)".

    Args:
        late: the rank.
        work_ns: per step, on the clock of the text.
        idle_ns: likewise.
    """
    largest = max(late.work_ns, key=lambda name: late.work_ns[name], default=None)
    cause = max(late.idle_ns, key=lambda name: late.idle_ns[name], default=None)
    parts = []
    if work_ns >= _LEAST_PART_NS:
        of_which = f", most of it {_WORK.get(largest, CATEGORIES[largest])}" if largest else ""
        parts.append((work_ns, f"{format_duration(work_ns)} more work{of_which}"))
    if idle_ns >= _LEAST_PART_NS:
        of_which = f", most of it {CAUSES[cause]}" if cause else ""
        text = (
            f"{format_duration(idle_ns)} longer idle{of_which}{_stalled(late, idle_ns)}"
            f"{_beyond_host(late)}"
        )
        parts.append((idle_ns, text))
    return "; ".join(text for _, text in sorted(parts, reverse=True)) or "less than 1 µs"


def _beyond_host(late: Lateness) -> str:
    """Why its device idles for longer than that: a late host costs no more than others lack."""
    is_bound = late.beyond_host_ns >= _TELLING_SHARE * (late.beyond_host_ns + late.total_idle_ns)
    return ", beyond what the others' hosts need too" if is_bound and late.beyond_host_ns else ""


def _stalled(late: Lateness, idle_ns: float) -> str:
    """How much of the idle time a host stood still, and how much followed of that; "" if none."""
    stalled_ns = min(late.stalled_ns, idle_ns)
    if stalled_ns < _LEAST_PART_NS:
        return ""
    stood = f" ({format_duration(stalled_ns)} in which its host stands still"
    after_ns = idle_ns - stalled_ns
    if after_ns < _TELLING_SHARE * idle_ns:
        return f"{stood})"
    return f"{stood}, {format_duration(after_ns)} until its device has as much to do again)"


def _why(job: Job, late: Straggler) -> str:
    """What the late rank needs more than the others; on a CPU its compute or its idle time."""
    path = job.critical
    if path is not None and path.late is not None and path.late.rank == late.rank:
        return _needs(path)
    telling = _TELLING_SHARE * (job.step_ns or 0.0)
    others = "the other's" if len(job.ranks) == 2 else "the others'"
    if late.compute_more_ns > telling and late.compute_more_ns >= late.idle_more_ns:
        share = f" ({format_share(late.compute_more)} more)" if late.compute_more else ""
        return (
            f"Rank {late.rank}'s compute takes {format_duration(late.compute_more_ns)} longer than "
            f"{others}{share}."
        )
    if late.idle_more_ns > telling:
        return (
            f"Rank {late.rank}'s {'GPU' if job.on_gpu else 'CPU'} is idle "
            f"{format_duration(late.idle_more_ns)} longer than {others}, and its compute is "
            "not longer: its host is late."
        )
    return (
        f"Neither rank {late.rank}'s compute nor its idle time is longer, so the cause is not in "
        "these traces."
    )


def needs_of(job: Job) -> str:
    """What the rank that the others wait for needs more than they do; "" where none is late."""
    return _needs(job.critical)


def rank_answer(job: Job, row: RankRow, step: int | None) -> str:
    """What a rank waits, and whether the others wait for it.

    Args:
        job: of the rank.
        row: the rank.
        step: one of its steps, counted from 0; None: the mean over them.
    """
    n_steps = len(row.waited_in_steps_ns)
    waited_ns = row.waited_ns
    length_ns = row.step_ns
    if step is not None and step < n_steps:
        waited_ns, length_ns = float(row.waited_in_steps_ns[step]), float(row.steps[step].dur_ns)
    which = "this profiled step" if step is not None else "a profiled step"
    waits = f"waits {format_duration(waited_ns)} in collectives, of {which} of"
    if waited_ns < _LEAST_PART_NS:
        waits = f"waits for nobody in {which} of"
    first = f"It {waits} {format_duration(length_ns)}."
    claim = claim_of(job)
    if claim.rank == row.rank:
        return f"The others wait for it. {first}"
    if claim.rank is not None:
        return f"{first} The rank that the others wait for is rank {claim.rank}."
    return first


def _needs(path: CriticalPath | None) -> str:
    """What the critical rank needs more, and what of that a pipeline's bubble hides; "" if none."""
    late = path.late if path is not None else None
    if path is None or late is None:
        return ""
    causes = lateness(late, late.total_work_ns, late.total_idle_ns)
    filled_ns = path.late_in_bubble_ns
    in_bubble = ""
    if filled_ns >= _TELLING_SHARE * path.step_ns:
        in_bubble = (
            f" {format_duration(filled_ns)} of that fill the pipeline's bubble: the step is no "
            "shorter without them."
        )
    return f"Rank {late.rank} needs more than the other ranks: {causes}.{in_bubble}"


def _ranks(n: int) -> str:
    return "one rank" if n == 1 else f"these {n} ranks"

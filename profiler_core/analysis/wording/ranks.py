"""What a job says in sentences: the page and the command line use the same."""

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.idle import CAUSES
from profiler_core.analysis.ranks.critical import Lateness
from profiler_core.analysis.ranks.host_bound import untold_waiting
from profiler_core.analysis.ranks.job import Job, Straggler
from profiler_core.analysis.ranks.links import slowest
from profiler_core.analysis.wording.sentence import Phrase, Strong, capitalised
from profiler_core.units import format_bytes, format_duration, format_share

# Less waiting than this share of the step is that of even ranks.
_TELLING_SHARE = 0.02
_LEAST_PART_NS = 1_000  # of a lateness that is told


def headline(job: Job, where: str = "") -> Phrase:
    """Who waits for whom, without a full stop.

    Args:
        job: the ranks.
        where: what stands before it in the same sentence ("in default, "); "" begins one.
    """
    first, *further = _claim(job)
    if where:
        return (f"{where}{first}", *further)
    return (capitalised(str(first)), *further)


def _claim(job: Job) -> Phrase:
    n = len(job.ranks)
    if not n:
        return ("no rank of this job could be read",)
    if job.straggler is not None:
        late = Strong(f"rank {job.straggler.rank}")
        if n == 2:
            waiter = next(row.rank for row in job.ranks if row.rank != job.straggler.rank)
            return (f"rank {waiter} waits for ", late)
        waiters = job.straggler.n_waiters
        if waiters < n - 1:
            return (
                f"{waiters} of {n} ranks wait for " if waiters > 1 else "a rank waits for ",
                late,
            )
        return (f"the other {n - 1} ranks wait for ", late)
    if job.wait_share is None:
        return (f"who waits for whom cannot be told from {_ranks(n)}",)
    if job.wait_share < _TELLING_SHARE:
        return (f"no rank waits: the {n} ranks are even",)
    return (f"the {n} ranks wait for each other in turn",)


def evidence(job: Job) -> str:
    """The numbers behind the headline; "" where there are none."""
    if not job.ranks or job.wait_share is None or job.step_ns is None:
        return ""
    step = format_duration(job.step_ns)
    if job.straggler is None:
        return (
            f"Ranks spend {format_share(job.wait_share)} of the step of {step} waiting in "
            "collectives for the one that comes last."
        )
    late = job.straggler
    waiters = late.n_waiters
    per_rank = format_duration(late.made_wait_ns / waiters)
    amount = f"{per_rank} of the step of {step}"
    if waiters > 1:
        amount = f"{per_rank} each, on average, of the step of {step}"
    longest = sorted(job.ranks, key=lambda row: (row.rank == late.rank, -row.waited_ns))[:waiters]
    # Named, as the page puts the name of the run before it.
    subject = f"Rank {longest[0].rank} waits" if waiters == 1 else "They wait"
    exposed = sum(row.exposed_communication_ns for row in longest) / waiters
    return (
        f"{subject} {amount} in collectives{_last_share(late)}. {format_duration(exposed)} of that "
        f"communication are not hidden behind compute. {_why(job, late)}"
    )


def without_profiler(job: Job, step_ns: float | None) -> str:
    """What the headline, which is of profiled steps, does not hold without the profiler; "" if all.

    Args:
        job: the ranks.
        step_ns: of the job, unprofiled; None: not known.
    """
    path = job.unprofiled(step_ns).critical
    if path is None or step_ns is None:
        return ""
    step = f"Without the profiler a step takes {format_duration(step_ns)}"
    named = job.straggler.rank if job.straggler is not None else None
    if path.late_work_ns >= _TELLING_SHARE * step_ns and named != path.rank:
        waiter = "the other waits" if len(job.ranks) == 2 else "the others wait"
        return (
            f"{step}, and rank {path.rank}'s device needs {format_duration(path.device_ns)} of it: "
            f"then {waiter} for rank {path.rank}, which works {format_duration(path.late_work_ns)} "
            "more."
        )
    if sum(untold_waiting(path, step_ns).values()) >= _TELLING_SHARE * path.step_ns:
        return f"{step}, less than the hosts need under it: who is late then, traces do not say."
    return ""


def _last_share(late: Straggler) -> str:
    if late.share >= 0.995:
        return f": all waiting is for rank {late.rank}"
    return f": {format_share(late.share)} of all waiting is for rank {late.rank}"


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
        of_which = f", most of it {CATEGORIES[largest]}" if largest else ""
        parts.append((work_ns, f"{format_duration(work_ns)} more work{of_which}"))
    if idle_ns >= _LEAST_PART_NS:
        of_which = f", most of it {CAUSES[cause]}" if cause else ""
        text = f"{format_duration(idle_ns)} longer idle{of_which}{_stalled(late, idle_ns)}"
        parts.append((idle_ns, text))
    return "; ".join(text for _, text in sorted(parts, reverse=True)) or "less than 1 µs"


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
        causes = lateness(path.late, path.late.total_work_ns, path.late.total_idle_ns)
        return f"Rank {late.rank} needs more than the other ranks: {causes}."
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


def _ranks(n: int) -> str:
    return "one rank" if n == 1 else f"these {n} ranks"

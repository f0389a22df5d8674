"""What a job says in sentences: the page and the command line use the same."""

from profiler_core.analysis.ranks.job import Job, Straggler
from profiler_core.analysis.wording.sentence import Phrase, Strong, capitalised
from profiler_core.units import format_duration, format_share

# A rank whose compute exceeds the others' by this share of the step is slow itself.
_TELLING_SHARE = 0.02


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
    waiters = len(job.ranks) - 1
    per_rank = format_duration(late.made_wait_ns / waiters)
    amount = f"{per_rank} of the step of {step}"
    if waiters > 1:
        amount = f"{per_rank} each, on average, of the step of {step}"
    subject = "It waits" if waiters == 1 else "They wait"
    exposed = sum(r.exposed_communication_ns for r in job.ranks if r.rank != late.rank) / waiters
    return (
        f"{subject} {amount} in collectives{_last_share(late)}. {format_duration(exposed)} of that "
        f"communication are not hidden behind compute. {_why(job, late)}"
    )


def _last_share(late: Straggler) -> str:
    if late.share >= 0.995:
        return f": all waiting is for rank {late.rank}"
    return f": {format_share(late.share)} of all waiting is for rank {late.rank}"


def _why(job: Job, late: Straggler) -> str:
    """The late rank computes longer, or it is idle more (its host is late), or neither shows."""
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

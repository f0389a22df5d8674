"""What a step of a workload gained between two runs, and how much of that was predicted."""

from profiler_core.analysis.step_time import step_time_between
from profiler_core.model.review import Difference
from profiler_core.model.run import RunRecord


def difference_of(
    before: RunRecord,
    after: RunRecord,
    *,
    predicted_ns: float | None = None,
    is_bound: bool = False,
) -> Difference | None:
    """The difference of the unprofiled step times; None where one of the runs was not timed.

    The interval is that of the ratio (`analysis/noise.py`), told in time of a step of `before`.

    Args:
        before: the run that was held against first.
        after: of the same workload.
        predicted_ns: what was expected to be gained per step; None: nothing was.
        is_bound: predicted_ns is the most that could be gained.
    """
    time = step_time_between(before, after)
    if time is None or time.baseline_ns is None or time.candidate_ns is None:
        return None
    before_ns = time.baseline_ns
    gained = None
    if time.interval is not None:  # of before / after
        low, high = time.interval
        gained = (before_ns * (1 - 1 / low), before_ns * (1 - 1 / high))
    return Difference(
        before_run_id=before.run_id,
        after_run_id=after.run_id,
        before_ns=before_ns,
        after_ns=time.candidate_ns,
        gained_ns=gained,
        predicted_ns=predicted_ns,
        is_bound=is_bound,
    )


def is_regression(difference: Difference) -> bool:
    """Do steps take longer than before, by more than the noise?"""
    return bool(difference.is_beyond_noise) and difference.after_ns > difference.before_ns

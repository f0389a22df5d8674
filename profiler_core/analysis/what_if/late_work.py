"""What a change saves of a job's late rank beyond the rank that is replayed.

The replay is of the rank of median work. Of the work of the same categories that the late rank has
more, the change saves the same part as of that rank's own: the others wait for less.
"""

from collections.abc import Collection
from dataclasses import replace

from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.what_if.prediction import Prediction


def with_late_work(
    saved: Prediction,
    categories: Collection[str],
    path: CriticalPath | None,
    late_work_ns: float,
) -> Prediction:
    """A prediction with what the late rank's further work shrinks by.

    The least stays as it is: the late rank's host, which is not replayed, may be the next limit.

    Args:
        saved: of the rank that is replayed.
        categories: of the kernels that the change is about.
        path: of the job; None: no job.
        late_work_ns: what its late rank works more, per step on the clock of the prediction.
    """
    if path is None or path.late is None or late_work_ns <= 0:
        return saved
    own_ns = sum(path.work_ns.get(category, 0.0) for category in categories)
    more = {category: ns for category, ns in path.late.work_ns.items() if ns > 0}
    further_ns = sum(more.get(category, 0.0) for category in categories)
    if own_ns <= 0 or further_ns <= 0:
        return saved
    of_kind_ns = late_work_ns * further_ns / sum(more.values())
    expected, most = (
        of_kind_ns * min(1.0, max(0.0, ns / own_ns)) for ns in (saved.expected_ns, saved.high_ns)
    )
    return replace(
        saved,
        expected_ns=saved.expected_ns + expected,
        high_ns=saved.high_ns + most,
        late_work_ns=expected,
    )

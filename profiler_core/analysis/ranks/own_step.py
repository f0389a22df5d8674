"""What a step of a job takes the rank that is shown, without what it waits for others."""

from profiler_core.analysis.ranks.critical import CriticalPath


def own_step_ns(path: CriticalPath | None, step_ns: float) -> float:
    """A step of the shown rank without waiting for the late rank's work or in a pipeline's bubble.

    Both are no work of its own host or device: a replay of its queues would take them for its
    host's, at which no kernel of its own could make the step shorter.

    Args:
        path: of the job; None: no job, whose step is all the run's own.
        step_ns: of the job without the profiler. Where a step took less with it, the other ranks
            did not, so that no more than that is this rank's.
    """
    others_ns = 0.0 if path is None else path.late_work_ns + path.bubble_ns
    if path is None or not others_ns:
        return step_ns
    return max(0.0, min(step_ns, path.step_ns) - others_ns)

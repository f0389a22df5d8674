"""How many steps a trace holds, in words."""

from profiler_core.analysis.summary import Summary
from profiler_core.analysis.wording.sentence import counted


def recorded_steps(summary: Summary, noun: str = "profiled step") -> str:
    """As "5 profiled steps"; what stands in the place of a number that is not known.

    Args:
        summary: of the trace.
        noun: what one of them is called.
    """
    if summary.is_cut:  # how many steps are left of it is not known
        return "what is left of a cut trace"
    return counted(summary.n_steps, noun) if summary.steps else "no steps: the whole trace"

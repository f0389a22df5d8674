"""Which functions Dynamo traced for how long, where the run's torch (2.15 on) timed it."""

from dataclasses import dataclass

from profiler_core.analysis.memory.frames import is_framework
from profiler_core.model.run import Measurement, TracedFunction

MOST_FUNCTIONS = 30  # of them that an answer names


@dataclass(frozen=True)
class TracingTime:
    """Dynamo's time in the bytecode of functions, in all frames until the warm-up ended.

    Each instant is in one function's own time: `total_ns` is the sum of all of these.
    """

    total_ns: int
    framework_ns: int  # own time of PyTorch's functions, which the user's functions call
    functions: tuple[TracedFunction, ...]  # of the user and of libraries, longest first
    n_functions: int  # of these, with those not in `functions`


def tracing_time(measurement: Measurement | None) -> TracingTime | None:
    """What the capture recorded of it; None: nothing, as before torch 2.15."""
    traced = measurement.tracing if measurement is not None else ()
    if not traced:
        return None
    theirs = [function for function in traced if is_framework(function.file)]
    own = [function for function in traced if function.file and not is_framework(function.file)]
    own.sort(key=lambda function: (-function.total_ns, -function.own_ns))
    return TracingTime(
        total_ns=sum(function.own_ns for function in traced),
        framework_ns=sum(function.own_ns for function in theirs),
        functions=tuple(own[:MOST_FUNCTIONS]),
        n_functions=len(own),
    )

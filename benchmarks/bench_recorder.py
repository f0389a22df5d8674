"""What `Recorder.step()` costs a loop, in each stage of a recording.

    python -m benchmarks.bench_recorder [--calls 20000] [--repeats 7]

Printed is the mean time of a call, as the median over the repeats: CPU time of the thread, which
other processes of a busy machine do not lengthen by taking turns, and wall time. Before its active
steps (those that are timed, sampled or profiled) and after them a recording may cost a step no
more than 10 µs.
"""

import argparse
import contextlib
import importlib
import io
import statistics
import tempfile
import time
from collections.abc import Callable

import torch

from profiler_core.record import Recorder

_OUTSIDE_NS = 10_000  # the goal for what is not an active step
_QUIET = {"profile": False, "telemetry_seconds": 0.0}


def main() -> None:
    """Print a line for each stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    calls, many = arguments.calls, arguments.calls * arguments.repeats + 10
    importlib.import_module("torch._dynamo.utils")  # its counters are read in the warm-up
    print(f"torch {torch.__version__}, {calls} calls, {arguments.repeats} repeats")
    stages = {
        "switched off": (True, {"enabled": False}, 0),
        "skipped steps": (True, {"skip_steps": many}, 1),
        "warm-up": (True, {"warm_up_floor": many, "warm_up_ceiling": many}, 2),
        "timed rounds (active)": (
            False,
            {"warm_up_floor": 1, "warm_up_ceiling": 1, "rounds": 10, "round_steps": many},
            5,
        ),
        "after the recording": (
            True,
            {"warm_up_floor": 1, "warm_up_ceiling": 1, "rounds": 1, "round_steps": 1}
            | {"round_seconds": 0.0},
            5,
        ),
    }
    for name, (is_outside, options, n_before) in stages.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            recorder = Recorder(folder, "bench", "step", **{**_QUIET, **options})
            recorder.start()
            for _ in range(n_before):
                recorder.step()
            times = [_call_ns(recorder.step, calls) for _ in range(arguments.repeats)]
            recorder.close()
        cpu_ns, wall_ns = (statistics.median(column) for column in zip(*times, strict=True))
        goal = "" if not is_outside else " ok" if cpu_ns < _OUTSIDE_NS else " OVER 10 µs"
        print(f"{name:24} {cpu_ns:8.0f} ns of CPU {wall_ns:8.0f} ns of wall time a step{goal}")


def _call_ns(step: Callable[[], None], calls: int) -> tuple[float, float]:
    """Mean (CPU time, wall time) of a call beyond that of an empty loop."""
    stamps = [(time.thread_time_ns(), time.perf_counter_ns())]
    for _ in range(calls):
        step()
    stamps.append((time.thread_time_ns(), time.perf_counter_ns()))
    for _ in range(calls):
        pass
    stamps.append((time.thread_time_ns(), time.perf_counter_ns()))
    cpu, wall = ((b - a - (c - b)) / calls for a, b, c in zip(*stamps, strict=True))
    return cpu, wall


if __name__ == "__main__":
    main()

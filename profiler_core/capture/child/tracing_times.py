"""How long Dynamo traced each function: what `torch._dynamo.config.dynamo_profiler` (2.15) times.

torch prints a table for every frame, and a path in the setting keeps the last frame alone. Its
records are taken here as each frame ends, so that all frames add up and nothing is printed or read
back from a file (pstats files are marshalled: never safe to load from elsewhere).
"""

from __future__ import annotations

import sys
import time
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

_MOST_FUNCTIONS = 500  # in run.json; the rest is added up in one row

_Key = Tuple[str, str, int]  # function, file, first line


class TracingTimes:
    """Time and number of Dynamo's visits of each function of this process, from `start` on."""

    def __init__(self) -> None:
        self._rows: Dict[_Key, List[int]] = {}  # visits, own ns, ns
        self._n_read: Any = weakref.WeakKeyDictionary()  # of the records of each frame
        self._is_readable = True

    def start(self) -> None:
        """Switch torch's timing on; nothing where this torch has none, or Dynamo is not loaded.

        Nothing is imported: that is part of the first call's time, with us as without. What the
        user's code has set stays: its table and its file are written as without us.
        """
        config: Any = sys.modules.get("torch._dynamo.config")
        timing: Any = sys.modules.get("torch._dynamo.dynamo_profiler")
        graph = getattr(sys.modules.get("torch._dynamo.output_graph"), "OutputGraph", None)
        if timing is None or graph is None or not hasattr(config, "dynamo_profiler"):
            return
        users = config.dynamo_profiler
        dump: Callable[..., Any] = timing.DynamoProfilerState.dump_stats

        def keep(frame: Any, *args: Any, **kwargs: Any) -> None:
            self._take(frame)
            if users:
                dump(frame, *args, **kwargs)

        timing.DynamoProfilerState.dump_stats = keep
        graph.mark_bytecode_tracing_stop = _ended(
            graph.mark_bytecode_tracing_stop, timing.FunctionTraceTiming
        )
        if not users:
            config.dynamo_profiler = True

    def rows(self) -> Optional[List[Dict[str, Any]]]:
        """The keys of `model.run.TracedFunction`, longest first; None: nothing was timed."""
        if not self._rows or not self._is_readable:
            return None
        ordered = sorted(self._rows.items(), key=lambda item: -item[1][2])
        rows = [_row(key, values) for key, values in ordered[:_MOST_FUNCTIONS]]
        left_out = [values for _, values in ordered[_MOST_FUNCTIONS:]]
        if left_out:
            n, own_ns = (sum(values[position] for values in left_out) for position in (0, 1))
            rows.append(_row(("", "", 0), [n, own_ns, own_ns]))
        return rows

    def _take(self, frame: Any) -> None:
        """Add the records of a frame; it ends twice where it was compiled."""
        try:
            timings = frame.timings
            for timing in timings[self._n_read.get(frame, 0) :]:
                key = (timing.func_name, timing.filename, timing.firstlineno)
                values = self._rows.setdefault(key, [0, 0, 0])
                values[0] += 1
                values[1] += timing.tottime_ns
                if timing.is_primitive_call:  # else an outer visit holds the time
                    values[2] += timing.cumtime_ns
            self._n_read[frame] = len(timings)
        except (AttributeError, TypeError):  # a later torch that keeps them otherwise
            self._is_readable = False


def _ended(stop: Callable[[Any], None], record: Any) -> Callable[[Any], None]:
    """Torch's end of a frame, without the error of 2.15 where Dynamo gives an attempt up.

    At a graph break it clears the frame (`root_tx`) first, and then asks it for its bytecode.
    """

    def stopped(graph: Any) -> None:
        state = graph.profiler_state
        outermost = state.pop() if state is not None and graph.root_tx is None else None
        if outermost is not None:
            total_ns = time.time_ns() - outermost.start_time_ns
            state.record_timing(
                record(
                    func_name=outermost.func_name,
                    filename=outermost.filename,
                    firstlineno=outermost.firstlineno,
                    cumtime_ns=total_ns,
                    tottime_ns=total_ns - outermost.child_time_ns,
                    bytecode_count=0,
                    inline_depth=0,
                    is_primitive_call=outermost.is_primitive_call,
                )
            )
        stop(graph)

    return stopped


def _row(key: _Key, values: List[int]) -> Dict[str, Any]:
    function, file, line = key
    n, own_ns, total_ns = values
    return {
        "function": function,
        "file": file,
        "line": line,
        "n": n,
        "own_ns": own_ns,
        "total_ns": total_ns,
    }

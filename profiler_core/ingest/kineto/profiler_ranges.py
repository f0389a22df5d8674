"""Hardware counters of CUPTI's range profiler in a Kineto trace (`cuda_profiler_range` events).

torch.profiler records them where it is asked for metrics
(`experimental_config=_ExperimentalConfig(profiler_metrics=[…], profiler_measure_per_kernel=True)`).
They are rare, and each kernel may carry any number of counters, so they are no column of every
trace: the file is read once more where its columns say that it has some.
"""

from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from profiler_core.errors import BadInput
from profiler_core.ingest.limits import configured
from profiler_core.ingest.stream import Stream
from profiler_core.model.trace import Trace
from profiler_core.typed import ready

CATEGORY = "cuda_profiler_range"
# The whole file is in memory at once; kernels run one at a time under this profiler, so that
# real ones are far smaller.
_MOST_BYTES = 1 << 30


class _Event(msgspec.Struct):
    cat: Any = None
    ts: Any = 0
    args: msgspec.Raw = msgspec.Raw(b"{}")


class _File(msgspec.Struct):
    traceEvents: list[_Event] = []  # noqa: N815 - the key in the file


def has_ranges(trace: Trace) -> bool:
    """Are there counters of kernels in it?"""
    return bool((trace.other["cat"].cast(pl.String) == CATEGORY).any())


def read_ranges(path: Path, trace: Trace) -> pl.DataFrame:
    """The ranges of a trace in the order of time, one for each kernel.

    Returns:
        ts_ns, dur_ns, name, and a Float64 column for each counter, by its name.

    Raises:
        BadInput: the file is too large, or changed since its columns were written.
    """
    stream, data = Stream(path, configured()), bytearray()
    for block in stream:
        data += block
        if len(data) > _MOST_BYTES:
            raise BadInput(
                f"{path.name} unpacks to more than {_MOST_BYTES >> 30} GiB, too much to read its "
                "counters.",
                remedy="Record fewer steps with profiler_metrics.",
            )
    try:
        read = msgspec.json.decode(bytes(data), type=ready(_File | list[_Event]))
        events = read.traceEvents if isinstance(read, _File) else read
        range_events = sorted(
            (event for event in events if event.cat == CATEGORY), key=lambda event: float(event.ts)
        )
        counters = [msgspec.json.decode(event.args, type=dict[str, Any]) for event in range_events]
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise BadInput(
            f"The counters of {path.name} cannot be read: {str(error)[:200]}.",
            remedy="Record the trace again: it is damaged.",
        ) from error
    ranges = trace.other.filter(pl.col("cat").cast(pl.String) == CATEGORY)
    if ranges.height != len(counters):
        raise BadInput(f"{path.name} changed while it was read.", remedy="Open it again.")
    names = dict.fromkeys(
        key for values in counters for key, value in values.items() if _is_number(value)
    )
    return ranges.select(
        "ts_ns", "dur_ns", pl.col("name").cast(pl.String),
        *(
            pl.Series(name, [_number(values.get(name)) for values in counters], dtype=pl.Float64)
            for name in names
        ),
    )  # fmt: skip


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    return float(value) if _is_number(value) else None

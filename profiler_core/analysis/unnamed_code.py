"""Compiled code of the CPU whose kernels have no names in the trace, and so are in no number.

Inductor's C++ kernels leave events only where `cpp.enable_kernel_profile` is set, which is off by
default. Without it a call of a compiled graph holds the library's operators and a gap for the rest.
"""

from collections.abc import Sequence

import polars as pl

from profiler_core.analysis.compilation.compiled_calls import CALL
from profiler_core.analysis.wording.sentence import listed
from profiler_core.analysis.work import device_work
from profiler_core.model.trace import Trace

# Of the time of the calls of compiled graphs: what the wrapper and the allocations between
# operators take stays below it, unless a model is so small that nothing of it is worth a kernel.
_LEAST = 0.25
_LEAST_NS = 100_000  # per call
_GENERATED = r"^(?:graph_\d+_)?(?:cpp_|triton_)"

REMEDY = "Record it with TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1."
UNNAMED_CODE = (
    "The C++ kernels that Inductor made have no names in the trace: they are in no number here, "
    f"and their time looks idle. {REMEDY}"
)


def has_unnamed_code(trace: Trace) -> bool:
    """Does a quarter or more of the compiled graphs' time lie in no operator, on a CPU?"""
    if trace.has_device_events:
        return False
    calls = _calls(trace)
    if calls.is_empty() or names_generated_code(trace):
        return False
    whole_ns = int((calls["end_ns"] - calls["from_ns"]).sum())
    # The last call that began before an operator: a table of all pairs has no end.
    inside = (
        device_work(trace)
        .select("ts_ns", "dur_ns", "stream")
        .sort("ts_ns")
        .join_asof(calls, left_on="ts_ns", right_on="from_ns", by="stream", check_sortedness=False)
        .filter(pl.col("ts_ns") <= pl.col("end_ns"))
    )
    unnamed_ns = whole_ns - int(inside["dur_ns"].sum())
    return unnamed_ns >= max(_LEAST * whole_ns, _LEAST_NS * calls.height)


def names_generated_code(trace: Trace) -> bool:
    """Do operators of a CPU's trace include kernels that Inductor made?"""
    return trace.ops["name"].unique().cast(pl.String).str.contains(_GENERATED).any()


def _calls(trace: Trace) -> pl.DataFrame:
    """Calls of compiled graphs in order of time: from_ns, end_ns, and the stream of its thread."""
    is_call = pl.col("name").cast(pl.String).str.starts_with(CALL)
    tables = [
        table.filter(is_call).select(
            from_ns="ts_ns", end_ns=pl.col("ts_ns") + pl.col("dur_ns"), stream="tid"
        )
        for table in (trace.annotations, trace.ops)
    ]
    return pl.concat(tables).unique().sort("from_ns")


def unnamed_code_clause(labels: Sequence[str]) -> str:
    """Why runs with these labels are not compared, and what to do."""
    traces = f"trace{'' if len(labels) == 1 else 's'} of {listed(labels)}"
    return (
        f"the C++ kernels that Inductor made have no names in the {traces}, where their time looks "
        f"idle. {REMEDY}"
    )

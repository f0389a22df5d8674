"""Is a run that is called eager compiled after all, by the script itself? And the other way round?

A capture looks at the process and writes what it sees into run.json. An upload shows it in its
trace, and a recording without a trace in its logs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from profiler_core.analysis.compilation.compiled_calls import call_spans, region_spans
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.steps import span_of
from profiler_core.analysis.work import host_steps
from profiler_core.model.compilation import CompileLog
from profiler_core.model.run import RunRecord
from profiler_core.model.trace import Trace

_OF_COMPILED = r"CompiledFxGraph|Torch-Compiled Region|^triton_|^graph_\d+_cpp_fused"


@dataclass(frozen=True)
class ScriptCompilation:
    """What the script compiles of a run that is called eager, by the first source that tells."""

    is_whole: bool = False  # the model, or the step, as a whole
    n_blocks: int = 0  # compiled modules of the model, the outermost ones
    blocks: tuple[str, ...] = ()  # the names of the first of them
    n_frames: int | None = None  # that Dynamo compiled in the process; None: not counted
    n_regions: float | None = None  # compiled regions `span` of its trace; None: see above
    span: Span = PER_STEP
    n_compilations: int | None = None  # in its logs; None: see above


def is_called_eager(name: str, record: RunRecord | None) -> bool:
    """Whether a name that somebody gave says eager: of its file or folder, or in its record."""
    of_record = "" if record is None else f"{record.name} {record.variant}"
    return "eager" in f"{name} {of_record}".lower()


def of_record(record: RunRecord) -> ScriptCompilation | None:
    """What run.json says; None: nothing was compiled, or nobody looked."""
    measured = record.measurement
    if measured is None or measured.compiled_by_script is None:
        return None
    compiled = measured.compiled_by_script
    return ScriptCompilation(
        is_whole=compiled.is_whole,
        n_blocks=compiled.n_modules,
        blocks=compiled.modules,
        n_frames=compiled.n_frames,
    )


def script_compilation(
    record: RunRecord,
    file_name: str,
    read_trace: Callable[[], Trace | None],
    read_log: Callable[[], CompileLog | None],
) -> ScriptCompilation | None:
    """What the script compiles of a run that is called eager.

    Args:
        record: of the run.
        file_name: of its file or folder, which is all that an upload may be called.
        read_trace: asked only for a run that is called eager and whose record does not tell.
        read_log: asked only where there is no trace either.

    Returns:
        None: it is not called eager, or all of it is.
    """
    recorded = of_record(record)
    if recorded is not None or not _should_be_eager(record, file_name):
        return recorded
    trace = read_trace()
    if trace is not None:
        n_regions = regions_per_step(trace)
        return ScriptCompilation(n_regions=n_regions, span=span_of(trace)) if n_regions else None
    log = read_log()
    if log is None or not log.n_compilations:
        return None
    return ScriptCompilation(n_compilations=log.n_compilations)


def compiled_nothing(
    record: RunRecord,
    read_trace: Callable[[], Trace | None],
    read_log: Callable[[], CompileLog | None],
) -> bool:
    """Whether neither logs nor trace of a run that a capture was to compile show that it was.

    Its step then runs as the eager one does.

    Args:
        record: of the run.
        read_trace: asked only where the logs hold no compilation.
        read_log: asked only for a run that was to be compiled.

    Returns:
        False also where a log, a trace or its steps are missing: then nobody can tell.
    """
    if record.status != "finished" or record.spec.get("compile") is not True:
        return False
    log = read_log()
    if log is None or log.n_compilations:
        return False
    trace = read_trace()
    return trace is not None and bool(host_steps(trace).height) and not regions_per_step(trace)


def shows_compiled(trace: Trace) -> bool:
    """Has a trace torch.compile's regions, calls of its graphs, or generated kernels?"""
    return any(
        table["name"].cast(pl.String).unique().str.contains(_OF_COMPILED).any()
        for table in (trace.annotations, trace.device, trace.ops)
    )


def _should_be_eager(record: RunRecord, file_name: str) -> bool:
    """A capture says whether it compiled; what others call their runs is all that there is."""
    if record.role is not None and isinstance(record.spec.get("compile"), bool):
        return record.spec["compile"] is False
    return is_called_eager(file_name, record)


def regions_per_step(trace: Trace) -> float:
    """Compiled regions that no other one encloses, per step; all of a trace without steps."""
    spans = region_spans(trace)
    if not spans.height:
        spans = call_spans(trace)
    return _n_outermost(spans) / max(1, host_steps(trace).height)


def _n_outermost(spans: pl.DataFrame) -> int:
    """How many ranges begin outside of all others of their thread; they are in order of ts_ns."""
    n = 0
    for _, ranges in spans.group_by("pid", "tid", maintain_order=True):
        starts = ranges["ts_ns"].to_numpy()
        ends = np.maximum.accumulate(starts + ranges["dur_ns"].to_numpy())
        n += 1 + int(np.count_nonzero(starts[1:] >= ends[:-1]))
    return n

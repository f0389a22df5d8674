"""The numbers of one run that a gate can limit."""

from collections.abc import Mapping
from dataclasses import dataclass

from profiler_core.analysis.compilation.cost import is_compiled
from profiler_core.analysis.compilation.cudagraph_coverage import cudagraph_coverage
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.model.compilation import CompileLog
from profiler_core.model.history import HeadlineMetrics
from profiler_core.model.run import RunRecord
from profiler_core.model.trace import Trace


@dataclass(frozen=True)
class Evidence:
    """One run. A missing value is None, and `missing` says why where more is known than that."""

    values: Mapping[str, float | None]  # by the key of the quantity
    missing: Mapping[str, str]
    break_bounds: tuple[str, ...]  # what its logs cannot show of graph breaks


def evidence(
    record: RunRecord,
    numbers: HeadlineMetrics,
    summary: Summary | None,
    trace: Trace | None,
    log: CompileLog | None,
    *,
    no_energy: str | None = None,
) -> Evidence:
    """Collect what the files of one run say. A run that does not compile has no break.

    Args:
        record: run.json.
        numbers: the headline numbers of this run.
        summary: of its trace; None without one.
        trace: the same.
        log: what the compiler said; None without logs.
        no_energy: why its energy was not measured, a sentence.
    """
    compiled = is_compiled(record)
    measurement = record.measurement
    values: dict[str, float | None] = {
        "step_time": numbers.step_time_ns,
        "kernels": numbers.n_kernels,
        "launches": numbers.n_launches,
        "graph_breaks": 0.0 if compiled is False else numbers.n_graph_breaks,
        "recompiles": measurement.n_compilations_while_timed if measurement else None,
        "compile_time": _compile_ns(numbers.compile_s, compiled),
        "peak_memory": numbers.peak_reserved_bytes,
        "energy": numbers.energy_per_step_j,
        "cudagraph_coverage": _coverage(
            None if summary is not None and summary.is_cut else trace,
            log,
            step_time_ns(measurement),
        ),
    }
    no_trace = "Its trace has no GPU events."
    if summary is None or summary.is_cut:
        no_trace = "It has no trace." if summary is None else "Its trace is cut."
    return Evidence(
        values,
        {
            "step_time": "It was not timed without the profiler.",
            "kernels": no_trace,
            "launches": no_trace,
            "graph_breaks": "It has no logs of the compiler.",
            "recompiles": "Its capture did not count compilations while it was timed.",
            "compile_time": "It has neither logs of the compiler nor a timed first call.",
            "peak_memory": "Its capture did not measure it.",
            "energy": no_energy or "Its energy was not measured.",
            "cudagraph_coverage": no_trace,
        },
        tuple(b.sentence for b in log.lower_bound if b.about == "graph_breaks") if log else (),
    )


def no_energy(telemetry: RunTelemetry | None) -> str | None:
    """Why a run has no energy, a sentence; None: nothing more is known."""
    reasons = telemetry.reasons if telemetry else {}
    keys = ("energy_per_step_j", "power_w", "phase", "gpu")
    return next((reasons[key] for key in keys if key in reasons), None)


def _compile_ns(seconds: float | None, compiled: bool | None) -> float | None:
    if compiled is False:
        return 0.0
    return None if seconds is None else seconds * 1e9


def _coverage(trace: Trace | None, log: CompileLog | None, step_ns: float | None) -> float | None:
    if trace is None:
        return None
    coverage = cudagraph_coverage(trace, log.cudagraph_events if log else (), step_ns)
    return coverage.kernel_share if coverage is not None else None

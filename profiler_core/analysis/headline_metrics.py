"""The few numbers of a run that are followed over time (docs/columns.md says what each means)."""

from profiler_core.analysis.compilation.compile_time import compile_time
from profiler_core.analysis.compilation.cost import compile_cost, is_compiled
from profiler_core.analysis.per_step import per_step
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.summary import Summary
from profiler_core.model.compilation import CompileLog
from profiler_core.model.history import HeadlineMetrics
from profiler_core.model.run import RunRecord


def headline_metrics(
    record: RunRecord,
    summary: Summary | None,
    log: CompileLog | None,
    *,
    energy_per_step_j: float | None = None,
    sm_clock_mhz: float | None = None,
) -> HeadlineMetrics:
    """As far as the files allow.

    Args:
        record: run.json.
        summary: of its trace; None without one.
        log: what the compiler said; None without logs.
        energy_per_step_j: of the telemetry phase; None where it was not measured.
        sm_clock_mhz: the same.
    """
    measurement = record.measurement
    step_ns = step_time_ns(measurement)
    steps = per_step(summary) if summary is not None and not summary.is_cut else None
    compiling = log if is_compiled(record) is not False else None
    cost = compile_cost(record, compiling=compile_time(log), step_ns=step_ns)
    return HeadlineMetrics(
        step_time_ns=step_ns,
        n_kernels=steps.n_kernels if steps else None,
        n_launches=steps.n_launches if steps else None,
        n_graph_breaks=(
            len(compiling.graph_breaks) + len(compiling.frame_skips) if compiling else None
        ),
        n_recompiles=len(compiling.recompiles) if compiling else None,
        compile_s=cost.seconds if is_compiled(record) else None,
        peak_reserved_bytes=measurement.peak_reserved_bytes if measurement else None,
        peak_allocated_bytes=measurement.peak_allocated_bytes if measurement else None,
        energy_per_step_j=energy_per_step_j,
        sm_clock_mhz=sm_clock_mhz,
    )

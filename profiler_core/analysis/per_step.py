"""The numbers of a summary for one step: totals over the window divided by its steps."""

from collections.abc import Mapping
from dataclasses import dataclass

from profiler_core.analysis.summary import Summary


@dataclass(frozen=True)
class PerStep:
    """Averages over the profiled steps, so counts need not be whole; None: not available."""

    n_steps: int
    window_ns: float  # profiled step time
    busy_ns: float
    late_work_ns: float
    idle_ns: float
    compute_ns: float
    exposed_communication_ns: float
    exposed_copy_ns: float
    kernel_time_ns: float
    device_time_ns: float
    n_kernels: float
    n_memcpy: float | None
    n_memset: float | None
    n_launches: float | None
    n_graph_launches: float | None
    category_n: Mapping[str, float]
    category_time_ns: Mapping[str, float]


def per_step(summary: Summary) -> PerStep:
    """Divide by the number of steps; a trace without steps counts as one."""
    n = summary.n_steps

    def share(total: int | None) -> float | None:
        return None if total is None else total / n

    return PerStep(
        n_steps=n,
        window_ns=summary.window_ns / n,
        busy_ns=summary.busy_ns / n,
        late_work_ns=summary.late_work_ns / n,
        idle_ns=summary.idle_ns / n,
        compute_ns=summary.compute_ns / n,
        exposed_communication_ns=summary.exposed_communication_ns / n,
        exposed_copy_ns=summary.exposed_copy_ns / n,
        kernel_time_ns=summary.kernel_time_ns / n,
        device_time_ns=summary.device_time_ns / n,
        n_kernels=summary.n_kernels / n,
        n_memcpy=share(summary.n_memcpy),
        n_memset=share(summary.n_memset),
        n_launches=share(summary.n_launches),
        n_graph_launches=share(summary.n_graph_launches),
        category_n={key: total.n / n for key, total in summary.by_category.items()},
        category_time_ns={key: total.time_ns / n for key, total in summary.by_category.items()},
    )

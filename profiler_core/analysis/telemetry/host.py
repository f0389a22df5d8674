"""What the process that computed took of the CPU: what shows that a run is bound by its host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from profiler_core.analysis.telemetry.phases import Phase
from profiler_core.model.telemetry import HostSample

MIN_HOST_S = 1.0  # the kernel counts in ticks of 10 ms, so a second is good to 1 %


@dataclass(frozen=True)
class HostUse:
    """Shares are in per cent of one core, so that 100 is one core always at work.

    cpu_pct: the process with all that it started. busiest_thread_pct: of the thread that ran most,
    from sample to sample. others_cpu_pct: everything else on this host. A None has its sentence in
    `reasons`.
    """

    cpu_pct: float | None
    busiest_thread_pct: float | None
    others_cpu_pct: float | None
    rss_bytes: int | None  # the most
    n_threads: int | None  # the most
    n_processes: int | None  # the most
    n_cpus: int | None
    n_samples: int
    reasons: Mapping[str, str] = field(default_factory=dict)


def host_use(samples: Sequence[HostSample], phase: Phase | None) -> HostUse | None:
    """Over one phase; None without samples."""
    if not samples:
        return None
    inside = [s for s in samples if phase is not None and phase.holds(s.t_ns)]
    n_cpus = next((s.n_cpus for s in samples if s.n_cpus is not None), None)
    reasons = {}
    cpu = busiest = others = None
    length_ns = inside[-1].t_ns - inside[0].t_ns if len(inside) > 1 else 0
    if length_ns >= MIN_HOST_S * 1e9:
        first, last = inside[0], inside[-1]
        cpu = (last.cpu_ns - first.cpu_ns) / length_ns * 100
        busiest = _rate([(s.t_ns, s.busiest_thread_ns) for s in inside])
        if first.host_busy_ns is not None and last.host_busy_ns is not None:
            others = max(0.0, (last.host_busy_ns - first.host_busy_ns) / length_ns * 100 - cpu)
    else:
        reason = (
            "This variant never ran alone."
            if phase is None
            else f"{length_ns / 1e9:.2f} s of samples are too short: the kernel counts in 10 ms."
        )
        reasons = dict.fromkeys(("cpu_pct", "busiest_thread_pct", "others_cpu_pct"), reason)
    considered = inside or samples
    return HostUse(
        cpu_pct=cpu,
        busiest_thread_pct=busiest,
        others_cpu_pct=others,
        rss_bytes=_most([s.rss_bytes for s in considered]),
        n_threads=_most([s.n_threads for s in considered]),
        n_processes=_most([s.n_processes for s in considered]),
        n_cpus=n_cpus,
        n_samples=len(inside),
        reasons=reasons,
    )


def _rate(counter: Sequence[tuple[int, int | None]]) -> float | None:
    """Per cent of one core; a counter that was not known yet is left out."""
    readings = [(t, ns) for t, ns in counter if ns is not None]
    if len(readings) < 2 or readings[-1][0] == readings[0][0]:
        return None
    return (readings[-1][1] - readings[0][1]) / (readings[-1][0] - readings[0][0]) * 100


def _most(values: Sequence[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)

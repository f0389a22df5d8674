"""Findings about the host: synchronisations, copies, threads."""

import polars as pl

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.what_if.change import Change
from profiler_core.model.trace import MEMCPY
from profiler_core.units import format_bytes, format_duration

_SMALL_BYTES = 64_000
_WAITS = r"^(?:cuda|hip|cu)(?:Device|Stream|Event|Ctx)Synchronize"


def synchronisations(facts: Facts) -> Finding | None:
    """Calls that wait for the device inside a step."""
    idle = facts.shares.get("idle_host_synchronisation", 0.0)
    if not facts.on_gpu or idle < 0.01 * facts.step_ns:
        return None
    waits = _reads_of_values(facts) or _waiting_calls(facts)
    if not waits:
        return None
    return Finding(
        key="synchronisations",
        change=Change("no_syncs"),
        title="The host stops to wait for the device.",
        evidence=f"{waits}, {format_duration(idle)} of idle device {facts.span} ({facts.clock}).",
        advice="Keep values on the device (torch.where instead of if), read them later and less "
        "often, and take torch.cuda.synchronize() out of the step.",
        page="timeline",
        prediction=facts.gain(Change("no_syncs"), idle),
    )


def _reads_of_values(facts: Facts) -> str:
    items = facts.trace.ops.filter(
        pl.col("name").cast(pl.String).is_in(["aten::item", "aten::_local_scalar_dense"])
    )
    copies = _memcpys(facts).filter(pl.col("name").str.contains("DtoH"))
    if copies.height < facts.n_steps or items.height == 0:
        return ""
    n = facts.summary.per_step(copies.height)
    reads = f"{n:.0f} read{'' if n == 1 else 's'}"
    return f"{reads} of the device by .item(), .cpu() or an `if` on a tensor"


def _waiting_calls(facts: Facts) -> str:
    """Once a step or more: the profiler itself waits once, at the end."""
    window = facts.summary.window
    calls = facts.trace.runtime.filter(
        pl.col("ts_ns").is_between(window.start_ns, window.end_ns)
    ).select(pl.col("name").cast(pl.String))["name"]
    waiting = calls.filter(calls.str.contains(_WAITS))
    if len(waiting) < max(2, facts.n_steps):
        return ""
    names = ", ".join(sorted(set(waiting.to_list())))
    return f"{facts.summary.per_step(len(waiting)):.0f} calls of {names}"


def pageable_copies(facts: Facts) -> Finding | None:
    """Copies from or to pageable memory: they cannot run beside the host's work."""
    copies = _memcpys(facts).filter(pl.col("name").str.contains("Pageable"))
    time = facts.summary.per_step(int(copies["dur_ns"].sum()))
    size = facts.summary.per_step(int(copies["bytes"].sum()))
    n = facts.summary.per_step(copies.height)
    if not facts.on_gpu or copies.height == 0 or time < 0.02 * facts.step_ns:
        return None
    change = Change("pinned_copies", tuple(copies["name"].unique(maintain_order=True)))
    return Finding(
        key="pageable_copies",
        change=change,
        title="Data goes through pageable host memory.",
        evidence=f"{n:.0f} cop{'y' if round(n) == 1 else 'ies'}, "
        f"{format_bytes(size)}, {format_duration(time)} {facts.span}: pinned copies are "
        "faster and run beside the host's work, but do not vanish.",
        advice="Use pin_memory=True in the DataLoader and .to(device, non_blocking=True).",
        page="timeline",
        prediction=facts.gain(change, time),
    )


def small_copies(facts: Facts) -> Finding | None:
    """Many little copies between host and device."""
    every = _memcpys(facts).filter(pl.col("name").str.contains("HtoD|DtoH"))
    copies = every.filter(pl.col("bytes") < _SMALL_BYTES)
    n = facts.summary.per_step(copies.height)
    time = facts.summary.per_step(int(copies["dur_ns"].sum()))
    if n < 4 or time < 0.02 * facts.step_ns:
        return None
    names = copies["name"].unique(maintain_order=True)
    named = int(every.filter(pl.col("name").is_in(names.implode()))["dur_ns"].sum())
    gone = (n - 1) / n * int(copies["dur_ns"].sum()) / named  # the last one stays
    change = Change("joined_copies", tuple(names), (0.3 * gone, gone, gone), True)
    return Finding(
        key="small_copies",
        change=change,
        title="Many small copies between host and device.",
        evidence=f"{n:.0f} copies of {format_bytes(copies['bytes'].mean())} on average, "  # type: ignore[arg-type]
        f"{format_duration(time)} {facts.span}: together they move the same bytes.",
        advice="Make these tensors on the device, or send them together.",
        page="timeline",
        prediction=facts.gain(change, time),
    )


def _memcpys(facts: Facts) -> pl.DataFrame:
    device = facts.trace.device
    window = facts.summary.window
    return device.filter(
        pl.col("cat").cast(pl.String) == MEMCPY,
        pl.col("ts_ns").is_between(window.start_ns, window.end_ns),
    ).with_columns(pl.col("name").cast(pl.String))


def host_threads(facts: Facts) -> Finding | None:
    """More threads than processors: they take turns, and launches wait."""
    environment = facts.record.environment
    threads, cores = environment.get("n_threads"), environment.get("cpu_count")
    if not isinstance(threads, int) or not isinstance(cores, int) or threads <= cores:
        return None
    late = facts.host_idle_ns if facts.on_gpu else None
    cost = (
        "They take turns inside of every operator; what that costs shows only beside a run with "
        "fewer."
        if late is None
        else f"The device waits for the host for {format_duration(late)} {facts.span} "
        f"({facts.clock})."
    )
    return Finding(
        key="host_threads",
        change=Change("fewer_threads"),
        title="More threads than processors.",
        evidence=f"{threads} threads on {cores} processor{'s' if cores > 1 else ''}. {cost}",
        advice=f"Set OMP_NUM_THREADS={cores} or less, and pin processes to processors.",
        page="overview",
        prediction=None
        if late is None
        else facts.at_most(late, "what threads take from each other shows only beside fewer"),
    )


PLACE = 150
RULES: tuple[Rule, ...] = (
    synchronisations,
    pageable_copies,
    small_copies,
    host_threads,
)

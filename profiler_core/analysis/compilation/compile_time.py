"""How long compiling took, from the logs (docs/columns.md, Cost: the outermost compilations)."""

from dataclasses import dataclass

from profiler_core.model.compilation import Compilation, CompileLog


@dataclass(frozen=True)
class CompileTime:
    """Seconds of compiling. Compilations nest (a backward inside a forward): `seconds` counts
    each instant once, so it can be less than forward_seconds + backward_seconds.
    """  # noqa: D205

    seconds: float
    forward_seconds: float
    backward_seconds: float
    runtime_seconds: float  # autotuning and graph recording at the first calls; not in seconds
    n_compilations: int


def compile_time(log: CompileLog | None) -> CompileTime | None:
    """Compile time of one run; None where no log tells it.

    With several ranks the slowest one counts: they compile at the same time.
    """
    timed = [c for c in log.compilations if c.dur_ns is not None] if log else []
    if not timed:
        return None
    ranks = {c.rank for c in timed}
    return max((_of_rank([c for c in timed if c.rank == rank]) for rank in ranks), key=_seconds)


def compilation_ns(log: CompileLog, compile_id: str | None, rank: int | None) -> int | None:
    """What one compilation took: its frame, and its backward where that came later."""
    compilations = [
        c
        for c in log.compilations
        if c.compile_id == compile_id and c.rank == rank and c.direction != "runtime"
    ]
    if not any(c.dur_ns is not None for c in compilations):
        return None
    return _union_ns(compilations)


def _of_rank(timed: list[Compilation]) -> CompileTime:
    def total(direction: str) -> float:
        return sum(c.dur_ns or 0 for c in timed if c.direction == direction) / 1e9

    compiling = [c for c in timed if c.direction != "runtime"]
    return CompileTime(
        seconds=_union_ns(compiling) / 1e9,
        forward_seconds=total("forward"),
        backward_seconds=total("backward"),
        runtime_seconds=total("runtime"),
        n_compilations=len(compiling),
    )


def _union_ns(compilations: list[Compilation]) -> int:
    """Length of the union; what has no start (2.5's backward) is added as it is."""
    spans = sorted(
        (c.start_ns, c.start_ns + c.dur_ns)
        for c in compilations
        if c.start_ns is not None and c.dur_ns is not None
    )
    total = sum(c.dur_ns or 0 for c in compilations if c.start_ns is None)
    covered_until = -1
    for start, end in spans:
        total += max(0, end - max(start, covered_until))
        covered_until = max(covered_until, end)
    return total


def _seconds(rank_time: CompileTime) -> float:
    return rank_time.seconds

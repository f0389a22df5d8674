"""How long compiling took, from the logs (docs/columns.md, Cost: the outermost compilations)."""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.model.compilation import Compilation, CompileLog

_RECORDING = "cudagraph_recording"  # torch's own total, of what runs at the first calls


@dataclass(frozen=True)
class CompileTime:
    """Seconds of compiling. Compilations nest (a backward inside a forward): `seconds` counts
    each instant once, so it can be less than forward_seconds + backward_seconds.
    """  # noqa: D205

    seconds: float
    forward_seconds: float
    backward_seconds: float
    runtime_seconds: float  # autotuning and graph recording at the first calls; not in seconds
    n_compilations: int  # that left code: not what failed or met the recompile limit
    recording_seconds: float = 0.0  # of runtime_seconds: of CUDA graphs


def compile_time(log: CompileLog | None) -> CompileTime | None:
    """Compile time of one run; None where no log tells it.

    With several ranks the slowest one counts: they compile at the same time.
    """
    timed = slowest_rank(log)
    if not timed:
        return None

    def total(direction: str) -> float:
        return sum(length_ns(c) or 0 for c in timed if c.direction == direction) / 1e9

    return CompileTime(
        seconds=sum(uncovered_ns(_compiling(timed))) / 1e9,
        forward_seconds=total("forward"),
        backward_seconds=total("backward"),
        runtime_seconds=total("runtime"),
        n_compilations=sum(c.has_code for c in timed),
        recording_seconds=sum(c.phase_ns.get(_RECORDING, 0) for c in timed) / 1e9,
    )


def slowest_rank(log: CompileLog | None) -> list[Compilation]:
    """What was compiled, and autotuned at the first calls, on the rank that compiled longest.

    Without what no log has times of; [] where it has none at all.
    """
    ranks: dict[int | None, list[Compilation]] = {}
    by_phases = set()
    for compilation in log.compilations if log else ():
        if compilation.dur_ns is None:  # each piece of one backward has the phases of all pieces
            whole = (compilation.compile_id, compilation.direction, compilation.rank)
            if length_ns(compilation) is None or whole in by_phases:
                continue
            by_phases.add(whole)
        ranks.setdefault(compilation.rank, []).append(compilation)
    return max(ranks.values(), key=lambda timed: sum(uncovered_ns(_compiling(timed))), default=[])


def length_ns(compilation: Compilation) -> int | None:
    """How long it took; by its outermost phases where the log has no more (2.5's backward)."""
    if compilation.dur_ns is not None:
        return compilation.dur_ns
    return sum(p.dur_ns for p in compilation.phases if len(p.path) == 1) or None


def uncovered_ns(compilations: Sequence[Compilation]) -> list[int]:
    """Of each, in the order given, what none that began before it covers: they sum to the union.

    What has no start is not known to be covered.
    """
    uncovered = [length_ns(c) or 0 for c in compilations]
    starts = ((c.start_ns, n) for n, c in enumerate(compilations) if c.start_ns is not None)
    covered_until = -1
    for start, n in sorted(starts, key=lambda each: (each[0], -uncovered[each[1]])):
        end = start + uncovered[n]
        uncovered[n] = max(0, end - max(start, covered_until))
        covered_until = max(covered_until, end)
    return uncovered


def compilation_ns(log: CompileLog, compile_id: str | None, rank: int | None) -> int | None:
    """What one compilation took: its frame, and its backward where that came later."""
    compilations = [
        c
        for c in log.compilations
        if c.compile_id == compile_id and c.rank == rank and c.direction != "runtime"
    ]
    if all(length_ns(c) is None for c in compilations):
        return None
    return sum(uncovered_ns(compilations))


def _compiling(timed: Sequence[Compilation]) -> list[Compilation]:
    return [c for c in timed if c.is_compiling]

"""The pairs that pass a large intermediate through memory, by what that costs a step."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from profiler_core.analysis.call_lines import lines_of_calls
from profiler_core.analysis.device_peaks import DevicePeaks
from profiler_core.analysis.ledger.sides import LedgerSide, ReadSide, read_side
from profiler_core.analysis.unfused.graph_breaks import passed_between_graphs
from profiler_core.analysis.unfused.handovers import Handover, between, handovers, moved_bytes
from profiler_core.analysis.unfused.reasons import ACROSS_GRAPHS, Reason, call_title, reason_in_code
from profiler_core.analysis.unfused.refusals import reason_in_log, refused
from profiler_core.digits import is_natural
from profiler_core.model.compilation import CompileLog, FusionDecision
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, InductorLog

_LEAST_NS = 200.0  # a step: below it nobody asks why


@dataclass(frozen=True)
class Unfused:
    """Equal pairs of one run: the same two kernels, or calls, in the layers of a model.

    All per step of the run. `at_stake_ns` is an upper bound: what the memory needs for the bytes
    that would not go through it, at the pace of each kernel where the intermediate is larger than
    the cache, else at the data sheet's bandwidth, and no more than either call takes.
    """

    graph: str  # "0/0 forward"
    writer: str
    reader: str
    n: float  # pairs per step
    saved_bytes: float  # reads, and writes of what nobody else reads
    at_stake_ns: float
    writer_ns: float
    reader_ns: float
    fits_in_cache: bool | None  # each intermediate; None: the device's cache is not known
    reason: Reason
    in_log: bool  # the reason is Inductor's own
    source: str = ""  # a line of Python of the second call, "model.py:12"

    @property
    def writer_is_generated(self) -> bool:
        """Is the call that writes a Triton kernel, which the trace has by this name?"""
        return self.writer.startswith("triton_")

    @property
    def titles(self) -> tuple[str, str]:
        """Both calls by the names that people know them by."""
        return call_title(self.writer), call_title(self.reader)


def unfused(
    side: LedgerSide, log: CompileLog | None, peaks: DevicePeaks | None
) -> tuple[Unfused, ...]:
    """What a compiled run passes through memory between two calls, the most expensive first.

    Args:
        side: its trace and generated code.
        log: what its compiler said, with refusals where fusion was logged.
        peaks: of its device; without them nothing can be said of the time: ().

    Returns:
        Without the generated code of the graphs that ran, ().
    """
    if side.log is None or peaks is None:
        return ()
    read = read_side(side)
    times = _times(read)
    graphs = {id(graph): graph for graph in side.log.graphs}
    decisions = log.fusion_decisions if log is not None else ()
    pairs: list[Unfused] = []
    for key, (n_runs, by_call) in times.items():
        if key in graphs and n_runs:
            refusals = _refusals(graphs[key], side.log, decisions)
            pairs += _of_graph(graphs[key], n_runs, by_call, refusals, peaks)
    pairs += _across_graphs(read, graphs, times, peaks)
    merged = [pair for pair in _merged(pairs) if pair.at_stake_ns >= _LEAST_NS]
    return tuple(sorted(merged, key=lambda pair: -pair.at_stake_ns))


def _across_graphs(
    read: ReadSide,
    graphs: Mapping[int, CompiledGraph],
    times: Mapping[int, tuple[float, Mapping[int, float]]],
    peaks: DevicePeaks,
) -> Iterator[Unfused]:
    """What a graph leaves for the one that runs next, with a graph break between them."""
    for (first, second, writer, reader, size), n in passed_between_graphs(read).items():
        n_runs = n / max(1, read.n_steps)
        both = graphs[first], graphs[second]
        writer_ns, reader_ns = times[first][1].get(writer, 0.0), times[second][1].get(reader, 0.0)
        handover = Handover(writer, reader, (), bytes_read=size, own_bytes=size, made_bytes=size)
        yield Unfused(
            graph=" → ".join(f"{graph.compile_id} {graph.direction}".strip() for graph in both),
            writer=both[0].calls[writer].name,
            reader=both[1].calls[reader].name,
            n=n_runs,
            saved_bytes=handover.saved_bytes * n_runs,
            at_stake_ns=_stake_ns(
                handover,
                n_runs,
                _Cost(writer_ns, moved_bytes(both[0]).get(writer, 0)),
                _Cost(reader_ns, moved_bytes(both[1]).get(reader, 0)),
                peaks,
            ),
            writer_ns=writer_ns,
            reader_ns=reader_ns,
            fits_in_cache=None if peaks.l2_bytes is None else size <= peaks.l2_bytes,
            reason=ACROSS_GRAPHS,
            in_log=False,
            source=lines_of_calls(both[1]).get(reader, ""),
        )


def _times(read: ReadSide) -> dict[int, tuple[float, dict[int, float]]]:
    """`id(graph)` -> (runs per step, call -> ns per step)."""
    runs: Counter[int] = Counter()
    totals: dict[int, Counter[int]] = {}
    for step, executions in zip(read.steps, read.executions, strict=True):
        for execution in executions:
            if execution.graph is None:
                continue
            key = id(execution.graph)
            runs[key] += step.form.steps.size
            of_graph = totals.setdefault(key, Counter())
            for call, units in execution.units_of_call.items():
                events = [event for number in units for event in step.units[number].events]
                if events:
                    of_graph[call] += int(read.durations[step.form.like(events)].sum())
    n = max(1, read.n_steps)
    return {
        key: (runs[key] / n, {call: total / n for call, total in of_graph.items()})
        for key, of_graph in totals.items()
    }


def _refusals(
    graph: CompiledGraph, log: InductorLog, decisions: Sequence[FusionDecision]
) -> Mapping[tuple[int, int], FusionDecision]:
    alike = sum(other.compile_id == graph.compile_id for other in log.graphs)
    return refused(decisions, graph.compile_id) if decisions and alike == 1 else {}


def _of_graph(
    graph: CompiledGraph,
    n_runs: float,
    by_call: Mapping[int, float],
    refusals: Mapping[tuple[int, int], FusionDecision],
    peaks: DevicePeaks,
) -> list[Unfused]:
    passed, moved = handovers(graph), moved_bytes(graph)
    middles = between(graph)
    written: dict[int, set[int]] = {}
    for handover in passed:
        written.setdefault(handover.writer, set()).update(_numbers(handover.buffers))
    lines = lines_of_calls(graph)
    pairs = []
    for handover in passed:
        writer, reader = graph.calls[handover.writer], graph.calls[handover.reader]
        middle = middles.get((handover.writer, handover.reader))
        writer_ns, reader_ns = by_call.get(writer.index, 0.0), by_call.get(reader.index, 0.0)
        stake_ns = _stake_ns(
            handover,
            n_runs,
            _Cost(writer_ns, moved.get(writer.index, 0)),
            _Cost(reader_ns, moved.get(reader.index, 0)),
            peaks,
        )
        if not stake_ns:
            continue
        refusal = reason_in_log(
            refusals, _numbers(handover.buffers), sorted(_made(reader, written))
        )
        shown = reason_in_code(
            graph,
            writer,
            reader,
            None if middle is None else graph.calls[middle],
            handover.buffers,
        )
        # "No shared data" is what Inductor says of ranges that do not fit, too: the code says more.
        in_log = refusal is not None and (refusal.key != "no_shared_data" or shown.key == "unknown")
        if refusal is not None and in_log:
            shown = refusal
        pairs.append(
            Unfused(
                graph=f"{graph.compile_id} {graph.direction}".strip(),
                writer=writer.name,
                reader=reader.name,
                n=n_runs,
                saved_bytes=handover.saved_bytes * n_runs,
                at_stake_ns=stake_ns,
                writer_ns=writer_ns,
                reader_ns=reader_ns,
                fits_in_cache=None
                if peaks.l2_bytes is None
                else handover.made_bytes <= peaks.l2_bytes,
                reason=shown,
                in_log=in_log,
                source=lines.get(reader.index, ""),
            )
        )
    return pairs


@dataclass(frozen=True, slots=True)
class _Cost:
    """What a call takes per step, and what it moves in one execution; 0 bytes: not known."""

    time_ns: float
    moved_bytes: int

    def share_ns(self, saved_bytes: int, at_peak_ns: float, is_in_memory: bool) -> float:
        """What some of its bytes may cost it: no call becomes shorter than nothing.

        A kernel seldom reaches the data sheet's bandwidth, so its own pace makes the bytes dearer.
        """
        at_pace_ns = 0.0
        if is_in_memory and self.moved_bytes:
            at_pace_ns = self.time_ns * saved_bytes / self.moved_bytes
        return min(max(at_peak_ns, at_pace_ns), self.time_ns)


def _stake_ns(
    handover: Handover, n_runs: float, writer: _Cost, reader: _Cost, peaks: DevicePeaks
) -> float:
    each = 1e9 * n_runs / peaks.memory_bytes_per_s
    in_memory = peaks.l2_bytes is not None and handover.made_bytes > peaks.l2_bytes
    return sum(
        call.share_ns(size, size * each, in_memory)
        for call, size in ((writer, handover.own_bytes), (reader, handover.bytes_read))
    )


def _numbers(buffers: Sequence[str]) -> list[int]:
    return [int(name[3:]) for name in buffers if name.startswith("buf") and is_natural(name[3:])]


def _made(call: GeneratedCall, written: Mapping[int, set[int]]) -> set[int]:
    """Numbers of what a call writes: it is handed them, or a later call reads them."""
    return {*_numbers(call.arguments), *_numbers((call.result,)), *written.get(call.index, ())}


def _merged(pairs: Sequence[Unfused]) -> list[Unfused]:
    """The layers of a model have the same two kernels: one line for all of them."""
    by_likeness: dict[object, Unfused] = {}
    for pair in pairs:
        key = (pair.graph, pair.writer, pair.reader, pair.reason, pair.fits_in_cache)
        before = by_likeness.get(key)
        if before is None:
            by_likeness[key] = pair
            continue
        by_likeness[key] = replace(
            before,
            n=before.n + pair.n,
            saved_bytes=before.saved_bytes + pair.saved_bytes,
            at_stake_ns=before.at_stake_ns + pair.at_stake_ns,
            writer_ns=before.writer_ns + pair.writer_ns,
            reader_ns=before.reader_ns + pair.reader_ns,
        )
    return list(by_likeness.values())

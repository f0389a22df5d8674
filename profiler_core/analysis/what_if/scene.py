"""A trace laid out for the replay: the work of host and device in a step, and what a lever takes.

Host and device are two queues (`compilation/two_queues.py`). Numbers come in threes: for the least
that a change may save, for what is expected, and for the most.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.compilation.cold_calls import cold_start_ns
from profiler_core.analysis.compilation.compiled_calls import (
    CompiledCall,
    compiled_calls,
    lookup_spans,
)
from profiler_core.analysis.compilation.crossings import Crossing, crossings
from profiler_core.analysis.compilation.edge_steps import with_inner_edges
from profiler_core.analysis.compilation.event_cost import (
    DEVICE_BOUND,
    event_ns_that_leaves,
    profiler_event_ns,
)
from profiler_core.analysis.compilation.host_speed import as_fast_as, host_speed
from profiler_core.analysis.compilation.two_queues import (
    Floats,
    Queues,
    queues,
    steady_step_ns,
    unprofiled,
)
from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.step_sample import Ints, StepSample, sample_steps
from profiler_core.analysis.steps import window_of
from profiler_core.analysis.work import device_work, outermost_operators
from profiler_core.model.trace import Trace

# What the host's work takes without the profiler, as a part of what was recorded, where the device
# hides the host so that the step does not tell: 0.34 to 0.65 on the H200s of docs/what_if.md.
UNPROFILED = (0.75, 0.55, 0.35)
# Operators whose result is a value or a shape on the host: what waits inside has to wait.
_CONDITIONS = ("aten::is_nonzero",)  # a tensor in `if`, `while`, `and`
_READS = (
    "aten::_local_scalar_dense",
    "aten::nonzero",
    "aten::masked_select",
    "aten::_unique2",
    "aten::unique_consecutive",
    "aten::unique_dim",
    "aten::repeat_interleave",
    "aten::bincount",
)
Three = tuple[float, float, float]


@dataclass(frozen=True)
class Load:
    """The work of both sides, for each item of the queues; of the host without the profiler."""

    host_ns: Floats
    device_ns: Floats
    waits: npt.NDArray[np.bool_]


class Scene:
    """The steps of a trace as they ran.

    Args:
        trace: with steps.
        two: the same, laid out.
        sample: the steps that are laid out.
        unprofiled_step_ns: None: the profiled clock.
    """

    def __init__(
        self, trace: Trace, two: Queues, sample: StepSample, unprofiled_step_ns: float | None
    ) -> None:
        self.trace = trace
        self.sample = sample
        self.is_timed = unprofiled_step_ns is not None
        # Below 1 where the host as a whole was slower in the profiled steps.
        self.speed = 1.0 if unprofiled_step_ns is None else host_speed(two, unprofiled_step_ns)
        self.two = as_fast_as(two, self.speed)
        self.step_ns = (
            _profiled_step_ns(trace) if unprofiled_step_ns is None else unprofiled_step_ns
        )

    @cached_property
    def event_ns(self) -> float | None:
        """What the profiler costs the host for one event; None: the device hides the host."""
        if not self.is_timed:
            return 0.0
        if self.two.device_per_step_ns >= DEVICE_BOUND * self.step_ns:
            return None
        return profiler_event_ns(self.two, self.step_ns)

    @cached_property
    def events_ns(self) -> Three:
        """The same in threes. A host that the device hides is no slower than the step."""
        if self.event_ns is not None:
            return (self.event_ns, self.event_ns, self.event_ns)
        work_ns = float(self.two.host_ns.sum())
        room_ns = self.two.n_steps * max(self.step_ns, self.two.device_per_step_ns)
        slow, usual, fast = (
            event_ns_that_leaves(self.two, min(room_ns, part * work_ns)) for part in UNPROFILED
        )
        return slow, usual, fast

    def load(self, case: int) -> Load:
        """What there is to do as it ran, with the profiler's own work taken out."""
        two = self.two
        host = unprofiled(two.host_ns, two.host_events, self.events_ns[case])
        return Load(host, two.device_ns, two.waits)

    def call_ns(self, case: int) -> Floats:
        """Of each item, the host's time in the call itself that launches it; 0 for a wait."""
        durations = self.trace.runtime["dur_ns"].to_numpy().astype(np.float64) * self.speed
        rows = self.two.launch_row
        calls: Floats = np.zeros(rows.size)
        calls[rows >= 0] = durations[rows[rows >= 0]]
        return unprofiled(calls, np.ones(rows.size), self.events_ns[case])

    def step_of(self, load: Load) -> float:
        """Of a step in the steady state, on the clock of the replay."""
        return steady_step_ns(self.two, load.host_ns, load.device_ns, load.waits)

    @cached_property
    def calls(self) -> list[CompiledCall]:
        """Calls of compiled graphs, in order of time."""
        return compiled_calls(self.trace, self.sample)

    @cached_property
    def crossings(self) -> list[Crossing]:
        """Where the breaks are."""
        return crossings(self.calls)

    @cached_property
    def without_breaks(self) -> Queues:
        """The queues, with all of the host's work between compiled calls as removable."""
        return self._cut([(c.start_ns, c.entry_end_ns) for c in self.crossings], self._cold)

    @cached_property
    def with_operators(self) -> tuple[Queues, Queues]:
        """The same, but for operators between the calls: compiled, they are launched all the same.

        Returns:
            The breaks at which nothing is read, and those at which a value or a shape is.
        """
        reads = self.two.begins[self.forced]
        at_reads = [
            bool(np.diff(np.searchsorted(reads, (crossing.start_ns, crossing.entry_end_ns)))[0])
            for crossing in self.crossings
        ]
        plain = [c for c, reading in zip(self.crossings, at_reads, strict=True) if not reading]
        reading = [c for c, reading in zip(self.crossings, at_reads, strict=True) if reading]
        return self._but_operators(plain, self._cold), self._but_operators(reading, [])

    def _but_operators(self, chosen: list[Crossing], slower: list[tuple[int, int]]) -> Queues:
        spans = self._operators
        pieces: list[tuple[int, int]] = []
        for crossing in chosen:
            at = crossing.start_ns
            first = int(np.searchsorted(spans[:, 1], at, side="right"))
            for begins, ends in spans[first:].tolist():
                if begins >= crossing.entry_end_ns:
                    break
                if begins > at:
                    pieces.append((at, begins))
                at = max(at, ends)
            if at < crossing.entry_end_ns:
                pieces.append((at, crossing.entry_end_ns))
        return self._cut(pieces, slower)

    @cached_property
    def _cold(self) -> list[tuple[int, int]]:
        cold = round(cold_start_ns(self.trace, [c.call for c in self.crossings], self.sample))
        return [(c.entry_end_ns, min(c.entry_end_ns + cold, c.call.end_ns)) for c in self.crossings]

    @cached_property
    def _operators(self) -> Ints:
        """(begins, the latest end so far) of outermost operators, in order of time."""
        return _spans(outermost_operators(self.trace))

    @cached_property
    def without_guards(self) -> Queues:
        """The queues, with the host's evaluation of guards as removable."""
        return self._cut(self.lookups, [])

    @cached_property
    def lookups(self) -> list[tuple[int, int]]:
        """(begins, ends) of each evaluation of guards, in order of time."""
        return lookup_spans(self.trace, self.sample)

    def without_launches(self, called: Iterable[CompiledCall]) -> Queues:
        """The queues, with the host's work inside these calls, launches included, as removable."""
        inside = sorted((call.start_ns + call.entry_ns, call.end_ns) for call in called)
        return self._cut(inside, [], launches_go=True)

    def _cut(
        self,
        removable: list[tuple[int, int]],
        slower: list[tuple[int, int]],
        *,
        launches_go: bool = False,
    ) -> Queues:
        cut = queues(self.trace, removable, slower, self.sample, launches_go=launches_go)
        return self.two if cut is None else as_fast_as(with_inner_edges(cut), self.speed)

    @cached_property
    def forced(self) -> npt.NDArray[np.bool_]:
        """Items at which the host waits for a value or a shape that it needs.

        A tensor in a Python condition is none: written with `torch.where`, nothing is read.
        """
        return self.two.waits & self._inside(_READS) & ~self._inside(_CONDITIONS)

    def _inside(self, names: tuple[str, ...]) -> npt.NDArray[np.bool_]:
        """Does the host begin an item inside of an operator of these names?"""
        ranges = self._ranges_of(names)
        if not ranges.size:
            return np.zeros(self.two.waits.size, dtype=np.bool_)
        last = np.searchsorted(ranges[:, 0], self.two.begins, side="right") - 1
        inside: npt.NDArray[np.bool_] = self.two.begins < ranges[np.maximum(last, 0), 1]
        return (last >= 0) & inside

    def _ranges_of(self, names: tuple[str, ...]) -> Ints:
        """(begins, the latest end so far) of the operators of these names, in order of time."""
        ops = self.trace.ops
        rows = ops.filter(per_name(ops["name"], lambda name: name in names, pl.Boolean))
        return _spans(rows)

    @cached_property
    def by_launch(self) -> pl.DataFrame:
        """Device work that calls started: launch_row, name, dur_ns."""
        if not self.trace.has_device_events:
            return pl.DataFrame(schema={"launch_row": pl.UInt32, "name": str, "dur_ns": pl.Int64})
        work = device_work(self.trace).filter(pl.col("launch_row").is_not_null())
        return work.select("launch_row", pl.col("name").cast(pl.String), "dur_ns")

    def time_in(self, kernels: tuple[str, ...]) -> Floats:
        """Of each item, device time in kernels of these names, ns; at most all of it."""
        sums = (
            self.by_launch.filter(pl.col("name").is_in(list(kernels)))
            .group_by("launch_row")
            .agg(pl.col("dur_ns").sum())
        )
        items = pl.DataFrame({"launch_row": pl.Series(self.two.launch_row)})
        joined = items.join(
            sums.with_columns(pl.col("launch_row").cast(pl.Int64)),
            on="launch_row",
            how="left",
            maintain_order="left",
        )
        times: Floats = joined["dur_ns"].fill_null(0).to_numpy().astype(np.float64)
        return np.minimum(times, self.two.device_ns)


def _spans(rows: pl.DataFrame) -> Ints:
    ordered = rows.select("ts_ns", "dur_ns").sort("ts_ns")
    ends = (ordered["ts_ns"] + ordered["dur_ns"]).cum_max()
    return np.stack([ordered["ts_ns"].to_numpy(), ends.to_numpy()], axis=1)


def _profiled_step_ns(trace: Trace) -> float:
    """The window over its steps, as `Summary.profiled_step_ns` of the trace has it."""
    window = window_of(trace, device_work(trace))
    return window.dur_ns / window.n_steps


def scene_of(trace: Trace, unprofiled_step_ns: float | None) -> Scene | None:
    """The steps of a trace; None where it has none.

    Args:
        trace: of a run.
        unprofiled_step_ns: its step time without the profiler; None: the profiled clock.
    """
    sample = sample_steps(trace)
    two = queues(trace, [], sample=sample) if sample.n else None
    return None if two is None else Scene(trace, with_inner_edges(two), sample, unprofiled_step_ns)

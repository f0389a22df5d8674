"""Compiled regions and the calls of their graphs in a trace.

`Torch-Compiled Region: 1/0` (torch >= 2.6 names the compile id; before, there is none) encloses
`## Call CompiledFxGraph <key> ##`, one call of the generated code. Regions nest: what runs after a
graph break is inside the region before it. Both are user annotations or operators, by version.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.step_sample import StepSample, sample_steps
from profiler_core.analysis.work import is_wrapper
from profiler_core.model.trace import Trace

REGION = re.compile(r"Torch-Compiled Region(?:: (?P<id>!?\d+/\d+(?:/\d+)?))?")
CALL = "## Call CompiledFxGraph"
LOOKUP = "TorchDynamo Cache Lookup"
PREGRAPH = "Pregraph bytecode"
PROLOGUE = "AOTDispatcher Runtime Wrapper Prologue"
_REGION = "Torch-Compiled Region"
_BACKWARD = "CompiledFunctionBackward"
_RANGES = (CALL, LOOKUP, PREGRAPH, PROLOGUE, _REGION, _BACKWARD)


@dataclass(frozen=True, slots=True)
class CompiledCall:
    """One call of a compiled graph on the host."""

    start_ns: int
    end_ns: int
    entry_ns: int  # from its start to the first operator or launch inside
    thread: tuple[int, int]
    step: int | None
    compile_id: str | None  # of the innermost region around it
    outermost: int | None  # which outermost region it lies in; None: in no region
    entered: tuple[str, ...]  # compile ids of the regions entered since the call before


@dataclass(frozen=True, slots=True)
class RegionTax:
    """What one compiled region costs the host each time around its kernels, ns per step.

    From a profiled trace: relative weights, not unprofiled times. What is neither in a region nor
    in a compiled backward (servers call compiled code without Dynamo) has no id and no entries.
    """

    compile_id: str | None  # None too of a region before torch 2.6
    n: float  # entries per step
    lookup_ns: float  # guards and cache lookup
    pregraph_ns: float
    prologue_ns: float
    call_entry_ns: float  # inside the generated code, before its first operator
    # No region, but lookups in which no compiled code fitted, so that the frame ran eager.
    is_missed: bool = False
    is_backward: bool = False  # no region, but what compiled backwards do

    @property
    def total_ns(self) -> float:
        """All of it."""
        return self.lookup_ns + self.pregraph_ns + self.prologue_ns + self.call_entry_ns


@dataclass(frozen=True, slots=True)
class _Owner:
    """What compiled code runs in: a region, a compiled backward, or neither."""

    compile_id: str | None
    is_region: bool = False
    is_backward: bool = False


_OUTSIDE = _Owner(None)


@dataclass(frozen=True, slots=True)
class _Range:
    start_ns: int
    end_ns: int
    name: str
    thread: tuple[int, int]


def region_ids(trace: Trace) -> frozenset[str]:
    """Compile ids that the trace names, such as "1/0"; none before torch 2.6."""
    named = (
        table["name"].unique().cast(pl.String).str.extract(REGION.pattern, 1).drop_nulls()
        for table in (trace.ops, trace.annotations)
    )
    return frozenset(compile_id for ids in named for compile_id in ids)


def compiled_calls(trace: Trace, sample: StepSample | None = None) -> list[CompiledCall]:
    """The calls of compiled graphs in order of time, all threads.

    Args:
        trace: its operators, annotations and runtime calls are looked at.
        sample: the steps to look at; where it holds all, what lies outside of steps counts too.
    """
    sample = sample or sample_steps(trace)
    return _calls(trace, _ranges(trace, sample), sample)


def region_taxes(trace: Trace, sample: StepSample | None = None) -> tuple[RegionTax, ...]:
    """Host cost around each compiled region, most expensive first; empty without regions.

    Args:
        trace: of a compiled run.
        sample: the steps to average over.
    """
    sample = sample or sample_steps(trace)
    ranges = _ranges(trace, sample)
    calls = _calls(trace, ranges, sample)
    if sample.n:
        ranges = _within(ranges, sample)
    sums: dict[_Owner, list[float]] = {}
    for owner, name, dur_ns in _owned(ranges, calls):
        total = sums.setdefault(owner, [0.0] * 5)
        total[("region", LOOKUP, PREGRAPH, PROLOGUE, CALL).index(name)] += dur_ns
    n_steps = max(1, sample.n)
    taxes = []
    for owner, total in sums.items():
        n, lookup_ns, pregraph_ns, prologue_ns, entry_ns = (value / n_steps for value in total)
        taxes.append(
            RegionTax(
                owner.compile_id, n, lookup_ns, pregraph_ns, prologue_ns, entry_ns,
                is_backward=owner.is_backward,
            )
        )  # fmt: skip
    missed_ns = _missed_ns(ranges)
    if sums and missed_ns:
        taxes.append(RegionTax(None, 0.0, missed_ns / n_steps, 0.0, 0.0, 0.0, is_missed=True))
    return tuple(sorted(taxes, key=lambda tax: -tax.total_ns))


def entered_regions(trace: Trace, sample: StepSample) -> list[tuple[str, int]]:
    """(compile id, when it is entered, ns) of each region that has an id, as `region_taxes` counts.

    Args:
        trace: of a compiled run.
        sample: the steps to look at; without any, all of the trace.
    """
    ranges = _ranges(trace, sample)
    if sample.n:
        ranges = _within(ranges, sample)
    named = ((REGION.match(span.name), span.start_ns) for span in ranges)
    return [(region["id"], start) for region, start in named if region and region["id"]]


def call_spans(trace: Trace) -> pl.DataFrame:
    """Every call of a compiled graph as columns: ts_ns, dur_ns, pid, tid, in order of ts_ns."""
    return _named(trace, (CALL,)).drop("name")


def lookup_spans(trace: Trace, sample: StepSample) -> list[tuple[int, int]]:
    """(begins, ends) of each evaluation of guards within the steps of a sample, ns, in order."""
    lookups = _named(trace, (LOOKUP,), sample).select(
        "ts_ns", (pl.col("ts_ns") + pl.col("dur_ns")).alias("until")
    )
    steps = list(zip(sample.starts.tolist(), sample.ends.tolist(), strict=True))
    return [
        (begins, ends)
        for begins, ends in lookups.iter_rows()
        if any(start <= begins and ends <= end for start, end in steps)
    ]


def region_spans(trace: Trace) -> pl.DataFrame:
    """Every compiled region as `call_spans` has its calls; regions nest."""
    return _named(trace, (_REGION,)).drop("name")


def _named(
    trace: Trace, prefixes: tuple[str, ...], sample: StepSample | None = None
) -> pl.DataFrame:
    """Ranges whose names begin so, outer ones first: ts_ns, dur_ns, name, pid, tid."""
    frames = []
    for table in (trace.ops, trace.annotations):
        ranges = table.select("ts_ns", "dur_ns", "name", "pid", "tid")
        if sample is not None:
            ranges = ranges[sample.rows(ranges["ts_ns"].to_numpy())]
        fitting = per_name(ranges["name"], lambda name: name.startswith(prefixes), pl.Boolean)
        frames.append(ranges.filter(fitting).with_columns(pl.col("name").cast(pl.String)))
    return pl.concat(frames).sort("ts_ns", "dur_ns", descending=[False, True])


def _within(ranges: list[_Range], sample: StepSample) -> list[_Range]:
    low, high = int(sample.starts[0]), int(sample.ends.max())
    return [r for r in ranges if low <= r.start_ns < high]


def _ranges(trace: Trace, sample: StepSample) -> list[_Range]:
    together = _named(trace, _RANGES, None if sample.is_all else sample)
    return [
        _Range(ts, ts + dur, name, (pid or 0, tid or 0))
        for ts, dur, name, pid, tid in together.iter_rows()
    ]


def _calls(trace: Trace, ranges: list[_Range], sample: StepSample) -> list[CompiledCall]:
    firsts = _first_inside(trace, [r for r in ranges if r.name.startswith(CALL)])
    steps = list(zip(sample.starts.tolist(), sample.ends.tolist(), strict=True))
    calls: list[CompiledCall] = []
    for thread in dict.fromkeys(r.thread for r in ranges):
        calls += _of_thread([r for r in ranges if r.thread == thread], firsts, steps)
    return sorted(calls, key=lambda call: call.start_ns)


def _first_inside(trace: Trace, calls: list[_Range]) -> dict[tuple[int, tuple[int, int]], int]:
    """For each call, when the first operator or runtime call inside it begins."""
    if not calls:
        return {}
    inner = _inner(trace.ops)
    first_by_call: dict[tuple[int, tuple[int, int]], int] = {}
    for thread in dict.fromkeys(call.thread for call in calls):
        call_starts = np.array([c.start_ns for c in calls if c.thread == thread], dtype=np.int64)
        firsts = np.full(call_starts.size, np.iinfo(np.int64).max)
        for table, mask in ((trace.ops, inner), (trace.runtime, None)):
            starts = _starts(table, thread, mask)
            row = np.searchsorted(starts, call_starts, side="left")
            exists = row < starts.size
            firsts[exists] = np.minimum(firsts[exists], starts[row[exists]])
        for start, first in zip(call_starts.tolist(), firsts.tolist(), strict=True):
            if first != np.iinfo(np.int64).max:
                first_by_call[start, thread] = first
    return first_by_call


def _inner(operators: pl.DataFrame) -> pl.Series:
    return per_name(operators["name"], lambda name: not is_wrapper(name), pl.Boolean)


def _starts(
    table: pl.DataFrame, thread: tuple[int, int], row_mask: pl.Series | None
) -> npt.NDArray[np.int64]:
    """When the ranges of one thread begin, in order: a table is sorted by ts_ns."""
    is_thread = (pl.col("pid").fill_null(0) == thread[0]) & (
        pl.col("tid").fill_null(0) == thread[1]
    )
    mask = is_thread if row_mask is None else is_thread & row_mask
    return table.filter(mask)["ts_ns"].to_numpy()


def _of_thread(
    ranges: list[_Range],
    firsts: dict[tuple[int, tuple[int, int]], int],
    steps: list[tuple[int, int]],
) -> Iterator[CompiledCall]:
    open_regions: list[tuple[_Range, str | None]] = []
    n_outermost, entered = -1, []  # type: int, list[str]
    step = 0
    for span in ranges:
        while open_regions and open_regions[-1][0].end_ns <= span.start_ns:
            open_regions.pop()
        region = REGION.match(span.name)
        if region:
            if not open_regions:
                n_outermost += 1
                entered = []
            open_regions.append((span, region["id"]))
            if region["id"]:
                entered.append(region["id"])
        elif span.name.startswith(CALL):
            while step < len(steps) and steps[step][1] <= span.start_ns:
                step += 1
            inside = step < len(steps) and steps[step][0] <= span.start_ns
            first = firsts.get((span.start_ns, span.thread), span.end_ns)
            yield CompiledCall(
                start_ns=span.start_ns,
                end_ns=span.end_ns,
                entry_ns=min(first, span.end_ns) - span.start_ns,
                thread=span.thread,
                step=step if inside else None,
                compile_id=open_regions[-1][1] if open_regions else None,
                outermost=n_outermost if open_regions else None,
                entered=tuple(entered),
            )
            entered = []


def _missed_ns(ranges: list[_Range]) -> float:
    """All lookups that are followed by another one or by nothing, where a hit enters a region."""
    missed = 0.0
    for thread in dict.fromkeys(r.thread for r in ranges):
        spans = [r for r in ranges if r.thread == thread and r.name.startswith((LOOKUP, _REGION))]
        missed += sum(
            span.end_ns - span.start_ns
            for span, following in zip(spans, [*spans[1:], None], strict=False)
            if span.name == LOOKUP and (following is None or following.name == LOOKUP)
        )
    return missed


def _owned(ranges: list[_Range], calls: list[CompiledCall]) -> Iterator[tuple[_Owner, str, float]]:
    """(whose, kind, ns), of the innermost around it; a lookup is of the region entered next."""
    entry_ns = {(call.start_ns, call.thread): call.entry_ns for call in calls}
    for thread in dict.fromkeys(r.thread for r in ranges):
        around: list[tuple[_Range, _Owner]] = []
        pending = 0.0
        for span in (r for r in ranges if r.thread == thread):
            while around and around[-1][0].end_ns <= span.start_ns:
                around.pop()
            owner = around[-1][1] if around else _OUTSIDE
            if region := REGION.match(span.name):
                entered = _Owner(region["id"], is_region=True)
                around.append((span, entered))
                yield entered, "region", 1.0
                yield entered, LOOKUP, pending
                pending = 0.0
            elif span.name.startswith(_BACKWARD):
                around.append((span, _Owner(None, is_backward=True)))
            elif span.name == LOOKUP:
                pending = span.end_ns - span.start_ns
            elif span.name in (PREGRAPH, PROLOGUE):
                yield owner, span.name, span.end_ns - span.start_ns
            elif span.name.startswith(CALL):
                yield owner, CALL, entry_ns[span.start_ns, thread]

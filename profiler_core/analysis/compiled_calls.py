"""Compiled regions and the calls of their graphs in a trace.

`Torch-Compiled Region: 1/0` (torch >= 2.6 names the compile id; before, there is none) encloses
`## Call CompiledFxGraph <key> ##`, one call of the generated code. Regions nest: what runs after a
graph break is inside the region before it. Both are user annotations or operators, by version.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.work import host_steps, is_wrapper
from profiler_core.model.trace import Trace

REGION = re.compile(r"Torch-Compiled Region(?:: (?P<id>!?\d+/\d+(?:/\d+)?))?")
CALL = "## Call CompiledFxGraph"
LOOKUP = "TorchDynamo Cache Lookup"
PREGRAPH = "Pregraph bytecode"
PROLOGUE = "AOTDispatcher Runtime Wrapper Prologue"
# A trace with more is summed up from its first ones: they are all alike by then.
MAX_RANGES = 400_000


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
    """What one compiled region costs the host each time around its kernels, ns a step.

    From a profiled trace: relative weights, not unprofiled times.
    """

    compile_id: str | None
    n: float  # entries a step
    lookup_ns: float  # guards and cache lookup
    pregraph_ns: float
    prologue_ns: float
    call_entry_ns: float  # inside the generated code, before its first operator

    @property
    def total_ns(self) -> float:
        """All of it."""
        return self.lookup_ns + self.pregraph_ns + self.prologue_ns + self.call_entry_ns


@dataclass(frozen=True, slots=True)
class _Range:
    start_ns: int
    end_ns: int
    name: str
    thread: tuple[int, int]


def compiled_calls(trace: Trace) -> list[CompiledCall]:
    """The calls of compiled graphs in order of time, all threads."""
    ranges = _ranges(trace)
    firsts = _first_inside(trace, [r for r in ranges if r.name.startswith(CALL)])
    steps = [(row["ts_ns"], row["end_ns"]) for row in host_steps(trace).iter_rows(named=True)]
    found: list[CompiledCall] = []
    for thread in dict.fromkeys(r.thread for r in ranges):
        found += _of_thread([r for r in ranges if r.thread == thread], firsts, steps)
    return sorted(found, key=lambda call: call.start_ns)


def region_taxes(trace: Trace) -> tuple[RegionTax, ...]:
    """Host cost around each compiled region, dearest first; empty without regions."""
    ranges = _ranges(trace)
    steps = host_steps(trace)
    n_steps = max(1, steps.height)
    if steps.height:
        low, high = int(steps["ts_ns"].min()), int(steps["end_ns"].max())  # type: ignore[arg-type]
        ranges = [r for r in ranges if low <= r.start_ns < high]
    sums: dict[str | None, list[float]] = {}
    for compile_id, name, dur_ns in _owned(ranges, compiled_calls(trace)):
        total = sums.setdefault(compile_id, [0.0] * 5)
        total[("region", LOOKUP, PREGRAPH, PROLOGUE, CALL).index(name)] += dur_ns
    taxes = [RegionTax(key, *(value / n_steps for value in total)) for key, total in sums.items()]
    return tuple(sorted(taxes, key=lambda tax: -tax.total_ns))


def _ranges(trace: Trace) -> list[_Range]:
    wanted = (CALL, LOOKUP, PREGRAPH, PROLOGUE, "Torch-Compiled Region")
    frames = []
    for table in (trace.ops, trace.annotations):
        names = table.select(pl.col("name").unique())
        fitting = [name.startswith(wanted) for name in names["name"].cast(pl.String)]
        kept = names.filter(pl.Series(fitting, dtype=pl.Boolean))
        frames.append(
            table.select("ts_ns", "dur_ns", "name", "pid", "tid")
            .join(kept, on="name", how="semi")
            .with_columns(pl.col("name").cast(pl.String))
        )
    together = pl.concat(frames).sort("ts_ns", "dur_ns", descending=[False, True]).head(MAX_RANGES)
    return [
        _Range(ts, ts + dur, name, (pid or 0, tid or 0))
        for ts, dur, name, pid, tid in together.iter_rows()
    ]


def _first_inside(trace: Trace, calls: list[_Range]) -> dict[tuple[int, tuple[int, int]], int]:
    """For each call, when the first operator or runtime call inside it begins."""
    if not calls:
        return {}
    names = trace.ops.select(pl.col("name").unique())
    inner = [not is_wrapper(name) for name in names["name"].cast(pl.String)]
    operators = trace.ops.join(
        names.filter(pl.Series(inner, dtype=pl.Boolean)), on="name", how="semi"
    )
    starts = (
        pl.concat(
            [operators.select("ts_ns", "pid", "tid"), trace.runtime.select("ts_ns", "pid", "tid")]
        )
        .with_columns(pl.col("pid", "tid").fill_null(0))
        .sort("ts_ns")
        .with_columns(first="ts_ns")
    )
    asked = pl.DataFrame(
        {
            "ts_ns": [c.start_ns for c in calls],
            "pid": [c.thread[0] for c in calls],
            "tid": [c.thread[1] for c in calls],
        },
        schema={"ts_ns": pl.Int64(), "pid": pl.Int64(), "tid": pl.Int64()},
    )
    joined = asked.sort("ts_ns").join_asof(
        starts, on="ts_ns", by=["pid", "tid"], strategy="forward", check_sortedness=False
    )
    return {
        (row["ts_ns"], (row["pid"], row["tid"])): row["first"]
        for row in joined.iter_rows(named=True)
        if row["first"] is not None
    }


def _of_thread(
    ranges: list[_Range],
    firsts: dict[tuple[int, tuple[int, int]], int],
    steps: list[tuple[int, int]],
) -> Iterator[CompiledCall]:
    open_regions: list[tuple[_Range, str | None]] = []
    n_outermost, entered = -1, []  # type: int, list[str]
    step = 0
    for one in ranges:
        while open_regions and open_regions[-1][0].end_ns <= one.start_ns:
            open_regions.pop()
        region = REGION.match(one.name)
        if region:
            if not open_regions:
                n_outermost += 1
                entered = []
            open_regions.append((one, region["id"]))
            if region["id"]:
                entered.append(region["id"])
        elif one.name.startswith(CALL):
            while step < len(steps) and steps[step][1] <= one.start_ns:
                step += 1
            inside = step < len(steps) and steps[step][0] <= one.start_ns
            first = firsts.get((one.start_ns, one.thread), one.end_ns)
            yield CompiledCall(
                start_ns=one.start_ns,
                end_ns=one.end_ns,
                entry_ns=min(first, one.end_ns) - one.start_ns,
                thread=one.thread,
                step=step if inside else None,
                compile_id=open_regions[-1][1] if open_regions else None,
                outermost=n_outermost if open_regions else None,
                entered=tuple(entered),
            )
            entered = []


def _owned(
    ranges: list[_Range], calls: list[CompiledCall]
) -> Iterator[tuple[str | None, str, float]]:
    """(compile id, kind, ns): a lookup belongs to the region that is entered next."""
    for thread in dict.fromkeys(r.thread for r in ranges):
        current: str | None = None
        pending = 0.0
        for one in (r for r in ranges if r.thread == thread):
            region = REGION.match(one.name)
            if region:
                current = region["id"]
                yield current, "region", 1.0
                yield current, LOOKUP, pending
                pending = 0.0
            elif one.name == LOOKUP:
                pending = one.end_ns - one.start_ns
            elif one.name in (PREGRAPH, PROLOGUE):
                yield current, one.name, one.end_ns - one.start_ns
    low = min((r.start_ns for r in ranges), default=0)
    high = max((r.end_ns for r in ranges), default=0)
    for call in calls:
        if low <= call.start_ns < high:
            yield call.compile_id, CALL, call.entry_ns

"""How long each analysis that a page calls takes on a trace of five million events.

    python -m benchmarks.bench_analysis [TRACE…] [--events 5000000] [--repeats 3]

Each TRACE is repeated to that size in memory, with shifted times and ids. Without one the trace is
made up: nested operators, one launch and one kernel for each leaf, two streams. Times are of an
opened trace, as a page has it.
"""

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.compare import compare
from profiler_core.analysis.compilation.compiled_calls import compiled_calls, region_taxes
from profiler_core.analysis.compilation.cudagraph_coverage import cudagraph_coverage
from profiler_core.analysis.compilation.graph_break_cost import graph_break_cost
from profiler_core.analysis.gpu_time import gpu_time
from profiler_core.analysis.idle import idle_by_cause
from profiler_core.analysis.kernel_calls import kernel_calls
from profiler_core.analysis.kernels import kernels
from profiler_core.analysis.launches import launches
from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.analysis.memory.peak import peak_memory
from profiler_core.analysis.side import make_side
from profiler_core.analysis.steps import window_of
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.trace_notes import trace_notes
from profiler_core.analysis.waterfall import waterfall
from profiler_core.analysis.work import device_work
from profiler_core.ingest.open import open_trace
from profiler_core.model.run import RunFiles, RunRecord
from profiler_core.model.tally import Tally
from profiler_core.model.trace import TABLE_SCHEMAS, Trace

_OPERATORS = ("aten::linear", "aten::conv2d", "aten::layer_norm", "aten::add", "aten::softmax")
_INNER = ("aten::addmm", "aten::cudnn_convolution", "aten::native_layer_norm", "aten::copy_",
          "aten::_softmax")  # fmt: skip
_KERNELS = ("nvjet_sm90_tst_96x64_64x10_1x2_h_bz_bias_TNN", "sm90_xmma_fprop_implicit_gemm_f32",
            "void at::native::vectorized_layer_norm_kernel<float>", "triton_poi_fused_add_0",
            "void at::native::elementwise_kernel<4, CUDAFunctor_add<float>>")  # fmt: skip
_PACE_NS = 12_000  # from launch to launch on the host


def made_up_trace(n_events: int, n_steps: int = 20, n_names: int = 400) -> Trace:
    """About n_events events: an operator, one in it, a launch and a kernel for each unit."""
    n = n_events // 4
    unit = np.arange(n, dtype=np.int64)
    start = unit * _PACE_NS
    random = np.random.default_rng(0)
    dur = random.integers(1_000, 14_000, n)
    # The device runs in order, and behind the host.
    ready = start + 8_000
    ends = np.maximum.accumulate(ready - np.concatenate([[0], np.cumsum(dur)[:-1]])) + np.cumsum(
        dur
    )

    def named(words: tuple[str, ...], suffix: int = 1) -> pl.Series:
        pool = [f"{word}{'' if suffix == 1 else f'_{i}'}" for i in range(suffix) for word in words]
        return pl.Series(pool, dtype=pl.Categorical())[(unit % len(pool)).tolist()]

    host = {"pid": np.ones(n, np.int64), "tid": np.ones(n, np.int64)}
    tables = {
        "device": {"ts_ns": ends - dur, "dur_ns": dur, "name": named(_KERNELS, n_names // 5),
                   "cat": pl.repeat("kernel", n, dtype=pl.Categorical(), eager=True),
                   "device": np.zeros(n, np.int32), "stream": 7 + unit % 2,
                   "correlation": unit + 1},
        "runtime": {"ts_ns": start + 5_000, "dur_ns": np.full(n, 2_000), "correlation": unit + 1,
                    "name": named(("cudaLaunchKernel",)), **host},
    }  # fmt: skip
    ops = pl.concat(
        pl.DataFrame({"ts_ns": start + offset, "dur_ns": np.full(n, length), "name": named(words),
                      **host})
        for offset, length, words in ((0, 10_000, _OPERATORS), (2_000, 7_000, _INNER))
    )  # fmt: skip
    step = n * _PACE_NS // n_steps
    annotations = pl.DataFrame(
        {"ts_ns": [i * step for i in range(n_steps)], "dur_ns": [step - 1] * n_steps,
         "name": pl.Series([f"ProfilerStep#{i}" for i in range(n_steps)], dtype=pl.Categorical()),
         "pid": [1] * n_steps, "tid": [1] * n_steps}
    )  # fmt: skip
    frames = {**{key: pl.DataFrame(value) for key, value in tables.items()}, "ops": ops,
              "annotations": annotations}  # fmt: skip
    return Trace(
        source="made-up", origin_ns=0, tally=Tally(n_events),
        **{table: _shaped(frames.get(table), schema) for table, schema in TABLE_SCHEMAS.items()},
    )  # fmt: skip


def _shaped(frame: pl.DataFrame | None, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    if frame is None:
        return pl.DataFrame(schema=schema)
    return frame.select(
        pl.col(column).cast(dtype) if column in frame.columns else pl.lit(None, dtype).alias(column)
        for column, dtype in schema.items()
    ).sort("ts_ns", maintain_order=True)


# Ids that must differ from copy to copy, and the step whose name must.
_IDS = ("correlation", "external_id", "python_id", "python_parent_id")


def repeated(trace: Trace, n_events: int) -> Trace:
    """Copies of a trace one after the other, in its own columns, until it has n_events."""
    n_copies = max(1, round(n_events / max(1, trace.n_events)))
    starts, ends, largest_id = [], [], 0
    for table in TABLE_SCHEMAS:
        frame: pl.DataFrame = getattr(trace, table)
        if frame.height == 0:
            continue
        starts.append(frame["ts_ns"].min())
        length = frame["dur_ns"] if "dur_ns" in frame.columns else 0
        ends.append((frame["ts_ns"] + length).max())
        largest_id = max(largest_id, *(frame[c].max() or 0 for c in _IDS if c in frame.columns), 0)
    stride = max(ends) - min(starts) + 1_000_000
    return Trace(
        source=trace.source, origin_ns=0, tally=Tally(n_events), metadata=trace.metadata,
        **{
            table: pl.concat(
                [_copy(getattr(trace, table), n, n * stride, n * (largest_id + 1))
                 for n in range(n_copies)]
            ).rechunk().sort("ts_ns", maintain_order=True)
            for table in TABLE_SCHEMAS
        },
    )  # fmt: skip


def _copy(frame: pl.DataFrame, number: int, shift_ns: int, shift_id: int) -> pl.DataFrame:
    shifted = [pl.col("ts_ns") + shift_ns]
    shifted += [pl.col(column) + shift_id for column in _IDS if column in frame.columns]
    if "name" in frame.columns:
        name = pl.col("name").cast(pl.String)
        own = pl.when(name.str.starts_with("ProfilerStep#")).then(
            pl.format("ProfilerStep#{}", name.str.extract(r"(\d+)").cast(pl.Int64) + 1000 * number)
        )
        if frame.height < 10_000:  # annotations; nothing else is called so
            shifted.append(own.otherwise(name).cast(frame.schema["name"]).alias("name"))
    return frame.with_columns(shifted)


def _timed(name: str, question: Callable[[], object], repeats: int) -> None:
    times, busy = [], []
    for _ in range(repeats):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        question()
        times.append(time.perf_counter() - begin)
        busy.append(time.process_time() - begin_cpu)
    # CPU time tells on a machine that is busy with other things.
    print(f"{name:16} best {min(times):6.3f} s   CPU {min(busy):6.3f} s")


def questions(trace: Trace) -> dict[str, Callable[[], object]]:
    """What the pages ask, each with what they have at hand when they ask it."""
    work = categorise(trace)
    window = window_of(trace, work)
    counted = work.filter(pl.col("step").is_not_null())
    times = gpu_time(counted, window)
    summary = summarise(trace)
    run = RunFiles(record=RunRecord(), path=Path("made-up"))
    side = make_side(run, summary, label="a")
    device = times[0].device if times else 0
    launch = launches(counted)
    return {
        "device_work": partial(device_work, trace),
        "categorise": partial(categorise, trace),
        "summarise": partial(summarise, trace),
        "kernels": partial(kernels, trace),
        "kernel_calls": partial(kernel_calls, trace, summary.kernels[0].name),
        "launches": partial(launches, counted),
        "gpu_time": partial(gpu_time, counted, window),
        "idle_by_cause": partial(idle_by_cause, trace, counted, window, device),
        "trace_notes": partial(trace_notes, trace, window, counted, times, launch),
        "peak_memory": partial(peak_memory, trace, None),
        "compiled_calls": partial(compiled_calls, trace),
        "region_taxes": partial(region_taxes, trace),
        "graph_break_cost": partial(graph_break_cost, trace, None),
        "cudagraph_coverage": partial(cudagraph_coverage, trace, (), None),
        "compare": lambda: compare(side, [make_side(run, summary, label="b")]),
        "waterfall": partial(waterfall, (summary, summary), None),
        "fusion_ledger": partial(fusion_ledger, LedgerSide(trace), LedgerSide(trace)),
    }


def main() -> None:
    """Print the time of each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="names of questions")
    arguments = parser.parse_args()
    traces = [repeated(open_trace(path), arguments.events) for path in arguments.traces]
    for trace in traces or [made_up_trace(arguments.events)]:
        print(f"{trace.source}: {trace.n_events} events, {pl.thread_pool_size()} threads")
        for name, question in questions(trace).items():
            if not arguments.only or name in arguments.only:
                _timed(name, question, arguments.repeats)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()

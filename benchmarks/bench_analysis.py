"""How long `summarise` takes on a made-up trace of five million events.

The trace is a training loop: nested operators, one launch and one kernel for each leaf, two
streams, a compiled region around each step. Run: python -m benchmarks.bench_analysis
"""

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
import polars as pl

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.idle import idle_by_cause
from profiler_core.analysis.kernels import kernels
from profiler_core.analysis.steps import find_window
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.work import device_work
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


def _timed(name: str, question: Callable[[], object], repeats: int) -> None:
    times, busy = [], []
    for _ in range(repeats):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        question()
        times.append(time.perf_counter() - begin)
        busy.append(time.process_time() - begin_cpu)
    # CPU time tells on a machine that is busy with other things.
    print(f"{name:16} best {min(times):6.3f} s   CPU {min(busy):6.3f} s")


def main() -> None:
    """Print the time of each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    trace = made_up_trace(arguments.events)
    print(f"{trace.n_events} events, {pl.thread_pool_size()} threads")
    work = device_work(trace)
    window = find_window(trace)
    for name, question in (
        ("device_work", lambda: device_work(trace)),
        ("find_window", lambda: find_window(trace)),
        ("categorise", lambda: categorise(trace)),
        ("kernels", lambda: kernels(trace)),
        ("idle_by_cause", lambda: idle_by_cause(trace, work, window, 0)),
        ("summarise", lambda: summarise(trace)),
    ):
        _timed(name, question, arguments.repeats)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()

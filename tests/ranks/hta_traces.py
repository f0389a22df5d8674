"""Two small jobs in whole microseconds whose every number can be told by hand.

eager: what HTA was made for (cudaLaunchKernel, no `stream` on the host's side).
compiled: Inductor's cpu_op with a `stream` argument, cuLaunchKernelEx, and a CUDA graph.

Step of 1000 µs on both, twice (steps 1 and 2), rank r compute of 100 + 100 r µs:

    stream 7   k1 from 100 to 200 + 100 r, k2 from 300 to 350, a copy of 800 000 B 400 to 408
    stream 13  all-reduce from 320 + 60 r to 420 (overlaps k2 of rank 0 by 30, the copy by 8)
"""

import gzip
import json
from pathlib import Path

STEPS = (1, 2)
OUTER_US = 900  # the host range that Inductor's cpu_op spans


def write_job(folder: Path, kind: str) -> list[Path]:
    return [_write(folder / f"rank{rank}.json.gz", kind, rank) for rank in (0, 1)]


def _write(path: Path, kind: str, rank: int) -> Path:
    events = []
    for step in STEPS:
        events += _step(kind, rank, step, 1000 * step)
    text = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "GPU", "numSms": 132}],
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "baseTimeNanoseconds": 0,
        "traceEvents": events,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(text).encode()))
    return path


def _step(kind: str, rank: int, step: int, at: int) -> list[dict]:
    compiled = kind == "compiled"
    nccl = "ncclDevKernel_AllReduce_Sum_f32" if compiled else "ncclKernel_AllReduce_Sum_f32"
    names = ("triton_poi_fused_add_0", "triton_red_fused_sum_1") if compiled else ("k1", "k2")
    calls = ("cuLaunchKernelEx", "cudaGraphLaunch") if compiled else ("cudaLaunchKernel",) * 2
    first = 10 * step
    made = [_event("user_annotation", f"ProfilerStep#{step}", at, 990, 50, 50)]
    if compiled:
        made.append(_event("cpu_op", names[0], at + 5, OUTER_US, 50, 50, stream=7, **{
            "kernel_backend": "triton", "External id": 3}))  # fmt: skip
    else:
        made.append(_event("cpu_op", "aten::add", at + 5, 100, 50, 50, **{"External id": 3}))
    for number, call in enumerate((*calls, "cudaMemcpyAsync", "cudaLaunchKernelExC")):
        cat = "cuda_driver" if call.startswith("cuL") else "cuda_runtime"
        made.append(_event(cat, call, at + 20 + 10 * number, 5, 50, 50,
                           correlation=first + number))  # fmt: skip
    for number, (name, ts, dur, stream) in enumerate(
        (
            (names[0], 100, 100 + 100 * rank, 7),
            (names[1], 300, 50, 7),
            ("Memcpy DtoD (Device -> Device)", 400, 8, 7),
            (nccl, 320 + 60 * rank, 100 - 60 * rank, 13),
        )
    ):
        cat = "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
        more = {"bytes": 800_000, "memory bandwidth (GB/s)": 100.0} if cat != "kernel" else {}
        made.append(_event(cat, name, at + ts, dur, 0, stream, device=0, stream=stream,
                           correlation=first + number, **more))  # fmt: skip
    return made


COUNTERS = {"smsp__inst_executed.sum": (100, 30, 7), "dram__bytes_read.sum": (4096, 1024, 0)}


def write_counters(path: Path, kind: str) -> Path:
    """One rank with the counters of three kernels, in the form of HTA's own test file.

    (tests/data/cupti_profiler: no event of a kernel, one range for each, its counters as args.)
    Two kernels are launched inside aten::linear, one inside aten::relu.
    """
    call, cat = ("cuLaunchKernelEx", "cuda_driver") if kind == "compiled" else (
        "cudaLaunchKernel", "cuda_runtime")  # fmt: skip
    events = [
        _event("user_annotation", "ProfilerStep#1", 0, 900, 50, 50),
        _event("cpu_op", "aten::linear", 10, 100, 50, 50, **{"External id": 3}),
        _event("cpu_op", "aten::addmm", 20, 80, 50, 50, **{"External id": 4}),
        _event("cpu_op", "aten::relu", 190, 30, 50, 50, **{"External id": 5}),
        _event("cuda_runtime", "cudaMalloc", 25, 2, 50, 50, correlation=9),
    ]
    for number, ts in enumerate((30, 50, 200)):
        events.append(_event(cat, call, ts, 5, 50, 50, correlation=10 + number))
        args = {name: values[number] for name, values in COUNTERS.items()}
        events.append(_event("cuda_profiler_range", f"k{number}", 300 + 100 * number, 100, 0, 0,
                             **args))  # fmt: skip
    text = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "GPU", "numSms": 132}],
        "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
        "traceEvents": events,
    }
    path.write_bytes(gzip.compress(json.dumps(text).encode()))
    return path


def _event(cat: str, name: str, ts: int, dur: int, pid: int, tid: int, **args) -> dict:
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid,
            "args": args}  # fmt: skip

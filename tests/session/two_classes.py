"""Two made-up runs whose optimizer steps every second step: whole numbers to work out by hand.

Every step multiplies (100 µs, in both runs) and rectifies (60 µs, 20 µs in the candidate); steps 1
and 3 of four also update weights (200 µs, 40 µs). Per step that is 100 + 60 + 100 = 260 µs in the
baseline, and 100 + 20 + 20 = 140 µs in the candidate.
"""

import json
from pathlib import Path

STEPS = 4
STEP_US = 1000
TIMES_US = {
    "eager": {"aten::mm": 100, "aten::relu": 60, "aten::add_": 200},
    "tuned": {"aten::mm": 100, "aten::relu": 20, "aten::add_": 40},
}
KERNELS = {
    "aten::mm": "sm80_xmma_gemm_f32f32",
    "aten::relu": "vectorized_elementwise_kernel_relu",
    "aten::add_": "multi_tensor_apply_kernel_add",
}
STEP_NS = {  # by operator, per step: what every surface has to say
    "eager": {"aten::mm": 100_000, "aten::relu": 60_000, "aten::add_": 100_000},
    "tuned": {"aten::mm": 100_000, "aten::relu": 20_000, "aten::add_": 20_000},
}
TIMED_NS = {"eager": 900_000, "tuned": 700_000}  # per step without the profiler


def write_runs(folder: Path) -> list[Path]:
    """A capture of both runs in `folder`; their directories, the baseline first."""
    return [_write_run(folder / variant, variant) for variant in TIMES_US]


def _write_run(directory: Path, variant: str) -> Path:
    directory.mkdir(parents=True)
    (directory / "trace.json").write_text(json.dumps(_trace(TIMES_US[variant])))
    rounds = [
        {"index": i, "order": 0, "n_steps": 10, "wall_ns": 10 * (TIMED_NS[variant] + i)}
        for i in range(20)
    ]
    record = {
        "schema_version": 1,
        "run_id": f"accumulating-{variant}",
        "capture_id": folder_name(directory),
        "role": "baseline" if variant == "eager" else "candidate",
        "name": "accumulating",
        "workload": "accumulating",
        "variant": variant,
        "status": "finished",
        "spec": {"compile": False},
        "environment": {"gpu": "NVIDIA H200", "torch": "2.9.0"},
        "measurement": {"rounds": rounds, "interleaved": True, "n_compilations_while_timed": 0},
    }
    (directory / "run.json").write_text(json.dumps(record))
    return directory


def folder_name(directory: Path) -> str:
    return directory.parent.name


def _trace(times_us: dict[str, int]) -> dict[str, object]:
    events: list[dict[str, object]] = []
    correlation = 0
    for step in range(STEPS):
        start = 10_000 + STEP_US * step
        events.append(_x("user_annotation", f"ProfilerStep#{step + 3}", start, STEP_US - 10))
        at, device_at = start + 5, start + 40
        for name, time_us in times_us.items():
            if name == "aten::add_" and step % 2 == 0:
                continue
            correlation += 1
            link = {"correlation": correlation, "External id": correlation}
            events.append(_x("cpu_op", name, at, 20, **{"External id": correlation}))
            events.append(_x("cuda_runtime", "cudaLaunchKernel", at + 5, 5, **link))
            kernel = _x("kernel", KERNELS[name], device_at, time_us, **link, device=0, stream=7)
            events.append({**kernel, "pid": 0, "tid": 7})
            at, device_at = at + 25, device_at + time_us + 2
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150_000_000_000}],
        "traceEvents": events,
    }


def _x(category: str, name: str, ts: float, dur: float, **args: object) -> dict[str, object]:
    return {
        "ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
        "args": args,
    }  # fmt: skip

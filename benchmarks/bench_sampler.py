"""What sampling the GPU and the process costs a step: one process, with and without the sampler.

    python -m benchmarks.bench_sampler

For a host-bound and a GPU-bound step: time per step in rounds without and with the sampler, in
turns, the difference, and beside it the difference between the two halves of the rounds without it.
A cost below that second figure cannot be told from noise. Takes about two minutes on a GPU.
"""

import statistics
import tempfile
from pathlib import Path

from profiler_core.analysis.telemetry.jitter import jitter
from profiler_core.capture.interpreter import Interpreter, probe
from profiler_core.capture.process import Child
from profiler_core.capture.telemetry.sampler import WHILE_TIMED_PERIOD_S
from profiler_core.capture.telemetry.sampling import Sampled, telemetry_of
from profiler_core.capture.torch_settings import child_environment
from profiler_core.capture.variant_spec import parse_variants
from profiler_core.ingest.telemetry.reader import read_gpu_samples

ALTERNATIONS = 60
SECONDS_PER_ROUND = 0.3  # three samples at 10 Hz
WORKLOADS = (("customcnn", None), ("resnet50", 128))  # host-bound; GPU-bound


def main() -> None:
    """Print a line for each workload."""
    interpreter = probe(None)
    for workload, batch_size in WORKLOADS:
        with tempfile.TemporaryDirectory() as folder:
            print(_measured(interpreter, workload, batch_size, Path(folder)))


def _measured(interpreter: Interpreter, workload: str, batch_size: int | None, folder: Path) -> str:
    telemetry = telemetry_of("cuda:0", [gpu.get("gpu_uuid") for gpu in interpreter.gpus])
    if telemetry.gpu is None:
        return f"{workload}: no GPU is sampled: {telemetry.reason}"
    child = _child(interpreter, workload, batch_size, folder)
    try:
        for request in ("load", "build", "first_call"):
            child.ask(request)
        warm = child.ask("warm_up", floor_steps=20, ceiling_steps=200, ceiling_seconds=5.0)
        n_steps = max(20, round(SECONDS_PER_ROUND * 1e9 / warm["typical_step_ns"]))
        child.ask("round", n_steps=n_steps)
        off: list[float] = []
        on: list[float] = []
        for turn in range(ALTERNATIONS):
            # Who goes first changes each turn, so that a drift of the clocks hits both alike.
            for sampled in ((False, True), (True, False))[turn % 2]:
                targets = [Sampled(folder, child.pid)] if sampled else []
                with telemetry.sampling(targets, WHILE_TIMED_PERIOD_S):
                    done = child.ask("round", n_steps=n_steps)
                (on if sampled else off).append(done["wall_ns"] / n_steps)
    finally:
        child.close()
    cost = _undisturbed(on) / _undisturbed(off) - 1
    noise = _undisturbed(off[::2]) / _undisturbed(off[1::2]) - 1
    samples = read_gpu_samples(folder / "nvml.jsonl").of(telemetry.gpu.index)
    return (
        f"{workload}: sampler off {_undisturbed(off) / 1e3:.2f} µs, on "
        f"{_undisturbed(on) / 1e3:.2f} µs per step: {cost:+.3%} ({ALTERNATIONS} pairs of "
        f"{n_steps} steps; rounds without it, halves apart: {noise:+.3%}); {jitter(samples)}"
    )


def _undisturbed(step_ns: list[float]) -> float:
    """Median of the faster half: what else runs on a lent machine disturbs single rounds by 20 %.

    Each round holds three samples, so the faster half pays for sampling like the slower.
    """
    return statistics.median(sorted(step_ns)[: len(step_ns) // 2])


def _child(interpreter: Interpreter, workload: str, batch_size: int | None, folder: Path) -> Child:
    (variant,) = parse_variants("eager")
    return Child(
        interpreter.executable,
        {
            "device": "cuda:0",
            "workload": workload,
            "batch_size": batch_size,
            "shapes": (),
            "options": {},
            "training": False,
            "seed": 0,
            "variant": variant.to_dict(),
        },
        child_environment(interpreter.log_names, folder / "cache", folder / "torch_trace"),
        folder,
        folder / "stdout.txt",
        folder / "stderr.txt",
        lambda: None,
    )


if __name__ == "__main__":
    main()

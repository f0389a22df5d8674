"""Jobs of two ranks on two GPUs, eager and compiled, with and without a rank that is made late.

The delay is planted by the built-in workloads' options: `slow_spin_us` of a kernel that spins on
the device of one rank, or `slow_sleep_us` in which its host sleeps after it waited for its device.
What the product says of who waits for whom is judged against it (tests/analysis/ranks).

    python -m benchmarks.job_captures FOLDER [WORKLOAD …]
"""

import subprocess
import sys
from pathlib import Path

_RANK = 1  # that is made late
_DELAYS = {"even": (), "spin": ("slow_spin_us=8000",), "sleep": ("slow_sleep_us=8000",)}
_QUICK = (
    "--rounds=8", "--round-steps=10", "--round-seconds=0.2", "--steps=3", "--telemetry-seconds=0",
    "--no-memory", "--no-numerics", "--no-warm-compile",
)  # fmt: skip
WORKLOADS = ("ddp", "fsdp", "tp")


def capture_jobs(folder: Path, workloads: tuple[str, ...] = WORKLOADS) -> None:
    """One capture for each workload and delay, below `folder`; a failed one does not stop others.

    Args:
        folder: made where it is missing.
        workloads: built-in names.
    """
    for workload in workloads:
        for name, delay in _DELAYS.items():
            options = [f"--option={text}" for text in (f"slow_rank={_RANK}", *delay) if delay]
            command = [sys.executable, "-m", "profiler_core", "capture", workload, *options]
            command += ["--variants=eager,default", f"--name={workload} {name}", *_QUICK]
            done = subprocess.run([*command, f"--out={folder / workload / name}"], check=False)
            print(f"{workload} {name}: exit status {done.returncode}", flush=True)


if __name__ == "__main__":
    capture_jobs(Path(sys.argv[1]), tuple(sys.argv[2:]) or WORKLOADS)

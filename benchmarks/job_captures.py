"""Jobs of two ranks on two GPUs, eager and compiled, with and without a rank that is made late.

The delay is planted by the built-in workloads' options: `slow_spin_us` of a kernel that spins on
the device of one rank, or `slow_sleep_us` in which its host sleeps after it waited for its device.
What the product says of who waits for whom is judged against it (tests/analysis/ranks).

    python -m benchmarks.job_captures FOLDER [WORKLOAD …] [--delays even,spin,sleep] [--checked]

With --checked the even job's answers are compared on all ranks, and its GPUs are sampled.
"""

import argparse
import subprocess
import sys
from pathlib import Path

_RANK = 1  # that is made late
_DELAYS = {"even": (), "spin": ("slow_spin_us=8000",), "sleep": ("slow_sleep_us=8000",)}
_QUICK = (
    "--rounds=8", "--round-steps=10", "--round-seconds=0.2", "--steps=3", "--no-memory",
    "--no-warm-compile",
)  # fmt: skip
_UNCHECKED = ("--telemetry-seconds=0", "--no-numerics")
_CHECKED = ("--telemetry-seconds=2",)
VARIANTS = {
    "ddp": "eager,default",
    "fsdp": "eager,default,default+target=blocks",
    "tp": "eager,default",
    "pp": "eager,default",
}


def capture_jobs(
    folder: Path, workloads: list[str], delays: list[str], *, checked: bool = False
) -> None:
    """One capture for each workload and delay, below `folder`; a failed one does not stop others.

    Args:
        folder: made where it is missing.
        workloads: built-in names.
        delays: keys of _DELAYS.
        checked: whether the job without a delay is checked and sampled.
    """
    for workload in workloads:
        for name in delays:
            delay = _DELAYS[name]
            options = [f"--option={text}" for text in (f"slow_rank={_RANK}", *delay) if delay]
            command = [sys.executable, "-m", "profiler_core", "capture", workload, *options]
            command += [f"--variants={VARIANTS[workload]}", f"--name={workload} {name}", *_QUICK]
            command += _CHECKED if checked and not delay else _UNCHECKED
            done = subprocess.run([*command, f"--out={folder / workload / name}"], check=False)
            print(f"{workload} {name}: exit status {done.returncode}", flush=True)


def main() -> None:
    """Capture what the command line names, all by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("workloads", nargs="*", default=list(VARIANTS))
    parser.add_argument("--delays", type=lambda text: text.split(","), default=list(_DELAYS))
    parser.add_argument("--checked", action="store_true")
    arguments = parser.parse_args()
    capture_jobs(arguments.folder, arguments.workloads, arguments.delays, checked=arguments.checked)


if __name__ == "__main__":
    main()

"""The command line of Nsight Compute: which counters, and how ncu measures them.

Source: Nsight Compute CLI manual. Traps, all seen on an H200 (docs/counters.md): ncu crashes where
Inductor compiles under it, so the caches are full before; CUDA graphs need `--graph-profiling
node`; with `--target-processes all` it follows into every compile worker.
"""

from pathlib import Path

# What analyses ask for: bytes, time, use. Each further one may replay every kernel once more.
METRICS = (
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor.sum",
    "launch__thread_count",
    "device__attribute_l2_cache_size",
    "device__attribute_display_name",
)

OPTIONS = (
    *("--target-processes", "application-only"),
    *("--profile-from-start", "off"),  # the child starts and stops it around its step
    *("--graph-profiling", "node"),
    *("--clock-control", "none"),  # the clocks of the timing, and no right to change them is needed
    *("--cache-control", "none"),  # what the kernel before left in L2 stays there, as in real life
    *("--csv", "--page", "raw"),
    *("--print-units", "base"),
)

# Inductor's compile workers are processes: with one thread it starts none.
ENVIRONMENT = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}


def ncu_words(ncu: str, log: Path) -> tuple[str, ...]:
    """Nsight Compute with all its arguments; the program and its arguments follow.

    Args:
        ncu: its path.
        log: gets all that ncu says, the table among it; never what the program prints.
    """
    return (ncu, *OPTIONS, "--log-file", str(log), "--metrics", ",".join(METRICS))

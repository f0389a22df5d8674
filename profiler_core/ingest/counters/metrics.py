"""Metrics of Nsight Compute -> columns of the model: names by architecture and version, and units.

Sources: Nsight Compute CLI manual (metric names, `--print-units`), files of ncu 2025.3. Where a
quantity has several names, the first that the file holds is taken.
"""

_SECTOR_BYTES = 32  # of L1 and L2, all architectures since Maxwell (ncu manual, memory tables)

# column -> (metric, factor to the column's unit when the metric is in its base unit)
METRICS: dict[str, tuple[tuple[str, float], ...]] = {
    "n_threads": (("launch__thread_count", 1),),
    "time_ns": (("gpu__time_duration.sum", 1), ("gpu__time_duration.avg", 1)),
    "dram_read_bytes": (
        ("dram__bytes_read.sum", 1),
        ("dram__bytes_op_read.sum", 1),  # names of ncu 2025 on, Blackwell
        ("dram__sectors_read.sum", _SECTOR_BYTES),
    ),
    "dram_write_bytes": (
        ("dram__bytes_write.sum", 1),
        ("dram__bytes_op_write.sum", 1),
        ("dram__sectors_write.sum", _SECTOR_BYTES),
    ),
    "dram_pct": (
        ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 1),
        ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 1),
    ),
    "l2_read_bytes": (("lts__t_sectors_op_read.sum", _SECTOR_BYTES),),
    "l2_write_bytes": (("lts__t_sectors_op_write.sum", _SECTOR_BYTES),),
    "occupancy_pct": (("sm__warps_active.avg.pct_of_peak_sustained_active", 1),),
    "tensor_instructions": (("sm__inst_executed_pipe_tensor.sum", 1),),
    "tensor_pct": (
        ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 1),
        ("sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active", 1),
        ("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", 1),
    ),
    "l2_size_bytes": (("device__attribute_l2_cache_size", 1),),
}
TEXTS: dict[str, str] = {
    "name": "Kernel Name",
    "grid": "Grid Size",
    "block": "Block Size",
    "device_name": "device__attribute_display_name",
}

# The units row without `--print-units base` -> factor to ns, bytes and counts. "" has no unit.
UNITS: dict[str, float] = {
    "": 1, "%": 1, "inst": 1, "sector": 1, "thread": 1, "byte": 1, "ns": 1, "nsecond": 1,
    "kbyte": 1e3, "mbyte": 1e6, "gbyte": 1e9, "tbyte": 1e12,
    "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9,
}  # fmt: skip

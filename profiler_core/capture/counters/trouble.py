"""The output of an ncu that could not measure -> one sentence with a remedy."""

import re

# Part of ncu's own line -> problem, remedy. The first that fits is taken.
_KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        "ERR_NVGPUCTRPERM",
        "Nsight Compute may not read this GPU's counters (ERR_NVGPUCTRPERM).",
        "Ask an administrator to load the driver with NVreg_RestrictProfilingToAdminUsers=0 (in a "
        "file of /etc/modprobe.d, then reboot), or run where the process has CAP_SYS_ADMIN.",
    ),
    (
        "driver resource was unavailable",
        "Another tool holds this GPU's counters.",
        "End other profilers, and pause DCGM's: dcgmi profile --pause.",
    ),
    (
        "Cuda driver is not compatible",
        "This Nsight Compute does not fit the driver.",
        "Install the Nsight Compute version that was released with the driver.",
    ),
    (
        "Failed to find metric",
        "This Nsight Compute does not support a requested counter on this GPU.",
        "Install a newer Nsight Compute, and report its version and the GPU.",
    ),
    (
        "No kernels were profiled",
        "Nsight Compute saw no kernel in the step.",
        "Check that the step runs on the GPU.",
    ),
    (
        "returned an error code (11)",
        "The process crashed under Nsight Compute (segmentation fault).",
        "ncu crashes where Inductor compiles under it: see whether this variant compiles anew in "
        "every process.",
    ),
)
_ERROR = re.compile(r"^==ERROR==\s*(.+?)\s*$", re.MULTILINE)
_LONGEST = 300


def trouble(output: str) -> str | None:
    """The sentence for the errors in ncu's output; None where it holds none."""
    for part, problem, remedy in _KNOWN:
        if part in output:
            return f"{problem} {remedy}"
    errors = _ERROR.findall(output)
    if not errors:
        return None
    return f"Nsight Compute could not measure: {errors[0][:_LONGEST].rstrip('.')}."

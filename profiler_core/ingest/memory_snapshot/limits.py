"""What the process that reads a snapshot may use: memory and processor time."""

import os
from pathlib import Path

from profiler_core.ingest.limits import Limits

# A history of a million allocations with C++ frames is some 2 GB; 100 000 (what captures keep)
# are 2 to 60 MB. Real ones shrink 15 to 60 times under gzip.
SNAPSHOT_LIMITS = Limits(
    max_uncompressed_bytes=2 << 30, max_ratio=400, ratio_counts_from_bytes=64 << 20
)

# Measured on real snapshots: objects and tables take 14 to 20 bytes a byte of the pickle.
_MEMORY_PER_BYTE = 32
_MEMORY_AT_LEAST = 1 << 30
_PROCESSOR_SECONDS = 300


def confine(n_bytes: int) -> None:
    """Limit the additional memory and the processor time of this process.

    Where the system knows no such limits (Windows), or refuses them, nothing happens: the checks
    of the content hold everywhere, this is a second wall.
    """
    try:
        import resource
    except ImportError:
        return
    memory_bytes = _virtual_bytes() + max(_MEMORY_AT_LEAST, _MEMORY_PER_BYTE * n_bytes)
    for resource_kind, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, _PROCESSOR_SECONDS),
    ):
        _, hard = resource.getrlimit(resource_kind)
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(resource_kind, (soft, hard))
        except (ValueError, OSError):  # macOS refuses RLIMIT_AS
            continue


def _virtual_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 4 << 30  # not Linux: what Python with its libraries maps, generously
    return pages * os.sysconf("SC_PAGE_SIZE")

"""What a file is, told by its content; its name is never asked.

Only its first block is looked at, unpacked where it is packed.
"""

import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.ingest.limits import configured
from profiler_core.ingest.nsight_systems.database import MAGIC
from profiler_core.ingest.sniff import Packing, packing_of
from profiler_core.ingest.stream import Stream

_LOOK_AT_BYTES = 256 << 10


class Kind(Enum):
    """The value says it to people."""

    TRACE = "a Kineto trace"
    RUN_RECORD = "a run.json"
    TORCH_LOGS = "a TORCH_LOGS text"
    TORCH_TRACE = "a TORCH_TRACE log"
    MEMORY_SNAPSHOT = "a memory snapshot"
    NVML = "NVML samples"
    HOST = "process samples"
    COUNTERS = "an Nsight Compute CSV"
    NSIGHT_SYSTEMS = "an SQLite export of Nsight Systems"
    NSIGHT_REPORT = "a binary report of Nsight Systems"
    ARCHIVE = "a zip archive"


# What to do about a report; its format is nobody's but nsys's.
AS_SQLITE = "Export it, and pass the .sqlite: nsys export --type sqlite report.nsys-rep"

# What a run's trace may be: both become the same tables (`ingest/open.py`).
TRACES = (Kind.TRACE, Kind.NSIGHT_SYSTEMS)


def kind_of(path: Path) -> Kind | None:
    """The kind, or None where nothing of ours looks like that.

    Raises:
        BadInput: it cannot be unpacked.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        if packing_of(file.read(8)) is Packing.ZIP:
            return Kind.ARCHIVE
    head = _first_block(path)
    return next((kind for kind, test in _TESTS if test(head)), None)


def _first_block(path: Path) -> bytes:
    stream = Stream(path, configured())
    head = b""
    for block in stream:
        head += block
        if len(head) >= _LOOK_AT_BYTES:
            break
    if not head and stream.damage:
        raise BadInput(
            f"{path.name} cannot be unpacked: {stream.damage}.", remedy="Pass the file again."
        )
    return head[:_LOOK_AT_BYTES]


# Kineto writes one object; Chrome's array form is a bare list of events (Trace Event Format).
_EVENT = re.compile(rb'"ph"\s*:\s*"[XBEiIsfMC]"')
_TRACE_KEYS = (b'"traceEvents"', b'"deviceProperties"', b'"schemaVersion"')


def _is_trace(head: bytes) -> bool:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"["):
        return bool(_EVENT.search(head))
    return text.startswith(b"{") and any(key in head for key in _TRACE_KEYS)


def _is_run_record(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and b'"schema_version"' in head and b'"run_id"' in head


def _is_nvml(head: bytes) -> bool:
    first = head.lstrip().split(b"\n", 1)[0]
    return first.startswith(b"{") and b'"t_ns"' in first and b'"gpu_index"' in first


def _is_host(head: bytes) -> bool:
    first = head.lstrip().split(b"\n", 1)[0]
    return first.startswith(b"{") and b'"t_ns"' in first and b'"cpu_ns"' in first


def _is_snapshot(head: bytes) -> bool:
    # Pickle protocol 2 and later opens with PROTO; the dict's first keys name what it is.
    return head[:1] == b"\x80" and (b"segments" in head or b"device_traces" in head)


# Quoted as ncu prints it, or bare after a spreadsheet.
_COUNTERS_HEADER = re.compile(rb'^\xef?\xbb?\xbf?"?ID"?,.*\bKernel Name"?,', re.M)


def _is_counters(head: bytes) -> bool:
    # ncu --csv --page raw: the header follows lines of ==PROF== and of the program.
    return bool(_COUNTERS_HEADER.search(head))


# glog prefix, then a JSON object: torch._logging._internal, trace_structured.
_STRUCTURED = re.compile(rb"^(?:\[rank\d+\]:)?[VDIWEC]\d{4} [\d:.]+ \d+ \S+:\d+\] \{\"", re.M)


def _is_torch_trace(head: bytes) -> bool:
    return bool(_STRUCTURED.search(head[:65536]))


# Names of artifacts and of files of torch's compiler, in any of the formats since 2.1.
_LOG = re.compile(
    rb"\[__\w+\]|torch[/\\]_(?:dynamo|inductor|functorch|logging)|torch\._(?:dynamo|inductor)"
    rb"|(?:\[rank\d+\]:)?[VDIWEC]\d{4} \d\d:\d\d:\d\d"
)


def _is_torch_logs(head: bytes) -> bool:
    return b"\0" not in head and bool(_LOG.search(head))


def _is_nsight_systems(head: bytes) -> bool:
    return head.startswith(MAGIC)  # whether nsys wrote it, its tables tell


def _is_nsight_report(head: bytes) -> bool:
    # .nsys-rep, and .qdrep before 2021.4.
    return head.startswith(b"NVIDIA Tegra Profiler Report")


_TESTS: tuple[tuple[Kind, Callable[[bytes], bool]], ...] = (
    (Kind.NSIGHT_SYSTEMS, _is_nsight_systems),
    (Kind.NSIGHT_REPORT, _is_nsight_report),
    (Kind.MEMORY_SNAPSHOT, _is_snapshot),
    (Kind.RUN_RECORD, _is_run_record),
    (Kind.NVML, _is_nvml),
    (Kind.HOST, _is_host),
    (Kind.TRACE, _is_trace),
    (Kind.COUNTERS, _is_counters),
    (Kind.TORCH_TRACE, _is_torch_trace),
    (Kind.TORCH_LOGS, _is_torch_logs),
)

"""Which process of a recording the trace is of: a trace holds one, a recording may hold many.

globalPid and globalTid pack hardware, machine, process and thread into one number, 8, 8, 24 and
24 bits (nsys-exporter, "Serialized process and thread identifiers").
"""

from collections import defaultdict
from dataclasses import dataclass

from profiler_core.errors import BadInput
from profiler_core.ingest.nsight_systems.database import Database

DEVICE_TABLES = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
)
_THREAD_BITS = 24
_LOW = (1 << _THREAD_BITS) - 1


@dataclass(frozen=True)
class Process:
    """A process that used a GPU. device_time_ns: of its kernels and copies, streams added up."""

    global_pid: int
    n_events: int
    device_time_ns: int

    @property
    def pid(self) -> int:
        """Its number in the system."""
        return pid_of(self.global_pid)


def pid_of(global_id: int) -> int:
    """The process's number out of a globalPid or globalTid."""
    return (global_id >> _THREAD_BITS) & _LOW


def gpu_processes(database: Database) -> list[Process]:
    """Those with device events, the one with most device time first."""
    n_events: defaultdict[int, int] = defaultdict(int)
    time_ns: defaultdict[int, float] = defaultdict(float)
    for table in DEVICE_TABLES:
        for key, n, length in database.totals(table, "globalPid"):
            if isinstance(key, int) and key > 0:
                n_events[key] += n
                time_ns[key] += length
    processes = [Process(key, n, round(time_ns[key])) for key, n in n_events.items()]
    return sorted(processes, key=lambda process: (-process.device_time_ns, process.global_pid))


def choose(processes: list[Process], pid: int | None, name: str) -> Process | None:
    """The process to read: the asked one, else the one with most device time; None: all there is.

    Raises:
        BadInput: the asked one did nothing on a GPU.
    """
    if pid is None:
        return processes[0] if len(processes) > 1 else None
    chosen = next((process for process in processes if process.pid == pid), None)
    if chosen is None:
        pids = ", ".join(str(process.pid) for process in processes[:12]) or "none"
        raise BadInput(
            f"No process {pid} of {name} used a GPU; those that did: {pids}.",
            remedy="Pass one of these to --process, or leave it out.",
        )
    return chosen if len(processes) > 1 else None


def of_process(process: Process | None) -> str:
    """The condition for tables with a globalPid; empty: all rows."""
    return "" if process is None else f'"globalPid" = {process.global_pid}'


def of_threads(process: Process | None) -> str:
    """The condition for tables with a globalTid; empty: all rows."""
    return "" if process is None else f'("globalTid" & {~_LOW}) = {process.global_pid & ~_LOW}'

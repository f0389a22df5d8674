"""The names of the files in a run directory, for whoever writes and whoever reads.

Standard library only and no package imports: `capture/child/` runs on every Python that
torch >= 2.1 runs on (3.8 on) and gets these names handed over in its spec.
"""

RUN_JSON = "run.json"
HEARTBEAT = "heartbeat"
TRACE = "trace.json.gz"
TRACE_STACKS = "trace_stacks.json.gz"
# A folder of traces, recorded while the graphs that TRACE replays were captured; vLLM's name.
GRAPH_CAPTURES = "capture_traces"
TORCH_LOGS = "torch_logs.txt"
TORCH_TRACE = "torch_trace"  # a folder of *.log
SOURCES = "sources.json"
NVML = "nvml.jsonl"
HOST = "host.jsonl"  # the process that computed, beside nvml.jsonl
MEMORY_SNAPSHOT = "memory_snapshot.pickle"
COUNTERS = "counters.csv"  # raw page of Nsight Compute
STDOUT = "stdout.txt"
CAPTURE_JSON = "capture.json"  # beside the runs: what the capture was asked for
# Beside the files of a run that was copied in from elsewhere. Hidden: no file of the run itself.
IMPORTED = ".imported"

SCHEMA_VERSION = 1

# A heartbeat is touched every second while a run is running; older than this, the run is lost.
LOST_AFTER_S = 60.0

# Raw rounds and step times of a long capture are about 100 kB; beyond this it is no run.json.
LARGEST_RUN_JSON_BYTES = 32 * 1024 * 1024


def is_text(name):
    # type: (str) -> bool
    """Is a name on the disk text in UTF-8?

    What is called otherwise belongs to no run: no database, archive or list could name it.
    """
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

"""Fusionscope from the file to the kernel table and the busy/idle partition."""

import json
import sys
import time
from pathlib import Path

from profiler_core.analysis.summary import summarise
from profiler_core.ingest.open import open_trace

start = time.perf_counter()
trace = open_trace(Path(sys.argv[1]))
loaded = time.perf_counter()
summary = summarise(trace)
print(
    json.dumps(
        {
            "load_s": loaded - start,
            "kernels": len(summary.kernels),
            "busy_ms": round(summary.busy_ns / 1e6, 3),
        }
    )
)

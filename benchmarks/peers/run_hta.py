"""HolisticTraceAnalysis: load, kernel breakdown, idle breakdown, temporal breakdown.

A breakdown that raises is named in the result and its time is left in.
"""

import json
import sys
import time

from hta.trace_analysis import TraceAnalysis


def busy_ms(table):
    row = table.iloc[0]
    return round(float(row["compute_time(us)"] + row["non_compute_time(us)"]) / 1e3, 3)


start = time.perf_counter()
analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
loaded = time.perf_counter()
result = {"load_s": loaded - start, "failed": []}
for name, question in (
    ("kernels", lambda: len(analysis.get_gpu_kernel_breakdown(visualize=False)[1])),
    ("idle", lambda: len(analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0])),
    ("busy_ms", lambda: busy_ms(analysis.get_temporal_breakdown(visualize=False))),
):
    try:
        result[name] = question()
    except Exception as error:  # whatever a peer raises is a result
        result["failed"].append(f"{name}: {type(error).__name__}")


print(json.dumps(result))

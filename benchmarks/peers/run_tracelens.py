"""TraceLens: load, GPU timeline (busy and idle), kernel launchers and kernels by name."""

import json
import sys
import time

from TraceLens import TreePerfAnalyzer

start = time.perf_counter()
analyzer = TreePerfAnalyzer.from_file(sys.argv[1])
loaded = time.perf_counter()
result = {"load_s": loaded - start, "failed": []}


def busy_ms():
    table = analyzer.get_df_gpu_timeline()
    return round(float(table.loc[table["type"] == "busy_time", "time ms"].iloc[0]), 3)


for name, question in (
    ("busy_ms", busy_ms),
    ("kernels", lambda: len(analyzer.get_df_kernels())),
):
    try:
        result[name] = question()
    except Exception as error:  # whatever a peer raises is a result
        result["failed"].append(f"{name}: {type(error).__name__}")
print(json.dumps(result))

"""`make bench`: the peers on the largest shipped sample, on 200 MB and on 1 GB of it repeated."""

import sys

from benchmarks import bench_ingest
from profiler_core.resources import sample_traces_directory

if __name__ == "__main__":
    if len(sys.argv) == 1:
        samples = sorted(
            sample_traces_directory().glob("*/*/trace.json.gz"), key=lambda p: p.stat().st_size
        )
        if not samples:
            sys.exit("sample_traces holds no trace: run make samples on a machine with a GPU.")
        sys.argv += [str(samples[-1]), "--source", str(samples[-1])]
    bench_ingest.main()

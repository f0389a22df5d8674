"""How long the timeline's route works on a zoom of an opened trace, packet included.

    python -m benchmarks.bench_zoom TRACE… [--repeats 20]

The trace should hold some million events. Each window is asked for at random places, as someone
who pans does; printed are the median and the slowest, and the size of the packet.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

from profiler_core.timeline.cache import index_trace
from profiler_core.timeline.packet import encode
from profiler_core.timeline.view import view

_WIDTH = 1600
_ZOOMS = (1, 10, 100, 1_000, 10_000, 100_000)


def main() -> None:
    """Print a line for each zoom."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    for path in arguments.traces:
        index = index_trace(path)
        start, end = int(index.ts.min()), int((index.ts + index.dur).max())
        print(f"{path.name}: {index.ts.size} events, {(end - start) / 1e9:.2f} s")
        random = np.random.default_rng(0)
        for zoom in _ZOOMS:
            length = max(_WIDTH, (end - start) // zoom)
            times, busy, sizes = [], [], []
            for _ in range(arguments.repeats):
                at = int(random.integers(start, max(start + 1, end - length)))
                begin, begin_cpu = time.perf_counter(), time.process_time()
                packet = encode(index, view(index, at, at + length, _WIDTH, None))
                times.append(time.perf_counter() - begin)
                busy.append(time.process_time() - begin_cpu)
                sizes.append(len(packet))
            print(
                f"  1/{zoom:<7} median {statistics.median(times) * 1e3:6.1f} ms, slowest "
                f"{max(times) * 1e3:6.1f} ms, CPU {statistics.median(busy) * 1e3:6.1f} ms, "
                f"{max(sizes) / 1e3:6.0f} kB"
            )


if __name__ == "__main__":
    main()

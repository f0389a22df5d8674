"""What a page costs where ten thousand runs lie: CPU of listing them and of whole page scripts.

    python -m benchmarks.bench_library [--captures 2000] [--variants 5]

Makes a home of so many captures, each of the shipped sample's records under other names and days,
without traces but for the newest one; then lists them cold and again, and runs the scripts of
*Overview* and *Runs* in AppTest. `CPU` is the process's own time, each figure the median of
five, the first run of a page left out. Memory is the process's peak.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from streamlit.testing.v1 import AppTest

from profiler_core.store import library

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "sample_traces" / "breaky"
_RUNS = 5


def make_library(home: Path, n_captures: int, n_variants: int) -> None:
    """Captures of the sample's records, the newest with its traces."""
    records = [
        json.loads((SAMPLE / name / "run.json").read_bytes()) for name in ("eager", "default")
    ]
    for index in range(n_captures):
        day, minute = divmod(index, 400)
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day, minutes=minute)
        name = f"{moment:%Y%m%d-%H%M%S}-{index:05}"
        folder = home / "runs" / name
        for number in range(n_variants):
            record = dict(records[min(number, 1)])
            record["run_id"] = f"{name}-{number}"
            record["capture_id"] = name
            record["created_at"] = moment.isoformat()
            record["workload"] = f"model {index % 40}"
            variant = folder / ("eager" if number == 0 else f"default-{number}")
            variant.mkdir(parents=True)
            (variant / "run.json").write_text(json.dumps(record))
    for variant, origin in (("eager", "eager"), ("default-1", "default")):
        trace = SAMPLE / origin / "trace.json.gz"
        shutil.copy(trace, home / "runs" / name / variant / trace.name)


def cpu_s(work: Callable[[], object], n_runs: int = _RUNS) -> float:
    """Median CPU seconds of this process."""
    seconds = []
    for _ in range(n_runs):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def main() -> None:
    """Make the library, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=2000)
    parser.add_argument("--variants", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FUSIONSCOPE_HOME"] = folder
        make_library(Path(folder), arguments.captures, arguments.variants)
        n_runs = arguments.captures * arguments.variants
        print(f"{n_runs} runs in {arguments.captures} captures")
        print(f"list, cold: {cpu_s(library.comparisons, 1):.3f} s CPU")
        print(f"list, again: {cpu_s(library.comparisons):.3f} s CPU")
        for page in ("overview", "runs"):
            app = AppTest.from_file(str(ROOT / "pages" / f"{page}.py"), default_timeout=300)
            print(f"{page}, first script: {cpu_s(app.run, 1):.3f} s CPU")
            print(f"{page}, a click: {cpu_s(app.run):.3f} s CPU")
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"peak memory: {peak_kb / 1e3:.0f} MB")


if __name__ == "__main__":
    main()

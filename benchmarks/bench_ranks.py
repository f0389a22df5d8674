"""Many ranks made from a real one: time and memory against their number, and is the slow one named?

    python -m benchmarks.bench_ranks [N_RANKS …]        64 by default; 16 32 64 for the slope

Each rank is a copy of the shipped trace of rank 1 of two (sample_traces/ddp/eager), which waits
for nobody, with every time shifted by its own amount and its own rank and world size in the head.
All ranks but one get the collectives of rank 0, which waits 33 ms a step. Peak memory is of the
command and all processes that it starts.
"""

import argparse
import gzip
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Run, measure

SAMPLE = Path(__file__).resolve().parents[1] / "sample_traces" / "ddp" / "eager"
_TS = re.compile(r'"ts": (\d+)\.(\d+)')
_INFO = re.compile(r'"rank": \d+, "world_size": \d+')
_GROUP = re.compile(r'"Process Group Ranks": "\[0, 1\]"|"Group size": 2')


def make_ranks(folder: Path, n: int, slow: int) -> None:
    """Write n traces; rank `slow` is the one that computes more and comes last."""
    text = {
        rank: gzip.decompress(path.read_bytes()).decode()
        for rank, path in ((0, SAMPLE / "trace.json.gz"), (1, SAMPLE / "ranks/1/trace.json.gz"))
    }
    for rank in range(n):
        source = text[1 if rank == slow else 0]
        shift = 1_000_003 * rank  # µs: no two ranks share a clock
        moved = _TS.sub(lambda m, s=shift: f'"ts": {int(m[1]) + s}.{m[2]}', source)
        moved = _INFO.sub(f'"rank": {rank}, "world_size": {n}', moved, count=1)
        moved = _GROUP.sub(
            lambda m: f'"Group size": {n}' if "size" in m[0] else '"Process Group Ranks": "[]"',
            moved,
        )
        (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(moved.encode(), 1))


def _analyse(folder: Path, home: Path, n_processes: int) -> tuple[Run, float]:
    """The run, and its CPU seconds: those are the same on a busy machine."""
    command = [
        sys.executable, "-m", "profiler_core", "ranks", str(folder), "--json",
        "--processes", str(n_processes),
    ]  # fmt: skip
    before = os.times()
    run = measure(command, {"FUSIONSCOPE_HOME": str(home)}, timeout_s=3600)
    assert run.status == 0, f"ranks ended with {run.status}"
    after = os.times()
    cpu_s = after.children_user + after.children_system
    return run, cpu_s - before.children_user - before.children_system


def main() -> None:
    """Print one line for each number of ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ranks", nargs="*", type=int, default=[64])
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    print(" ranks     MB  wall s   CPU s  CPU ms/rank  again: wall s   CPU s  peak MB  slow")
    for n in arguments.ranks:
        slow = n * 2 // 3
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "job"
            folder.mkdir()
            make_ranks(folder, n, slow)
            size = sum(p.stat().st_size for p in folder.iterdir())
            runs = [_analyse(folder, Path(scratch) / "home", arguments.processes) for _ in "12"]
        (first, cpu_s), (again, again_cpu_s) = runs  # the second time from the columns
        (job,) = json.loads(first.output)["jobs"]
        named = job["straggler"]["rank"] if job["straggler"] else None
        assert len(job["ranks"]) == n
        assert named == slow, f"{named} was named, not {slow}"
        print(
            f"{n:6} {size / 1e6:6.1f} {first.wall_s:7.2f} {cpu_s:7.2f} {cpu_s / n * 1e3:12.1f}"
            f" {again.wall_s:14.2f} {again_cpu_s:7.2f} {first.peak_bytes / 1e6:8.0f}  {named}"
        )


if __name__ == "__main__":
    main()

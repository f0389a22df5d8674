"""Many ranks made from real ones: CPU and memory against their number; is what was planted said?

    python -m benchmarks.bench_ranks [N_RANKS …] [--processes 2] [--keep FOLDER]    64 by default

Each rank is a copy of a tensor-parallel one of two H200s (tests/fixtures/jobs.tar.xz), moved to a
clock of its own, with a mesh in its header: tensor parallelism of 8 neighbours, 4 pipeline stages,
data parallelism over the rest. Stage 2 is stretched by 10 %; in one group of 8 every collective
takes half as long again; in another the ranks wait for one whose device spins for 8 ms per step.
Peak memory is of the command and all processes that it starts.
"""

import argparse
import gzip
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Run, measure
from tests.larger import FIXTURES, unpacked

TP, N_STAGES, LONG_STAGE, STRETCH, SLOW_LINK = 8, 4, 2, 1.1, 1.5


@dataclass(frozen=True)
class Job:
    """Which rank is slow, and which group talks slowly."""

    n: int

    @property
    def slow_rank(self) -> int:
        """In the group that is two thirds down the list."""
        return self.n * 2 // 3

    @property
    def slow_group(self) -> range:
        """The first group of neighbours."""
        return range(TP)

    def stage(self, rank: int) -> int:
        """Of the pipeline; groups of neighbours share one."""
        return rank // TP % N_STAGES

    def groups(self, rank: int) -> list[tuple[str, list[int]]]:
        """Description and ranks of the groups that a rank is in."""
        first = rank // TP * TP
        block = rank // (TP * N_STAGES) * TP * N_STAGES
        place = rank - block
        return [
            ("mesh_tp", list(range(first, first + TP))),
            ("mesh_pp", [block + stage * TP + rank % TP for stage in range(N_STAGES)]),
            ("mesh_dp", list(range(place, self.n, TP * N_STAGES))),
        ]


def make_ranks(folder: Path, n: int) -> Job:
    """Write n traces; n is a multiple of TP * N_STAGES."""
    jobs = unpacked(FIXTURES / "jobs.tar.xz")
    job, texts = Job(n), dict[tuple[str, float, float], str]()
    for rank in range(n):
        waits = rank // TP == job.slow_rank // TP
        source = "tp-even/default/trace.json.gz"
        if waits:
            place = "ranks/1/trace.json.gz" if rank == job.slow_rank else "trace.json.gz"
            source = f"tp-spin/default/{place}"
        key = (
            source,
            STRETCH if job.stage(rank) == LONG_STAGE else 1.0,
            SLOW_LINK if rank in job.slow_group else 1.0,
        )
        if key not in texts:
            texts[key] = _template(jobs / source, *key[1:])
        trace = _of_rank(texts[key], rank, job)
        (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(trace.encode(), 1))
    return job


def _template(source: Path, stretch: float, link: float) -> str:
    """A trace with longer times, whose rank, groups and clock are to be filled in."""
    trace = json.loads(gzip.decompress(source.read_bytes()))
    first = min(event["ts"] for event in trace["traceEvents"] if "ts" in event)
    for event in trace["traceEvents"]:
        if "ts" in event:
            event["ts"] = round(first + (event["ts"] - first) * stretch, 3)
        if "dur" in event:
            is_collective = event["name"].startswith("nccl") and event.get("cat") == "kernel"
            event["dur"] = round(event["dur"] * stretch * (link if is_collective else 1.0), 3)
        arguments = event.get("args", {})
        if "Process Group Ranks" in arguments:
            arguments["Process Group Ranks"] = "@RANKS@"
            arguments["Process Group Name"] = "@NAME@"
            arguments["Group size"] = TP
    trace["distributedInfo"] = "@INFO@"
    trace["baseTimeNanoseconds"] = "@BASE@"
    return json.dumps(trace, separators=(",", ":"))


def _of_rank(template: str, rank: int, job: Job) -> str:
    groups = job.groups(rank)
    info = {
        "backend": "nccl", "rank": rank, "world_size": job.n,
        "pg_config": [
            {"pg_name": f"{description}-{ranks[0]}", "pg_desc": description, "ranks": ranks}
            for description, ranks in groups
        ],
    }  # fmt: skip
    _, own = groups[0]
    base = 1_790_000_000_000_000_000 + 1_003_000_000_000 * rank  # no two ranks share a clock
    return (
        template.replace("@RANKS@", str(own))
        .replace("@NAME@", f"mesh_tp-{own[0]}")
        .replace('"@INFO@"', json.dumps(info))
        .replace('"@BASE@"', str(base))
    )


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


def _check(answer: str, made: Job) -> None:
    (job,) = json.loads(answer)["jobs"]
    assert len(job["ranks"]) == made.n
    assert job["straggler"]["rank"] == made.slow_rank, job["straggler"]
    assert [d["label"] for d in job["mesh"]] == ["tp", "pp", "dp"][: len(job["mesh"])]
    assert any(group["where"] == f"pp {LONG_STAGE}" for group in job["alike"]), [
        (group["where"], len(group["ranks"])) for group in job["alike"]
    ]
    assert job["links"][0]["group"] == ",".join(map(str, made.slow_group))


def main() -> None:
    """Print one line for each number of ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ranks", nargs="*", type=int, default=[64])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="where the traces stay")
    arguments = parser.parse_args()
    print(" ranks     MB  wall s   CPU s  CPU ms/rank  peak MB   again: wall s   CPU s  peak MB")
    for n in arguments.ranks:
        with tempfile.TemporaryDirectory() as scratch:
            folder = arguments.keep or Path(scratch) / "job"
            folder.mkdir(parents=True, exist_ok=True)
            made = make_ranks(folder, n)
            size = sum(p.stat().st_size for p in folder.iterdir())
            runs = [_analyse(folder, Path(scratch) / "home", arguments.processes) for _ in "12"]
        (first, cpu_s), (again, again_cpu_s) = runs  # the second time from the kept job
        print(
            f"{n:6} {size / 1e6:6.1f} {first.wall_s:7.2f} {cpu_s:7.2f} {cpu_s / n * 1e3:12.1f}"
            f" {first.peak_bytes / 1e6:8.0f} {again.wall_s:15.2f} {again_cpu_s:7.2f}"
            f" {again.peak_bytes / 1e6:8.0f}"
        )
        _check(again.output, made)


if __name__ == "__main__":
    main()

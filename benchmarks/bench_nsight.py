"""Reading an export of Nsight Systems, beside SQLite itself handing the same cells to Python.

    python -m benchmarks.bench_nsight [--steps 1000] [--runs 3]

The export is made here: a step of 200 operators under emit_nvtx, each with a launch and a kernel.
SQLite's own scan, its rows dropped, is what no reader in Python can be faster than. CPU seconds of
the whole process are told beside the wall time, because they hold on a busy machine too.
"""

import argparse
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench_ingest import machine
from benchmarks.measure import measure

_OPERATORS = 200  # a step
_PROCESS = 1 << 48 | 4711 << 24
_TIMEOUT_S = 1800.0

# The columns that the product reads, of the three large tables.
_SCAN = """
import sqlite3, sys
c = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro&immutable=1", uri=True)
n = 0
for query in (
    "SELECT start, end, deviceId, streamId, correlationId, globalPid, graphNodeId, graphId, "
    "demangledName, shortName, registersPerThread, staticSharedMemory, dynamicSharedMemory, "
    "'[' || gridX || ',' || gridY || ',' || gridZ || ']', "
    "'[' || blockX || ',' || blockY || ',' || blockZ || ']' FROM CUPTI_ACTIVITY_KIND_KERNEL",
    "SELECT start, end, correlationId, globalTid, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME",
    "SELECT start, end, eventType, substr(text, 1, 16384), textId, globalTid, endGlobalTid, "
    "domainId FROM NVTX_EVENTS",
):
    cursor = c.execute(query)
    while rows := cursor.fetchmany(50_000):
        n += len(rows)
print(n)
"""


def make_export(path: Path, n_steps: int) -> int:
    """Write it; returns its rows."""
    kernels = "start end deviceId contextId streamId correlationId globalPid demangledName "
    kernels += "shortName registersPerThread gridX gridY gridZ blockX blockY blockZ "
    kernels += "staticSharedMemory dynamicSharedMemory graphNodeId graphId"
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": (kernels, _kernels(n_steps)),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (
            "start end eventClass globalTid correlationId nameId returnValue",
            _calls(n_steps),
        ),
        "NVTX_EVENTS": (
            "start end eventType text globalTid endGlobalTid textId domainId",
            _ranges(n_steps),
        ),
        "StringIds": ("id value", _strings()),
    }
    connection = sqlite3.connect(path)
    n_rows = 0
    for table, (columns, rows) in tables.items():
        names = columns.split()
        quoted = ", ".join(f'"{name}"' for name in names)
        connection.execute(f"CREATE TABLE {table} ({quoted})")
        insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})"
        n_rows += connection.executemany(insert, rows).rowcount
    connection.commit()
    connection.close()
    return n_rows


def _moments(n_steps: int) -> Iterator[tuple[int, int, int]]:
    """(step, operator, ns) of each launch."""
    for step in range(n_steps):
        for operator in range(_OPERATORS):
            yield step, operator, step * 5_000_000 + operator * 20_000


def _kernels(n_steps: int) -> Iterator[tuple[object, ...]]:
    for step, operator, at in _moments(n_steps):
        correlation = step * _OPERATORS + operator + 1
        yield (
            *(
                at + 9_000,
                at + 24_000,
                0,
                1,
                7,
                correlation,
                _PROCESS,
                operator % 40,
                operator % 40,
            ),
            *(32, 1568, 1, 1, 128, 1, 1, 1024, 0, None, None),
        )


def _calls(n_steps: int) -> Iterator[tuple[object, ...]]:
    for step, operator, at in _moments(n_steps):
        correlation = step * _OPERATORS + operator + 1
        yield at + 5_000, at + 8_000, 0, _PROCESS | 4712, correlation, 40, 0


def _ranges(n_steps: int) -> Iterator[tuple[object, ...]]:
    thread = _PROCESS | 4712
    for step, operator, at in _moments(n_steps):
        if operator == 0:
            yield at, at + 4_900_000, 59, f"step {step}", thread, None, None, 0
        text = f"aten::addmm, seq = {step}, op_id = {operator}, sizes = [[64], [32, 64], [64, 64]]"
        yield at + 1_000, at + 15_000, 59, text, thread, None, None, 0


def _strings() -> Iterator[tuple[int, str]]:
    for number in range(40):
        yield number, f"void at::native::kernel_{number}<4, float>(int, float*)"
    yield 40, "cudaLaunchKernel_v7000"


def _runs(name: str, command: list[str], n_rows: int, n_runs: int) -> None:
    walls, cpus, peaks = [], [], []
    for number in range(n_runs):
        with tempfile.TemporaryDirectory() as home:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            run = measure(command, {"FUSIONSCOPE_HOME": home}, _TIMEOUT_S)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if run.status:
            sys.exit(f"{name} ended with status {run.status}: {run.output[-500:]}")
        walls.append(run.wall_s)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        peaks.append(run.peak_bytes)
        print(f"{name}, run {number + 1}: {walls[-1]:.2f} s, CPU {cpus[-1]:.2f} s", file=sys.stderr)
    cpu = statistics.median(cpus)
    print(
        f"| {name} | {statistics.median(walls):.2f} | {cpu:.2f} | {n_rows / cpu / 1e3:.0f} | "
        f"{max(peaks) / 1e6:.0f} |"
    )


def main() -> None:
    """Make the file, read it, print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.sqlite"
        begun = time.perf_counter()
        n_rows = make_export(path, asked.steps)
        print(f"made in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
        print(f"{machine()}; {n_rows} rows, {path.stat().st_size / 1e6:.0f} MB\n")
        print("| | wall s | CPU s | thousand rows a CPU second | peak MB |\n|---|---|---|---|---|")
        scan = [sys.executable, "-c", _SCAN, str(path)]
        _runs("SQLite alone, rows dropped", scan, n_rows, asked.runs)
        product = [sys.executable, "-m", "profiler_core.ingest", str(path)]
        _runs("Fusionscope: columns in the cache", product, n_rows, asked.runs)


if __name__ == "__main__":
    main()

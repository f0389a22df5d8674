"""The raw parser beside the product: how fast the file could be read if nothing else were done.

    python -m benchmarks.bench_parser TRACE… [--runs 5]

DuckDB's JSON reader on the product's own pieces of the file, one thread a core, each row doing
more than the one above it: only cutting, parsing, filling the product's fields and counting
them, and handing all of them over as Arrow. What the product needs beyond the last row is its
own: dealing the rows to tables, writing and checking columns, the analysis, starting Python.
The best of several runs is told, because whatever else the machine does only adds to it; the CPU
time of all threads divided by the cores is what an idle machine would need at least.
"""

import argparse
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb

from benchmarks.bench_ingest import machine
from profiler_core.ingest.kineto import decode
from profiler_core.ingest.kineto.chunks import Chunks
from profiler_core.ingest.kineto.repair import Mender
from profiler_core.ingest.limits import Limits
from profiler_core.ingest.stream import Stream

_N_THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
Reader = Callable[[bytes], int]  # the events of a piece -> how many there are


def pieces(trace: Path) -> Iterator[bytes]:
    """The file cut as the product cuts it."""
    limits = Limits()
    mender = Mender(limits)
    chunks = Chunks(iter(Stream(trace, limits)), trace.name, limits)
    for text, is_last in chunks:
        mender.in_object = chunks.in_object
        yield (mender.split_end(text) or b"") if is_last else text


class _Parser:
    """DuckDB with one cursor a thread, as the product's decoder has it.

    Args:
        select: what is asked of the fields, which stand for {fields} in it.
    """

    def __init__(self, select: str) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET enable_progress_bar = false")
        self._queries = tuple(
            select.replace("{fields}", fields)
            for fields in (decode._TYPED_QUERY, decode._TEXT_QUERY)
        )
        self._thread = threading.local()

    def counted(self, events: bytes) -> int:
        """Events in the piece, in DuckDB alone."""
        return int(self._asked(events, lambda relation: relation.fetchall()[0][0]))

    def converted(self, events: bytes) -> int:
        """Events in the piece, all fields handed over."""
        return int(self._asked(events, lambda relation: relation.to_arrow_table().num_rows))

    def _asked(self, events: bytes, take: Callable[[duckdb.DuckDBPyRelation], int]) -> int:
        text = _as_array(events)
        if not hasattr(self._thread, "cursor"):
            self._thread.cursor = self._connection.cursor()
        with decode._as_file(text) as path:
            try:
                return take(self._thread.cursor.sql(self._query(0, path, decode._USUAL_BYTES)))
            except duckdb.Error:  # as the product: some piece has a text where a number stood
                return take(self._thread.cursor.sql(self._query(1, path, len(text))))

    def _query(self, number: int, path: str, largest: int) -> str:
        return self._queries[number].format(path=path, largest=max(decode._USUAL_BYTES, largest))


def _as_array(events: bytes) -> bytearray:
    text = bytearray(b"[")
    text += events
    text += b"]"
    decode._rename_bytes(text)
    return text


def run(trace: Path, reader: Reader, n_threads: int) -> tuple[float, float, int]:
    """Seconds for the whole file, seconds of all cores together, and the number of events."""
    begin, begin_cpu = time.perf_counter(), time.process_time()
    n_events = 0
    waiting: deque = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for piece in pieces(trace):
            waiting.append(pool.submit(reader, piece))
            while len(waiting) > n_threads:
                n_events += waiting.popleft().result()
        n_events += sum(future.result() for future in waiting)
    return time.perf_counter() - begin, time.process_time() - begin_cpu, n_events


def main() -> None:
    """Print one row for each trace and stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    stages: dict[str, Reader] = {
        "cutting alone": lambda _events: 0,
        "parsed": _Parser("SELECT count(*) FROM ({fields})").counted,
        "parsed, all fields counted": _Parser(
            "SELECT count(*), count(COLUMNS(*)) FROM ({fields})"
        ).counted,
        "parsed, all fields as Arrow": _Parser("{fields}").converted,
    }
    print(f"{machine()}, {_N_THREADS} threads\n")
    print("| trace | stage | best s | median s | CPU s | MB/s | events |")
    print("|---|---|---|---|---|---|---|")
    for trace in chosen.traces:
        size = trace.stat().st_size / 1e6
        for name, reader in stages.items():
            runs = [run(trace, reader, _N_THREADS) for _ in range(chosen.runs)]
            seconds = sorted(wall for wall, _, _ in runs)
            cpu = min(cpu for _, cpu, _ in runs)
            print(
                f"| {trace.name} ({size:.0f} MB) | {name} | {seconds[0]:.2f} | "
                f"{seconds[len(seconds) // 2]:.2f} | {cpu:.2f} | {size / seconds[0]:.0f} | "
                f"{runs[0][2] or ''} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""How fast logs of the compiler are read, and in how much memory: text and structured.

The logs are the fixtures of all versions, one after the other until the size is reached. The bar
is 50 MB/s. Run: python -m benchmarks.bench_logs [--megabytes 200]
"""

import argparse
import gzip
import resource
import tempfile
import time
from pathlib import Path

from profiler_core.ingest.compile_log.reader import read_compile_log_files

_FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "torch_logs"


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    n_bytes = parser.parse_args().megabytes * 1_000_000
    for name, pattern in (
        ("text", "2.*/*/torch_logs.rg.txt.gz"),
        ("structured", "2.*/*/torch_trace/*"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log"
            _fill(path, sorted(_FIXTURES.glob(pattern)), n_bytes)
            _measure(name, path)


def _fill(path: Path, parts: list[Path], n_bytes: int) -> None:
    texts = [gzip.decompress(part.read_bytes()) for part in parts]
    blob = b"".join(text for text in texts if text.endswith(b"\n"))
    with path.open("wb") as file:
        for _ in range(n_bytes // len(blob) + 1):
            file.write(blob)


def _measure(name: str, path: Path) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    log = read_compile_log_files([path])
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    size = path.stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name}: {size:.0f} MB in {seconds:.2f} s ({size / seconds:.0f} MB/s, "
        f"{size / cpu:.0f} MB a CPU second), {log.n_lines} lines, {log.n_unparsed} unparsed, "
        f"peak {peak:.0f} MB resident"
    )


if __name__ == "__main__":
    main()

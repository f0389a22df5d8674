"""Larger real captures and logs, packed into one file: `LARGER` is the folder with them unpacked.

tests/fixtures/larger.tar.xz holds 150 MB in 4: files named `.gz` lie in it unpacked, since they
pack far better together, and get their gzip back here, once in a checkout. What they are and where
they come from stands in tests/fixtures/larger.md.

`python -m tests.larger FOLDER` packs what the tests read of a folder with `captures`, `breaks`,
`counters` and `torch_logs`.
"""

import fcntl
import gzip
import hashlib
import io
import lzma
import shutil
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent / "fixtures"
ARCHIVE = FIXTURES / "larger.tar.xz"
UNPACKED = FIXTURES / "larger"
STAMP = "archive.sha256"

READ_BY_TESTS = (
    *("captures/*/run.json", "captures/*/trace.json.gz", "captures/*/torch_trace.log.gz"),
    *("breaks/*/run.json", "breaks/*/trace.json.gz", "counters/*.csv.gz"),
    *("torch_logs/*/*/truth*.json*", "torch_logs/*/*/torch_logs*.txt*"),
    "torch_logs/*/*/torch_trace/*",
)


def _unpacked() -> Path:
    """The folder, made anew where the archive is another one; workers wait for the first."""
    digest = hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()
    stamp = UNPACKED / STAMP
    with (FIXTURES / "larger.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.is_file() or stamp.read_text() != digest:
            shutil.rmtree(UNPACKED, ignore_errors=True)
            with tarfile.open(ARCHIVE) as archive:
                for member in archive:
                    _write(UNPACKED / member.name, archive.extractfile(member).read())
            stamp.write_text(digest)
    return UNPACKED


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 1, mtime=0) if path.suffix == ".gz" else data)


def _files(source: Path) -> Iterator[Path]:
    for pattern in READ_BY_TESTS:
        yield from sorted(source.glob(pattern))


def pack(source: Path) -> None:
    """Write the archive from what the tests read below `source`."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for path in _files(source):
            data = path.read_bytes()
            member = tarfile.TarInfo(str(path.relative_to(source)))
            member.size = len(data := gzip.decompress(data) if path.suffix == ".gz" else data)
            archive.addfile(member, io.BytesIO(data))
    ARCHIVE.write_bytes(lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
else:
    LARGER = _unpacked()

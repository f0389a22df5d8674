"""Larger real captures and logs, packed into a file each: `LARGER` is one of them unpacked.

tests/fixtures/larger.tar.xz holds 150 MB in 4: files named `.gz` lie in it unpacked, since they
pack far better together, and get their gzip back here, once in a checkout. What they are and where
they come from stands in tests/fixtures/larger.md; tests/fixtures/judge_pairs.tar.xz is such a file
too, with the pairs that the ledger's judge reads.

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
JUDGE_PAIRS = FIXTURES / "judge_pairs.tar.xz"
TF32 = FIXTURES / "tf32.tar.xz"
STAMP = "archive.sha256"

READ_BY_TESTS = (
    *("captures/*/run.json", "captures/*/trace.json.gz", "captures/*/torch_trace.log.gz"),
    *("breaks/*/run.json", "breaks/*/trace.json.gz", "counters/*.csv.gz"),
    *("torch_logs/*/*/truth*.json*", "torch_logs/*/*/torch_logs*.txt*"),
    "torch_logs/*/*/torch_trace/*",
)


def unpacked(archive: Path) -> Path:
    """The archive's folder beside it, made anew where the archive is another one.

    Workers wait for the first.
    """
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    folder = archive.with_name(archive.name.removesuffix(".tar.xz"))
    stamp = folder / STAMP
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.is_file() or stamp.read_text() != digest:
            shutil.rmtree(folder, ignore_errors=True)
            with tarfile.open(archive) as members:
                for member in members:
                    _write(folder / member.name, members.extractfile(member).read())
            stamp.write_text(digest)
    return folder


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
    LARGER = unpacked(ARCHIVE)

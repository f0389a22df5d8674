"""An archive from elsewhere takes neither memory nor files without end, and loses nothing."""

import errno
import io
import os
import shutil
import tarfile
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.jobs import received
from profiler_core.jobs.received import Received, receive


def sent(archive: bytes) -> io.BytesIO:
    pieces = b"%d\n%s0\n" % (len(archive), archive) if archive else b"0\n"
    return io.BytesIO(b"R\n" + pieces)


def packed(*names: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w|") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    return buffer.getvalue()


def header(kind: bytes, size: int) -> bytes:
    member = tarfile.TarInfo("x")
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def test_a_whole_archive_is_all_here(tmp_path: Path) -> None:
    answer = receive(sent(packed("cap/a", "cap/b")), tmp_path / "progress", tmp_path / "made")
    assert answer.is_all_here
    assert sorted(path.name for path in (tmp_path / "made" / "cap").iterdir()) == ["a", "b"]


@pytest.mark.parametrize(
    "kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_SPARSE]
)
def test_no_header_takes_memory_without_end(tmp_path: Path, kind: bytes) -> None:
    n_bytes = 60_000_000
    stream = sent(packed("cap/a")[:512] + header(kind, n_bytes) + b"1" * n_bytes)
    tracemalloc.start()
    try:
        answer = receive(stream, tmp_path / "progress", tmp_path / "made")
        assert tracemalloc.get_traced_memory()[1] < n_bytes / 10
    finally:
        tracemalloc.stop()
    assert (answer.is_whole, answer.is_readable, answer.is_all_here) == (True, False, False)
    assert (tmp_path / "made" / "cap" / "a").exists()


def test_a_chain_of_headers_ends(tmp_path: Path) -> None:
    pax = header(tarfile.XHDTYPE, 512) + b"11 path=ab\n".ljust(512, b"\0")
    answer = receive(sent(pax * 5_000), tmp_path / "progress", tmp_path / "made")
    assert answer == Received(True, False, False)


def test_no_more_files_than_captures_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received, "_MOST_MEMBERS", 2)
    answer = receive(sent(packed("a", "b", "c")), tmp_path / "progress", tmp_path / "made")
    assert answer.lacks_room and not answer.is_all_here
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["a", "b"]


@pytest.mark.parametrize(("n_free", "comes"), [(10, False), (10_000, True)])
def test_a_disk_without_inodes_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_free: int, comes: bool
) -> None:
    about = SimpleNamespace(f_files=1_000_000, f_favail=n_free)
    monkeypatch.setattr(os, "statvfs", lambda _: about)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 40))
    answer = receive(sent(packed("a")), tmp_path / "progress", tmp_path / "made")
    assert answer.is_all_here is comes
    about.f_files = 0  # a file system that does not count them
    assert receive(sent(packed("a")), tmp_path / "progress", tmp_path / "made").is_all_here


def test_no_folders_so_deep_that_nobody_can_delete_them(tmp_path: Path) -> None:
    stream = sent(packed("cap/" + "a/" * 1_000 + "b", "cap/c"))
    assert receive(stream, tmp_path / "progress", tmp_path / "made").is_whole
    assert [path.name for path in (tmp_path / "made" / "cap").iterdir()] == ["c"]


def test_a_disk_that_takes_no_progress_costs_no_runs(tmp_path: Path) -> None:
    (tmp_path / "progress").mkdir()  # cannot be written
    stream = io.BytesIO(b'S/there\nP{"t": 1}\n' + sent(packed("cap/a")).getvalue())
    assert receive(stream, tmp_path / "progress", tmp_path / "made").is_all_here


def test_a_disk_that_takes_no_folder_lets_its_sender_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    stream = sent(packed("cap/a"))
    monkeypatch.setattr(Path, "mkdir", full)
    answer = receive(stream, tmp_path / "progress", tmp_path / "made")
    assert (answer.lacks_room, answer.is_all_here, stream.read()) == (True, False, b"")

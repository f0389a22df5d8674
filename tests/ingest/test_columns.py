"""The columnar cache: equal to what was read, found by content, never trusted when damaged."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from profiler_core.errors import BadInput, Cancelled
from profiler_core.ingest import columns
from profiler_core.ingest import fingerprint as fingerprint_module
from profiler_core.ingest import open as door
from profiler_core.ingest import run as run_module
from profiler_core.ingest.file_kind import TraceFormat
from profiler_core.ingest.fingerprint import fingerprint
from profiler_core.ingest.kineto.reader import read_kineto, reading
from profiler_core.model.trace import RECORDED_BY, TABLE_SCHEMAS, Trace
from tests.ingest.test_quirks import FIXTURES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def trace_file(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    return Path(shutil.copy(FIXTURES / "python_functions.json", tmp_path / "trace.json"))


def assert_equal(one: Trace, other: Trace) -> None:
    for table in TABLE_SCHEMAS:
        assert getattr(one, table).equals(getattr(other, table)), table
    assert (one.origin_ns, one.metadata, one.tally) == (
        other.origin_ns,
        other.metadata,
        other.tally,
    )


def test_what_is_loaded_equals_what_was_read(trace_file):
    assert not door.is_cached(trace_file)
    assert door.load_cached(trace_file) is None
    opened = door.open_trace(trace_file)
    assert door.is_cached(trace_file)
    loaded = door.load_cached(trace_file)
    assert loaded is not None
    assert loaded.metadata[RECORDED_BY] == "torch.profiler"
    read = read_kineto(trace_file)
    assert_equal(loaded, replace(read, metadata={**read.metadata, RECORDED_BY: "torch.profiler"}))
    assert_equal(opened, loaded)


def test_an_installation_without_arrow_loads_the_same(trace_file, monkeypatch):
    opened = door.open_trace(trace_file)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    loaded = door.load_cached(trace_file)
    assert loaded is not None
    assert_equal(loaded, opened)


def test_the_second_opening_reads_no_json(trace_file, monkeypatch):
    first = door.open_trace(trace_file)

    def fail(*_args, **_kwargs):
        raise AssertionError("read again")

    monkeypatch.setattr(columns, "write", fail)
    assert_equal(door.open_trace(trace_file), first)


def test_a_copy_finds_the_columns_and_keeps_its_own_name(trace_file):
    door.open_trace(trace_file)
    copy = Path(shutil.copy(trace_file, trace_file.with_name("other.json")))
    assert door.is_cached(copy)
    assert door.open_trace(copy).source == "other.json"


def test_a_changed_file_is_another_one(trace_file):
    door.open_trace(trace_file)
    status = trace_file.stat()
    trace_file.write_bytes(trace_file.read_bytes().replace(b"30.125", b"30.126"))
    os.utime(trace_file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not door.is_cached(trace_file)


def test_a_large_file_changed_in_place_is_another_one(trace_file, monkeypatch):
    monkeypatch.setattr(fingerprint_module, "_KEPT_FROM_BYTES", 10)
    before = fingerprint(trace_file)
    assert fingerprint(trace_file) == before
    data = bytearray(trace_file.read_bytes())
    data[1000] ^= 1
    trace_file.write_bytes(data)
    os.utime(trace_file, ns=(1, 1))
    assert fingerprint(trace_file) != before


def test_no_large_file_is_taken_for_one_that_looks_like_it(tmp_path):
    """Else somebody else's columns would be shown for it: 64 pieces are not all of a file."""
    mine, twin = tmp_path / "mine.json", tmp_path / "twin.json"
    for path in (mine, twin):
        with path.open("wb") as file:
            file.truncate(100 << 20)
    with twin.open("r+b") as file:
        file.seek(1_000_000)  # between two of these pieces
        file.write(b"another")
    status = mine.stat()
    os.utime(twin, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert twin.stat().st_size == status.st_size
    assert fingerprint(twin) != fingerprint(mine)


def test_a_large_file_is_hashed_once_for_all_processes(trace_file, monkeypatch):
    monkeypatch.setattr(fingerprint_module, "_KEPT_FROM_BYTES", 10)
    monkeypatch.setattr(fingerprint_module, "_SETTLES_NS", 0)
    before = fingerprint(trace_file)
    fingerprint_module._fingerprint.cache_clear()  # as in another process
    monkeypatch.setattr(fingerprint_module, "_digest", lambda *_: pytest.fail("hashed"))
    assert fingerprint(trace_file) == before


def test_a_file_that_changes_while_it_is_read_leaves_no_columns(trace_file, monkeypatch):
    """Else they would be shown for what it was, wherever a copy of that lies."""
    before = Path(shutil.copy(trace_file, trace_file.with_name("before.json")))
    format_of = door._format_of

    def changed(path: Path, name: str) -> TraceFormat:
        kind = format_of(path, name)
        path.write_bytes(path.read_bytes().replace(b"30.125", b"99.125"))
        return kind

    monkeypatch.setattr(door, "_format_of", changed)
    with pytest.raises(BadInput, match="changed while it was read"):
        door.open_trace(trace_file)
    assert not door.is_cached(before)
    assert not door.is_cached(trace_file)


def test_an_archive_that_changes_while_it_is_unpacked_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    packed = tmp_path / "run.zip"
    packed.write_bytes(b"before")
    before = Path(shutil.copy(packed, tmp_path / "before.zip"))

    def unpack(file: Path, folder: Path, _limits: object) -> None:
        file.write_bytes(b"later!")
        (folder / "trace.json").write_bytes(file.read_bytes())

    monkeypatch.setattr(run_module.archive, "unpack", unpack)
    with pytest.raises(BadInput, match="changed while it was read"):
        run_module.unpacked(packed)
    assert not (tmp_path / "home" / "cache" / "archives" / fingerprint(before)).exists()
    assert not list((tmp_path / "home").rglob("trace.json"))


@pytest.mark.parametrize("table", ["device.arrow", "ops.arrow", "meta.json"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone", "empty"])
def test_a_damaged_cache_is_rebuilt_never_trusted(trace_file, table, damage):
    first = door.open_trace(trace_file)
    file = door.cache_folder(trace_file) / table
    data = bytearray(file.read_bytes())
    file.unlink()  # `first` still maps the old one
    if damage != "gone":
        data[len(data) // 2] ^= 0xFF
        file.write_bytes({"cut": data[: len(data) // 2], "flipped": data, "empty": b""}[damage])
    assert door.load_cached(trace_file) is None
    assert_equal(door.open_trace(trace_file), first)
    loaded = door.load_cached(trace_file)
    assert loaded is not None
    assert_equal(loaded, first)


def test_another_schema_version_is_not_loaded(trace_file, monkeypatch):
    door.open_trace(trace_file)
    folder = door.cache_folder(trace_file)
    monkeypatch.setattr(columns, "SCHEMA_VERSION", columns.SCHEMA_VERSION + 1)
    assert columns.load(folder) is None
    assert not columns.exists(folder)
    assert not door.is_cached(trace_file)


def test_writing_over_a_whole_cache_keeps_it(trace_file):
    door.open_trace(trace_file)
    folder = door.cache_folder(trace_file)
    (folder / "timeline.bin").write_bytes(b"derived")
    with reading(trace_file) as read:
        columns.write(folder, read)
    assert (folder / "timeline.bin").read_bytes() == b"derived"
    assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]


def test_a_cancelled_reading_leaves_nothing(trace_file):
    def cancel(_done: int, _total: int) -> None:
        raise Cancelled("Stopped.", remedy="Start again.")

    with pytest.raises(Cancelled):
        door.open_trace(trace_file, cancel)
    assert list(door.cache_folder(trace_file).parent.iterdir()) == []


def test_a_path_that_is_not_there_gets_a_sentence(trace_file):
    with pytest.raises(BadInput, match="cannot be read"):
        door.open_trace(trace_file.with_name("nothing.json"))
    with pytest.raises(BadInput, match="cannot be read"):
        door.open_trace(trace_file.parent)


def run_process(path: Path) -> tuple[int, list[dict], str]:
    done = subprocess.run(
        [sys.executable, "-m", "profiler_core.ingest", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_the_process_reports_progress_and_leaves_the_columns(trace_file):
    status, lines, errors = run_process(trace_file)
    size = trace_file.stat().st_size
    assert (status, errors) == (0, "")
    assert lines[-2] == {"event": "progress", "done": size, "total": size}
    assert lines[-1] == {"event": "result", "value": {"n_events": 27, "n_skipped": 0}}
    assert door.is_cached(trace_file)


def test_the_process_says_what_is_wrong(trace_file):
    trace_file.write_bytes(b"no trace")
    status, lines, errors = run_process(trace_file)
    assert (status, errors) == (2, "")
    assert lines[-1]["problem"].startswith("trace.json is not JSON")
    assert lines[-1]["remedy"]

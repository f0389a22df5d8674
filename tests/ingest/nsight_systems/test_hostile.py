"""Files that were made to harm: nothing of them runs, and each ends in a sentence."""

import re
import sqlite3
import subprocess
import sys
from random import Random

import pytest

from profiler_core.analysis.summary import summarise
from profiler_core.errors import BadInput, FusionscopeError, NotATrace
from profiler_core.ingest.nsight_systems.database import Database, integer, text
from profiler_core.ingest.nsight_systems.limits import DatabaseLimits
from profiler_core.ingest.nsight_systems.reader import read_nsight_systems
from profiler_core.ingest.open import open_trace
from tests.ingest.nsight_systems.build import PID, TID, Export, a_loop, global_id

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"


def changed(path, *statements, writable_schema=False):
    connection = sqlite3.connect(path)
    if writable_schema:
        connection.execute("PRAGMA writable_schema=ON")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_a_view_in_the_place_of_a_table_is_not_read(tmp_path):
    path = a_loop().write(tmp_path / "r.sqlite", without=(KERNELS,))
    forever = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    changed(
        path,
        f'CREATE VIEW {KERNELS} AS SELECT x AS start, x AS "end", x AS globalPid FROM ({forever})',
    )
    trace = read_nsight_systems(path)
    assert trace.device.height == 6  # copies and memsets alone


def test_a_virtual_table_is_not_read(tmp_path):
    path = a_loop().write(tmp_path / "r.sqlite", without=(KERNELS,))
    changed(path, f'CREATE VIRTUAL TABLE {KERNELS} USING fts5(start, "end", deviceId)')
    assert read_nsight_systems(path).device.height == 6


def test_a_computed_column_is_not_computed(tmp_path):
    path = a_loop().write(tmp_path / "r.sqlite", without=("StringIds",))
    changed(
        path,
        "CREATE TABLE StringIds (id INTEGER, value TEXT AS (printf('%.*c', 100000, 'x')))",
        "INSERT INTO StringIds (id) VALUES (100)",
    )
    with Database(path, "r.sqlite") as database:
        assert database.tables["StringIds"] == {"id"}
    assert read_nsight_systems(path).device.height == 15


def test_only_plain_reading_is_allowed(tmp_path):
    path = a_loop().write(tmp_path / "r.sqlite")
    before = path.read_bytes()
    with Database(path, "r.sqlite") as database:
        connection = database._connection
        for statement in (
            f"DELETE FROM {KERNELS}",
            "ATTACH 'other.sqlite' AS other",
            "PRAGMA writable_schema=ON",
            "PRAGMA trusted_schema=ON",
            "SELECT load_extension('x')",
            "SELECT printf('%.*c', 1000000000, 'x')",
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
            "CREATE TEMP TABLE t (x)",
        ):
            with pytest.raises(sqlite3.DatabaseError):
                connection.execute(statement).fetchone()
        assert connection.execute("PRAGMA table_xinfo('StringIds')").fetchall()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["r.sqlite"]


def test_a_journal_beside_it_is_not_looked_at(tmp_path):
    path = a_loop().write(tmp_path / "r.sqlite")
    wanted = read_nsight_systems(path).device
    for ending in ("-journal", "-wal", "-shm"):
        (tmp_path / f"r.sqlite{ending}").write_bytes(b"\xd9\xd5\x05\xf9 \xa1c\xd7" + bytes(4096))
    assert read_nsight_systems(path).device.equals(wanted)


def test_values_of_another_type_are_missing_and_counted(tmp_path):
    export = Export()
    for n, start in enumerate((1_000, "soon", b"\xff\x00", None, 2.5e300, 9_000)):
        export.add(
            KERNELS, start=start, end=10_000, deviceId=0, streamId=7, correlationId=n + 1,
            globalPid=global_id(PID), demangledName="not a number" if n else export.string("k"),
        )  # fmt: skip
    trace = read_nsight_systems(export.write(tmp_path / "r.sqlite"))
    assert trace.device["ts_ns"].to_list() == [0, 8_000]
    assert trace.tally.skipped == {"no start time": 4}
    assert trace.device["name"].to_list() == ["k", "(no name)"]


def test_names_that_are_no_text_or_endless_do_no_harm(tmp_path):
    export = Export()
    export.push(1_000, 2_000, "x" * 100_000)
    export.add("NVTX_EVENTS", start=3_000, end=4_000, eventType=59, globalTid=global_id(PID, TID),
               text=b"\xff\xfe")  # fmt: skip
    export.push(5_000, 6_000, "<script>alert(1)</script>\x1b[31m\0")
    export.launch(5_100, "k")
    trace = read_nsight_systems(export.write(tmp_path / "r.sqlite"))
    lengths = [len(str(name)) for name in trace.annotations["name"]]
    assert max(lengths) == 16_384


def test_times_beyond_reason_do_not_end_in_a_traceback(tmp_path):
    export = a_loop()
    export.kernel(-(1 << 62), 5, "long ago", 900)
    export.kernel((1 << 63) - 10, 5, "far away", 901)
    export.kernel(50, -40, "backwards", 902)
    trace = read_nsight_systems(export.write(tmp_path / "r.sqlite"))
    assert trace.device.height == 18
    assert "negative duration read as 0" in trace.tally.repairs
    summarise(trace)


def test_reading_ends_in_time(tmp_path):
    path = a_loop().write(tmp_path / "r.sqlite")
    with Database(path, "r.sqlite", DatabaseLimits(min_seconds=-1.0)) as database:
        database._connection.set_progress_handler(database._is_late, 1)
        with pytest.raises(
            BadInput, match=r"Reading r\.sqlite takes longer than a file of its size"
        ):
            list(database.frames(KERNELS, {"start": integer("start")}))


def test_more_rows_than_fit_into_the_file_end_the_table(tmp_path):
    path = a_loop(n_steps=400).write(tmp_path / "r.sqlite")
    limits = DatabaseLimits(min_row_bytes=path.stat().st_size)  # room for 1001
    with Database(path, "r.sqlite", limits) as database:
        list(database.frames(KERNELS, {"start": integer("start")}))
        assert list(database.damage) == [f"the table {KERNELS} is damaged after 1200 rows"]


def test_a_value_beyond_the_limit_ends_the_table(tmp_path):
    path = a_loop().write(tmp_path / "r.sqlite")
    changed(path, "INSERT INTO StringIds VALUES (9, zeroblob(2000000))")
    with Database(path, "r.sqlite", DatabaseLimits(max_value_bytes=1_000_000)) as database:
        list(database.frames("StringIds", {"value": text("value")}))
        assert len(database.damage) == 1


def test_more_text_than_fits_into_the_file_ends_the_table(tmp_path, monkeypatch):
    path = a_loop(n_steps=400).write(tmp_path / "r.sqlite")
    with Database(path, "r.sqlite") as database:
        monkeypatch.setattr(database, "_most_text", lambda: 10)
        assert not list(database.frames("StringIds", {"value": text("value")}))
        assert len(database.damage) == 1


def test_sqlite_gets_no_more_memory_than_the_limit(tmp_path):
    path = changed(
        tmp_path / "r.sqlite",
        "CREATE TABLE StringIds (id INTEGER, value TEXT)",
        "INSERT INTO StringIds VALUES (1, hex(zeroblob(20000000)))",
    )
    # In a process of its own: the limit is SQLite's, and holds for the whole process.
    script = (
        "import sys; from pathlib import Path\n"
        "from profiler_core.errors import BadInput\n"
        "from profiler_core.ingest.nsight_systems.database import Database, text\n"
        "from profiler_core.ingest.nsight_systems.limits import DatabaseLimits\n"
        "limits = DatabaseLimits(max_heap_bytes=10 << 20)\n"
        "with Database(Path(sys.argv[1]), 'r.sqlite', limits) as database:\n"
        "    try: list(database.frames('StringIds', {'v': text('value')}))\n"
        "    except BadInput as error: print(error.problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert "needs more memory than an export does" in done.stdout


def test_a_damaged_page_is_said_and_the_rest_is_read(tmp_path):
    path = a_loop(n_steps=400).write(tmp_path / "r.sqlite")
    data = bytearray(path.read_bytes())
    root = sqlite3.connect(path).execute(
        "SELECT rootpage FROM sqlite_master WHERE name = ?", [KERNELS]
    ).fetchone()[0]  # fmt: skip
    size = int.from_bytes(data[16:18], "big")
    data[(root - 1) * size : (root - 1) * size + 64] = bytes(64)
    path.write_bytes(data)
    trace = read_nsight_systems(path)
    assert trace.device.height == 800  # copies and memsets
    (said,) = trace.tally.repairs
    assert re.fullmatch(f"the table {KERNELS} is damaged after 0 rows", said)
    assert any("damaged" in note for note in summarise(trace).notes)


@pytest.mark.parametrize("length", [0, 10, 16, 100, 1_000, 5_000, 20_000])
def test_a_file_that_is_cut_short_ends_in_a_sentence(tmp_path, length):
    path = a_loop(n_steps=50).write(tmp_path / "r.sqlite")
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(FusionscopeError) as problem:
        open_trace(path)
    assert problem.value.remedy


def test_bytes_changed_anywhere_never_end_in_a_traceback(tmp_path):
    whole = a_loop(n_steps=20).write(tmp_path / "whole.sqlite").read_bytes()
    random, outcomes = Random(7), set()
    for n in range(150):
        data = bytearray(whole)
        for _ in range(random.choice((1, 4, 40))):
            data[random.randrange(16 if n % 2 else 0, len(data))] = random.randrange(256)
        path = tmp_path / "r.sqlite"
        path.write_bytes(data)
        try:
            summarise(read_nsight_systems(path))
            outcomes.add("read")
        except FusionscopeError as error:
            assert error.remedy
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_another_sqlite_file_is_told_apart(tmp_path):
    path = tmp_path / "cookies.sqlite"
    changed(path, "CREATE TABLE moz_cookies (id INTEGER, name TEXT)")
    with pytest.raises(NotATrace, match="is an SQLite file, but not one of Nsight Systems"):
        open_trace(path)
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    with pytest.raises(BadInput, match=r"cookies\.sqlite"):
        open_trace(path)

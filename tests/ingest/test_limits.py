"""A legal file without end is refused in a sentence, with what was read so far and how to go on."""

import gzip
import json
import sqlite3
import zlib
from collections import Counter

import pytest

from profiler_core.errors import BadInput
from profiler_core.home import cache_directory
from profiler_core.ingest import limits
from profiler_core.ingest.columns import LONGEST_NAME
from profiler_core.ingest.nsight_systems.database import Database, integer
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.ingest.torch_logs.lines import chunks
from profiler_core.ingest.torch_logs.reader import read_torch_logs

EVENT = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1},\n'
LOG_LINE = b"V1121 08:26:53.100000 6217 torch/_dynamo/guards.py:1] [0/0] [__guards] | +- check\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(folder))
    return folder


def a_trace(path, n_events, packed=False):
    # Not all alike: what shrinks more than 400 times is refused as a bomb, whatever it holds.
    events = [EVENT.replace(b'"a"', b'"%d"' % (n * 7919 % 99_991)) for n in range(n_events)]
    content = b'{"traceEvents": [\n' + b"".join(events)[:-2] + b"\n]}"
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def nothing_is_left():
    return not [path for path in cache_directory().rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_events_beyond_the_limit_are_refused(home, tmp_path, name):
    trace = a_trace(tmp_path / name, 60_000, packed=name.endswith(".gz"))
    (home / "settings.toml").write_text("largest_ingest_events = 20000")
    with pytest.raises(BadInput, match=rf"{name} holds more than 20,000 events") as refused:
        open_trace(trace)
    assert "largest_ingest_events in settings.toml" in refused.value.remedy
    n_read = int(refused.value.problem.split("after ")[1].rstrip(".").replace(",", ""))
    assert 20_000 < n_read < 60_000  # it did not read to the end first
    assert nothing_is_left()
    (home / "settings.toml").write_text("largest_ingest_events = 60000")
    assert open_trace(trace).tally.n_events == 60_000


def test_seconds_beyond_the_limit_are_refused(home, tmp_path, monkeypatch):
    trace = a_trace(tmp_path / "trace.json", 60_000)
    (home / "settings.toml").write_text("longest_ingest_seconds = 30")
    clock = iter(range(0, 10_000, 20))
    monkeypatch.setattr(limits.time, "monotonic", lambda: float(next(clock)))
    with pytest.raises(BadInput, match="takes longer than 30 s") as refused:
        open_trace(trace)
    assert "longest_ingest_seconds in settings.toml" in refused.value.remedy
    assert nothing_is_left()


@pytest.mark.parametrize("name", ["torch_logs.txt", "torch_logs.txt.gz"])
def test_lines_of_logs_are_bounded_too(home, tmp_path, name):
    content = LOG_LINE * 30_000
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    (home / "settings.toml").write_text("largest_ingest_events = 20000")
    with pytest.raises(BadInput, match=rf"{name} holds more than 20,000 lines"):
        read_torch_logs([tmp_path / name])


def test_a_packed_log_without_end_is_a_bomb(home, tmp_path):
    """Nothing counted what logs unpack to: 300 kB took as long and as much as they wanted."""
    packer = zlib.compressobj(9, wbits=31)
    block = b" " * (4 << 20)
    with (tmp_path / "torch_logs.txt.gz").open("wb") as file:
        for _ in range(100):
            file.write(packer.compress(block))
        file.write(packer.flush())
    with pytest.raises(BadInput, match="400 times its size"):
        sum(len(chunk) for chunk in chunks(tmp_path / "torch_logs.txt.gz", Counter()))


def test_rows_of_a_database_are_bounded_too(home, tmp_path):
    file = tmp_path / "export.sqlite"
    with sqlite3.connect(file) as made:
        made.execute("CREATE TABLE kernels (start INTEGER)")
        made.executemany("INSERT INTO kernels VALUES (?)", ((n,) for n in range(120_000)))
    meter = limits.Meter("export.sqlite", limits.Limits(max_events=60_000), "rows")
    with (
        pytest.raises(BadInput, match=r"export\.sqlite holds more than 60,000 rows"),
        Database(file, "export.sqlite", meter=meter) as database,
    ):
        for _ in database.frames("kernels", {"start": integer("start")}):
            pass


def test_a_record_of_a_run_is_no_large_file(home, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    with (run / "run.json").open("wb") as file:
        file.truncate(64 << 20)  # sparse
        file.write(b"{}")
    with pytest.raises(BadInput, match="too many for a record"):
        open_run(run)


@pytest.mark.parametrize("key", ["largest_ingest_events", "longest_ingest_seconds"])
def test_a_limit_of_nothing_is_refused(home, tmp_path, key):
    (home / "settings.toml").write_text(f"{key} = 0")
    with pytest.raises(BadInput, match=f"{key} is 0"):
        open_trace(a_trace(tmp_path / "trace.json", 10))


def test_a_name_without_end_is_cut_for_every_rule_is_tried_on_it(home, tmp_path):
    names = ["k" * 200_000 + "1", "k" * 200_000 + "2", "m" * LONGEST_NAME, "aten::mm"]
    events = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10 * n, "dur": 5,
         "args": {"device": 0, "stream": 7}}
        for n, name in enumerate(names)
    ]  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    kept = open_trace(path).device["name"].cast(str).to_list()
    assert kept == ["k" * LONGEST_NAME] * 2 + names[2:]

"""Logs that nobody should trust: each ends in a result or in one clear sentence."""

import gzip
import tracemalloc

import pytest

from profiler_core.errors import BadInput
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.ingest.torch_logs.reader import read_torch_logs
from profiler_core.ingest.torch_trace.reader import read_torch_trace

PREFIX = (
    "V1121 08:26:53.163000 6217 torch/_dynamo/symbolic_convert.py:5577] [0/0] [__graph_breaks] "
)
BREAK = (
    PREFIX + "Graph break in user code at /home/user/script.py:11\n"
    + PREFIX + "Graph Break Reason: Call to `torch._dynamo.graph_break()`\n"
)  # fmt: skip
RECOMPILE = (
    "V1121 08:26:53.163000 6217 torch/_dynamo/guards.py:1] [0/1] [__recompiles] "
    "Recompiling function f in /home/user/script.py:3\n"
)


def write(tmp_path, data, name="torch_logs.txt"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_a_binary_file_is_refused_in_one_sentence(tmp_path):
    path = write(tmp_path, bytes(range(256)) * 40)
    with pytest.raises(BadInput, match="binary"):
        read_compile_log_files([path])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadInput, match="gone"):
        read_compile_log_files([tmp_path / "gone.txt"])


def test_a_line_without_end_is_cut_and_said_in_bounded_memory(tmp_path):
    path = tmp_path / "torch_logs.txt"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + BREAK.encode())
    tracemalloc.start()
    log = read_torch_logs([path])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(log.graph_breaks) == 1
    assert log.repairs["line cut at 64 kB"] == 1
    assert peak < 40e6


def test_a_long_log_takes_no_more_memory_than_its_findings(tmp_path):
    path = tmp_path / "torch_logs.txt"
    noise = "".join(
        f"V1121 08:26:53.{n:06} 6217 torch/_dynamo/guards.py:1] [0/0] [__guards] | +- check {n}\n"
        for n in range(5000)
    )
    with path.open("w") as file:
        for _ in range(12):
            file.write(noise + BREAK)
    assert path.stat().st_size > 5e6
    tracemalloc.start()
    log = read_torch_logs([path], chunk_bytes=1 << 18)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [found.n for found in log.graph_breaks] == [12]
    assert log.other_records["guards"] >= 60_000
    assert peak < 2.5e6


def test_a_gzip_that_ends_early_gives_what_it_held(tmp_path):
    whole = gzip.compress((BREAK + RECOMPILE * 3000).encode(), compresslevel=0)
    log = read_torch_logs([write(tmp_path, whole[: len(whole) // 2])])
    assert len(log.graph_breaks) == 1
    assert log.repairs["packed data ends early"] == 1


def test_markup_in_names_is_kept_as_text(tmp_path):
    name = "<script>alert(1)</script>"
    log = read_torch_logs([write(tmp_path, BREAK.replace("script.py", name))])
    assert log.graph_breaks[0].file == f"/home/user/{name}"


def test_a_record_cut_inside_is_counted_not_dropped(tmp_path):
    cut = RECOMPILE[: RECOMPILE.index(" /home")]
    log = read_torch_logs([write(tmp_path, BREAK + cut)])
    assert log.n_unparsed == 1
    assert log.unparsed[0].startswith("Recompiling function f")
    assert log.repairs["the log ends inside a line"] == 1
    assert any("cut off" in bound.sentence for bound in log.lower_bound)


def test_an_empty_file_is_an_empty_log(tmp_path):
    log = read_torch_logs([write(tmp_path, b"")])
    assert (log.n_lines, log.graph_breaks) == (0, ())


def test_impossible_dates_and_numbers_do_not_stop_the_reader(tmp_path):
    odd = RECOMPILE.replace("V1121", "V9999")
    log = read_torch_logs([write(tmp_path, odd)])
    assert len(log.recompiles) == 1


def structured(*bodies):
    prefix = "V1121 08:26:46.212000 6164 torch/_dynamo/utils.py:2473] "
    return "".join(prefix + body + "\n" for body in bodies)


def test_json_nested_without_end_is_skipped_and_counted(tmp_path):
    deep = '{"artifact": ' + "[" * 100_000 + "]" * 100_000 + "}"
    log = read_torch_trace(
        [
            write(
                tmp_path,
                structured('{"dynamo_start": {}, "frame_id": 0, "frame_compile_id": 0}', deep),
            )
        ]
    )
    assert log.other_records["record that is no JSON"] == 1
    assert log.compilations[0].compile_id == "0/0"


def test_not_a_number_is_read_as_python_writes_it(tmp_path):
    body = (
        '{"compilation_metrics": {"compile_id": "0/0", "co_name": "f", "guard_count": 3, '
        '"odd": NaN, "duration_us": Infinity}, "frame_id": 0, "frame_compile_id": 0}'
    )
    log = read_torch_trace([write(tmp_path, structured(body))])
    assert log.compilations[0].guard_count == 3
    assert log.compilations[0].dur_ns is None


def test_a_structured_log_without_records_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no structured log record"):
        read_torch_trace([write(tmp_path, b"")])

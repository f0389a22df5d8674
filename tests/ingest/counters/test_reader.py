"""Raw CSV of Nsight Compute: whole, in other units, in parts, and hostile."""

import csv
import gzip
import io
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.ingest.counters import tables
from profiler_core.ingest.counters.reader import read_counters, read_run_counters
from profiler_core.model.run import RunFiles, RunRecord
from tests.ingest.slug_of import slug_of
from tests.larger import LARGER

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "counters"

HEAD = '"ID","Kernel Name","Grid Size","dram__bytes_read.sum","dram__bytes_write.sum"'
UNITS = '"","","","byte","byte"'
ROW = '"0","void foo<int>(T1)","(1568, 1, 32)","1,234,567","0"'


def written(tmp_path, *lines, packed=False):
    data = "\n".join(lines).encode()
    path = tmp_path / "step.csv"
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_the_table_follows_what_ncu_and_the_program_print(tmp_path, packed):
    path = written(
        tmp_path,
        "==PROF== Connected to process 7 (/usr/bin/python3)",
        'loss 0.25, "Kernel Name" is only said here',
        HEAD, UNITS, ROW, "==PROF== Disconnected from process 7", "epoch 1 done",
        packed=packed,
    )  # fmt: skip
    assert slug_of(path) == "nsight_compute"
    table = read_counters(path)
    (row,) = table.kernels.iter_rows(named=True)
    assert row["name"] == "void foo<int>(T1)"
    assert row["grid"] == "[1568,1,32]"
    assert row["dram_read_bytes"] == 1_234_567
    assert row["dram_write_bytes"] == 0
    assert table.tally.skipped == {"other output": 2}


def test_what_was_not_measured_is_none(tmp_path):
    table = read_counters(written(tmp_path, HEAD, UNITS, ROW))
    (row,) = table.kernels.iter_rows(named=True)
    assert row["l2_read_bytes"] is None
    assert row["occupancy_pct"] is None
    assert {"time_ns", "l2_read_bytes"} <= set(table.missing)
    assert "dram_read_bytes" not in table.missing
    assert table.l2_size_bytes is None


@pytest.mark.parametrize("cell", ["n/a", "", "nan", "inf", "-1", "12abc"])
def test_a_cell_that_is_no_count_is_none(tmp_path, cell):
    table = read_counters(written(tmp_path, HEAD, UNITS, f'"0","foo","","{cell}","1"'))
    assert table.kernels["dram_read_bytes"].to_list() == [None]


def test_other_units_are_scaled_and_unknown_ones_are_no_number(tmp_path):
    head = '"ID","Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum",'
    table = read_counters(
        written(
            tmp_path,
            head + '"dram__bytes_write.sum"',
            '"","","usecond","Mbyte","furlong"',
            '"0","foo","5.5","102.8","3"',
        )
    )
    (row,) = table.kernels.iter_rows(named=True)
    assert row["time_ns"] == 5500
    assert row["dram_read_bytes"] == pytest.approx(102.8e6)
    assert row["dram_write_bytes"] is None


def test_sectors_become_bytes(tmp_path):
    head = '"ID","Kernel Name","dram__sectors_read.sum","lts__t_sectors_op_read.sum"'
    (row,) = read_counters(
        written(tmp_path, head, '"","","sector","sector"', '"0","foo","10","1,000"')
    ).kernels.iter_rows(named=True)
    assert (row["dram_read_bytes"], row["l2_read_bytes"]) == (320, 32_000)


def test_a_spreadsheet_saved_it_without_quotes(tmp_path):
    path = written(tmp_path, HEAD.replace('"', ""), UNITS.replace('"', ""), "0,foo,,12,3")
    assert slug_of(path) == "nsight_compute"
    assert read_counters(path).kernels["dram_read_bytes"].to_list() == [12]


def test_a_second_pass_over_the_same_kernels_fills_in(tmp_path):
    more = (
        '"ID","Kernel Name","gpu__time_duration.sum"',
        '"","","ns"',
        '"0","void foo<int>(T1)","7"',
    )
    (row,) = read_counters(written(tmp_path, HEAD, UNITS, ROW, *more)).kernels.iter_rows(named=True)
    assert (row["time_ns"], row["dram_read_bytes"]) == (7, 1_234_567)


def test_a_second_program_is_appended(tmp_path):
    other = ROW.replace("foo", "bar")
    table = read_counters(written(tmp_path, HEAD, UNITS, ROW, HEAD, UNITS, other, other))
    assert table.kernels.height == 3


def test_a_short_row_and_one_without_a_name_are_no_harm(tmp_path):
    table = read_counters(written(tmp_path, HEAD, UNITS, ROW, '"1","bar"', '"2","","","5","5"'))
    assert table.kernels["name"].to_list() == ["void foo<int>(T1)", "bar"]
    assert table.kernels["dram_read_bytes"].to_list() == [1_234_567, None]
    assert table.tally.skipped == {"not a kernel": 1}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("nothing of ours",), "no line with the column Kernel Name"),
        ((HEAD, UNITS), "no kernel in them"),
        ((HEAD,), "no kernel in them"),
        (('"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"',), "another page"),
        (('"Kernel Name","' + "x" * (2 << 20) + '"', '"a","b"'), "no line with the column"),
    ],
)
def test_what_is_no_such_table_is_refused_in_a_sentence(tmp_path, lines, said):
    with pytest.raises(BadInput, match=said):
        read_counters(written(tmp_path, *lines))


def test_unbalanced_quotes_swallow_nothing(tmp_path):
    bad = '"1","evil,"(1)","5","5'
    table = read_counters(written(tmp_path, HEAD, UNITS, bad, ROW, "\x00\xff" * 40, ROW))
    assert table.kernels.height == 2
    assert table.tally.skipped == {"not a kernel": 1, "other output": 1}


def test_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 1 << 10)
    with pytest.raises(BadInput, match="holds more than"):
        read_counters(written(tmp_path, HEAD, UNITS, *[ROW] * 100))


def test_a_damaged_file_takes_nothing_else_with_it(tmp_path):
    run = RunFiles(record=RunRecord(), path=tmp_path, counters=written(tmp_path, "junk"))
    counters = read_run_counters(run)
    assert counters.counters is None
    assert "no line with the column Kernel Name" in counters.problems[0]
    gone = RunFiles(record=RunRecord(), path=tmp_path, counters=tmp_path / "gone.csv")
    assert "cannot be read" in read_run_counters(gone).problems[0]


def independent_sums(path: Path) -> tuple[int, int, int]:
    """Rows, bytes read, bytes written: the csv module over the lines, and nothing of ours."""
    with gzip.open(path, "rt") as file:
        lines = [line for line in file if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("".join(lines))))[1:]
    columns = ("dram__bytes_read.sum", "dram__bytes_write.sum")
    read, wrote = (sum(int(row[c].replace(",", "")) for row in rows) for c in columns)
    return len(rows), read, wrote


def assert_sums(path: Path) -> None:
    kernels = read_counters(path).kernels
    result = kernels.height, kernels["dram_read_bytes"].sum(), kernels["dram_write_bytes"].sum()
    assert result == independent_sums(path)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.gz")), ids=lambda path: path.name)
def test_sums_of_real_files(path):
    assert_sums(path)
    table = read_counters(path)
    assert table.device_name == "NVIDIA H200"
    assert table.l2_size_bytes == 60 << 20


def test_sums_of_all_files():
    paths = sorted((LARGER / "counters").glob("*.csv.gz"))
    assert len(paths) >= 5
    for path in paths:
        assert_sums(path)

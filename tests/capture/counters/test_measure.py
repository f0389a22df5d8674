"""The counters pass with a stand-in for ncu and a child without torch: each way that it can end."""

import time

import pytest

from profiler_core.capture.counters.measure import Counted, measure, under_ncu
from profiler_core.capture.counters.tool import find_tool
from profiler_core.capture.process import Child
from profiler_core.errors import Cancelled
from profiler_core.ingest.counters.reader import read_counters
from tests.capture.conftest import processes_with

from .conftest import HERE, program


@pytest.fixture
def count(fake_ncu, tmp_path, monkeypatch):
    """`count(what ncu does)` -> (Counted, where the table would be)."""
    tool = find_tool()
    python = program(tmp_path / "python", HERE / "fake_child.py")
    work = tmp_path / "work"
    work.mkdir()
    under, environment = under_ncu(tool, work)
    table = tmp_path / "counters.csv"

    def run(ncu="measures", child="", **more) -> Counted:
        path = {"PATH": "/usr/bin:/bin", "FAKE_NCU": ncu, "FAKE_CHILD": child}
        path["FAKE_NCU_MARKS"] = str(tmp_path / "marks.txt")

        def start():
            out, err = work / "out.txt", work / "err.txt"
            variables = {**path, **environment}
            return Child(str(python), {}, variables, work, out, err, lambda: None, under)

        counted = measure(tool, start, work, table, **more)
        assert not processes_with(f"FAKE_NCU_MARKS={path['FAKE_NCU_MARKS']}")
        assert not [path for path in work.iterdir() if path.name.startswith("child-")]
        assert not [path for path in work.iterdir() if path.is_fifo()]
        return counted, table

    return run


def test_a_step_is_measured_and_read_by_the_import(count):
    counted, table = count()
    assert counted.problem is None
    assert (counted.tool, counted.n_steps) == ("Nsight Compute 2025.3.1.0", 1)
    found = read_counters(table)
    assert found.kernels.height == counted.n_kernels == 125
    assert not found.tally.skipped


@pytest.mark.parametrize(
    ("ncu", "child", "said"),
    [
        ("has no permission", "", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("crashes", "", "crashed under Nsight Compute"),
        ("finds no cache", "", "where Inductor compiles under it"),
        ("measures", "build", "It broke. Mend."),
        ("measures", "counted", "It broke. Mend."),
    ],
)
def test_what_goes_wrong_is_one_sentence_and_leaves_no_table(count, ncu, child, said):
    counted, table = count(ncu, child)
    assert said in counted.problem
    assert "Traceback" not in counted.problem
    assert counted.n_kernels == 0
    assert not table.exists()


def test_a_hanging_ncu_is_ended(count):
    started = time.monotonic()
    counted, table = count("hangs", standstill_s=0.5)
    assert "no sign of life for" in counted.problem
    assert time.monotonic() - started < 20
    assert not table.exists()


def test_a_cancelled_pass_leaves_nothing_running(count):
    calls = []

    def look():
        calls.append(1)
        if len(calls) > 3:
            raise Cancelled("The capture was cancelled.", remedy="Start it again.")

    with pytest.raises(Cancelled):
        count("hangs", look=look)


def test_an_ncu_that_cannot_be_started_is_said(count, fake_ncu):
    fake_ncu.unlink()
    counted, _ = count()
    assert "ncu cannot be started: No such file" in counted.problem

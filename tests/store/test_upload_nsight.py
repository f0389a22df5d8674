"""Exports of Nsight Systems among dropped files."""

import gzip
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.store import library
from tests.ingest.nsight_systems.build import a_loop
from tests.uploading import accept

REPORT = b"NVIDIA Tegra Profiler Report 1.\n\x0bLocal (CLI)"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


@pytest.fixture
def export(tmp_path: Path) -> bytes:
    return a_loop().write(tmp_path / "made.sqlite").read_bytes()


def test_two_exports_become_one_comparison(export):
    accepted = accept({"eager.sqlite": export, "compiled.sqlite.gz": gzip.compress(export)})
    assert not accepted.notes
    runs = [open_run(library.entry(key).path) for key in accepted.keys]
    assert [run.record.name for run in runs] == ["eager", "compiled"]
    assert [run.record.role for run in runs] == ["baseline", "candidate"]
    for run in runs:
        assert run.trace is not None
        assert open_trace(run.trace).device.height == 15


def test_an_export_and_a_log_are_one_run(export):
    log = b"V0101 00:00:00.000000 1 torch/_dynamo/guards.py:1] [0/0] [__guards] GUARDS:\n"
    accepted = accept({"step.sqlite": export, "step.log": log})
    (key,) = accepted.keys
    run = open_run(library.entry(key).path)
    assert run.trace is not None
    assert len(run.torch_logs) == 1


def test_a_binary_report_alone_says_how_to_export_it():
    with pytest.raises(BadInput, match=r"report1\.nsys-rep is a binary report") as problem:
        accept({"report1.nsys-rep": REPORT})
    assert "nsys export --type sqlite" in problem.value.remedy


def test_a_binary_report_beside_an_export_is_left_out_with_a_word(export):
    accepted = accept({"report1.nsys-rep": REPORT, "report1.sqlite": export})
    assert len(accepted.keys) == 1
    (note,) = accepted.notes
    assert note.startswith("report1.nsys-rep is a binary report of Nsight Systems")
    assert "nsys export --type sqlite" in note


def test_a_foreign_sqlite_file_is_a_note_beside_an_export(export):
    foreign = b"SQLite format 3\0" + bytes(84) + bytes(4_000)
    accepted = accept({"cookies.sqlite": foreign, "report1.sqlite": export})
    assert len(accepted.keys) == 1
    assert "cookies.sqlite" in accepted.notes[0]

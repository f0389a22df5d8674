"""A file's version moves with whatever moves the answer, and with nothing else."""

import os

import pytest

from profiler_core.ingest.fingerprint import fingerprint
from profiler_core.ingest.formats import trace_format
from profiler_core.ingest.options import keep
from profiler_core.ingest.version import version_of
from tests.ingest.nsight_systems.build import a_loop


@pytest.fixture
def recording(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    file = tmp_path / "trace.sqlite"
    a_loop().write(file)
    return file


def test_a_choice_moves_the_version_and_forgetting_it_moves_it_back(recording):
    plain = version_of(recording)
    keep(trace_format("nsight_systems"), fingerprint(recording), {"step_range": "step #"})
    chosen = version_of(recording)
    assert chosen != plain
    assert chosen[:2] == plain[:2]
    keep(trace_format("nsight_systems"), fingerprint(recording), {"step_range": "half"})
    assert version_of(recording) not in (plain, chosen)
    keep(trace_format("nsight_systems"), fingerprint(recording), {})
    assert version_of(recording) == plain


def test_size_counts_where_the_time_is_the_same(tmp_path):
    file = tmp_path / "log"
    file.write_text("a")
    os.utime(file, ns=(1, 1))
    before = version_of(file)
    file.write_text("ab")
    os.utime(file, ns=(1, 1))
    assert version_of(file) != before


def test_no_choice_is_looked_up_for_another_kind_of_file(recording):
    log = recording.with_name("log")
    log.write_text("V1121 00:00:00 nothing of Nsight")
    keep(trace_format("nsight_systems"), fingerprint(log), {"step_range": "step #"})
    assert version_of(log).choice == ""


def test_damaged_packing_is_for_the_reader_to_say(tmp_path):
    file = tmp_path / "trace.json.gz"
    file.write_bytes(b"\x1f\x8b\x08 nothing")
    assert version_of(file).choice == ""

"""Large logs are read in a process of their own, with the same answer."""

import subprocess
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.ingest import apart as child
from profiler_core.ingest.compile_log import apart
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.ingest.inductor.apart import read_inductor_apart
from profiler_core.ingest.inductor.reader import read_inductor
from tests.ingest.compile_corpus import FIXTURES

LOG = FIXTURES / "2.15.0" / "b2_break_places" / "torch_logs.rg.txt.gz"
SAMPLES = Path(__file__).parents[2] / "sample_traces"
HERE = {"torch_version": "2.15.0", "asked": frozenset({"graph_breaks", "recompiles"})}


def test_another_process_gives_the_same_log(monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)  # a server is started from anywhere
    monkeypatch.setattr(child, "LARGE_BYTES", 0)
    found = apart.read_apart([LOG], **HERE)
    assert found == read_compile_log_files([LOG], **HERE)
    assert found.graph_breaks


def test_generated_code_is_read_apart_too(monkeypatch, tmp_path: Path):
    log = SAMPLES / "breaky" / "default" / "torch_trace"
    paths = sorted(log.iterdir())
    monkeypatch.chdir(tmp_path)
    expected = read_inductor(paths)
    monkeypatch.setattr(child, "LARGE_BYTES", 0)
    assert read_inductor_apart(paths) == expected
    assert expected.graphs


def test_a_file_that_cannot_be_read_says_so_across_the_processes(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(child, "LARGE_BYTES", 0)
    noise = tmp_path / "noise.log"
    noise.write_bytes(bytes(range(256)) * 64)
    with pytest.raises(BadInput, match="binary"):
        apart.read_apart([noise], **HERE)


def test_small_logs_start_no_process(monkeypatch):
    monkeypatch.setattr(subprocess, "run", None)
    assert apart.read_apart([LOG], **HERE).graph_breaks

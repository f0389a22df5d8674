"""Large logs are read in a process of their own, with the same answer."""

import gzip
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.ingest import apart as child
from profiler_core.ingest import logs_apart
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.logs_apart import read_compile_log_apart, read_inductor_apart
from profiler_core.model.compilation import CompileLog
from profiler_core.worker import protocol, worker
from tests.ingest.compile_corpus import FIXTURES

LOG = FIXTURES / "2.15.0" / "b2_break_places" / "torch_logs.rg.txt.gz"
SAMPLES = Path(__file__).parents[2] / "sample_traces"
HERE = {"torch_version": "2.15.0", "requested": frozenset({"graph_breaks", "recompiles"})}


def test_another_process_gives_the_same_log(monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)  # a server is started from anywhere
    monkeypatch.setattr(child, "LARGE_BYTES", 0)
    found = read_compile_log_apart([LOG], **HERE)
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
        read_compile_log_apart([noise], **HERE)


def test_small_logs_start_no_process(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    assert read_compile_log_apart([LOG], **HERE).graph_breaks


@pytest.mark.parametrize("name", ["torch_logs.txt.gz", "torch_logs.txt"])
def test_a_small_file_that_unpacks_to_a_large_one_is_read_by_another_process(
    monkeypatch, tmp_path: Path, name
):
    """Whatever its name says; else a web server would unpack up to 256 MB of it, and parse that."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"V1123 10:15:00.000000 1 torch/x.py:1] [0/0] x\n" * 2_000_000))
    assert path.stat().st_size < child.LARGE_BYTES // 16
    asked = []
    monkeypatch.setattr(logs_apart, "ask_child", lambda module, *_: asked.append(module))
    read_compile_log_apart([path], **HERE)
    read_inductor_apart([path])
    assert asked == ["profiler_core.ingest.compile_log", "profiler_core.ingest.inductor"]


def test_several_packed_files_count_together(tmp_path: Path):
    paths = [tmp_path / f"{n}.gz" for n in range(3)]
    for path in paths:
        path.write_bytes(gzip.compress(bytes(child.LARGE_BYTES // 2)))
    assert not child.are_large(paths[:1])
    assert child.are_large(paths)


def answering(monkeypatch, body: bytes) -> None:
    """A child that says this, whatever it is asked."""
    words = [sys.executable, "-c", f"import os; os.write(1, {body!r})"]
    monkeypatch.setattr(
        worker, "start_module", lambda *_, stdout, **__: subprocess.Popen(words, stdout=stdout)
    )
    monkeypatch.setattr(child, "LARGE_BYTES", 0)


@pytest.mark.parametrize(
    "body",
    [
        pickle.dumps(print),
        b"",
        b"not a record\n",
        b'{"event": "progress"}\n',
        b'{"event": "result", "value": {"warnings": 7}}\n',
        b'{"event": "result", "value": [1, 2',
        b'{"event": "another"}\n',
    ],
)
def test_an_answer_of_another_kind_is_refused(monkeypatch, body):
    answering(monkeypatch, body)
    with pytest.raises(BadInput, match="answer of another kind"):
        read_compile_log_apart([LOG], **HERE)


def test_a_text_that_no_encoding_can_write_is_mended(monkeypatch):
    broken = CompileLog(warnings=("half a pair: \ud800",), other_records={"\udfff": 1})
    encoded = protocol._encoded(broken)
    answering(monkeypatch, b'{"event": "result", "value": ' + encoded + b"}\n")
    found = read_compile_log_apart([LOG], **HERE)
    assert found.warnings == ("half a pair: ?",)
    assert found.other_records == {"?": 1}

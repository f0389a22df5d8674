"""Logs of two processes are not merged: which one is left out is said, and why."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from profiler_core.ingest.compile_log.belonging import LogOrigin, belonging_logs, log_origin
from profiler_core.session.run import Run

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_traces"
CRASHED = 999


@pytest.fixture
def mixed(tmp_path, monkeypatch):
    """A run whose text log is of an attempt that crashed before it."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    run = shutil.copytree(SAMPLES / "breaky" / "default", tmp_path / "default")
    (text,) = run.glob("torch_logs*")
    opened = gzip.open if text.suffix == ".gz" else open
    with opened(text, "rt") as file:
        lines = file.read()
    assert " 3753 " in lines
    with opened(text, "wt") as file:
        file.write(lines.replace(" 3753 ", f" {CRASHED} "))
    return run, text.name


def test_a_text_log_of_another_process_is_left_out(mixed):
    run, text = mixed
    honest, opened = Run.open(SAMPLES / "breaky" / "default"), Run.open(run)
    assert honest.logs.left_out == ()
    (sentence,) = opened.logs.left_out
    assert text in sentence and str(CRASHED) in sentence and "3753" in sentence
    assert opened.compile_log.sources == ("structured",)
    assert len(honest.compile_log.sources) == 2
    assert sentence in opened.compile_log.warnings
    assert opened.code.graphs == honest.code.graphs


def test_the_answers_say_what_was_left_out(mixed, capsys):
    run, text = mixed
    assert main(["logs", str(run), "--json"]) == 0
    assert any(text in warning for warning in json.loads(capsys.readouterr().out)["warnings"])
    assert main(["compare", str(SAMPLES / "breaky" / "eager"), str(run), "--json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    assert any(text in note for note in candidate["fusion"]["notes"])


def test_generated_code_of_another_process_is_no_evidence(tmp_path, monkeypatch):
    """The trace of one run with the logs of another: the ledger does without them, and says it."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    run = shutil.copytree(SAMPLES / "breaky" / "default", tmp_path / "default")
    shutil.copy(SAMPLES / "breaky" / "reduce-overhead" / "trace.json.gz", run / "trace.json.gz")
    opened = Run.open(run)
    assert opened.code is None
    assert any("torch_trace" in sentence for sentence in opened.material.left_out)


@pytest.mark.parametrize(
    "sample", ["ddp/default", "ddp/default/ranks/1", "simplecnn-training/default"]
)
def test_logs_of_one_run_stay_together(sample):
    opened = Run.open(SAMPLES / sample)
    for logs in (opened.logs, opened.logs_of_trace):
        assert logs.left_out == ()
        assert logs.text == opened.files.torch_logs
        assert logs.structured == opened.files.torch_trace


def test_logs_of_several_ranks_stay_together():
    """Each rank is a process of its own; the trace is of the first."""
    folder = ROOT / "tests" / "fixtures" / "torch_logs" / "2.15.0" / "g_torchrun"
    texts = sorted(folder.glob("torch_logs*"))
    origins = [log_origin(path) for path in texts]
    assert any(origin.names_ranks for origin in origins)
    ranks = [
        LogOrigin(
            Path(f"dedicated_log_torch_trace_rank_{rank}_x.log"), frozenset((10 + rank,)), True
        )
        for rank in (0, 1)
    ]
    logs = belonging_logs(origins, ranks, trace_processes={10})
    assert logs.left_out == ()
    assert logs.structured == tuple(rank.path for rank in ranks)


def test_what_does_not_say_who_wrote_it_is_kept():
    """Before torch 2.5 a line names a thread."""
    nameless = LogOrigin(Path("torch_logs.txt"), frozenset())
    structured = LogOrigin(Path("trace.log"), frozenset((7,)))
    assert belonging_logs([nameless], [structured], {7}).left_out == ()
    other = LogOrigin(Path("torch_logs.txt"), frozenset((8,)))
    (sentence,) = belonging_logs([other], [structured]).left_out
    assert "structured log is of process 7" in sentence

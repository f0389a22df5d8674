"""Logs of two processes are not merged: which one is left out is said, and why."""

import gzip
import json
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from profiler_core.ingest.compile_log.belonging import (
    LogOrigin,
    TraceOrigin,
    belonging_logs,
    log_origin,
)
from profiler_core.session.run import Run
from tests.larger import JUDGE_PAIRS, LARGER, unpacked

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
    logs = belonging_logs(origins, ranks, TraceOrigin({10}))
    assert logs.left_out == ()
    assert logs.structured == tuple(rank.path for rank in ranks)


def test_what_does_not_say_who_wrote_it_is_kept():
    """Before torch 2.5 a line names a thread."""
    nameless = LogOrigin(Path("torch_logs.txt"), frozenset())
    structured = LogOrigin(Path("trace.log"), frozenset((7,)))
    assert belonging_logs([nameless], [structured], TraceOrigin({7})).left_out == ()
    other = LogOrigin(Path("torch_logs.txt"), frozenset((8,)))
    (sentence,) = belonging_logs([other], [structured]).left_out
    assert "structured log is of process 7" in sentence


def shifted(path, hours):
    """The same log, its lines some hours later and its process left as it is."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        lines = file.read()
    moved = re.sub(
        r"(?m)^([VDIWEC]\d{4} )(\d\d)(?=:\d\d:\d\d\.)",
        lambda prefix: f"{prefix[1]}{int(prefix[2]) + hours:02d}",
        lines,
    )
    assert moved != lines
    with opened(path, "wt") as file:
        file.write(moved)


@pytest.fixture
def copied(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    return shutil.copytree(SAMPLES / "breaky" / "default", tmp_path / "default")


def test_a_text_log_of_another_hour_is_left_out_though_the_process_has_its_number(copied):
    """In a container every run may be process 1."""
    (text,) = copied.glob("torch_logs*")
    shifted(text, -3)
    (sentence,) = Run.open(copied).logs.left_out
    assert sentence.startswith(f"{text.name} is left out: it ended on 11-21 at 09:5")
    assert "the structured log began on 11-21 at 12:53" in sentence
    assert sentence in Run.open(copied).material.left_out


def test_the_structured_log_of_an_earlier_run_of_that_process_is_left_out(copied):
    (log,) = (copied / "torch_trace").iterdir()
    earlier = log.with_name(f"dedicated_log_torch_trace_earlier{''.join(log.suffixes)}")
    shutil.copy(log, earlier)
    shifted(earlier, -3)
    opened = Run.open(copied)
    assert opened.logs.structured == (log,)
    (sentence,) = opened.logs.left_out
    assert earlier.name in sentence and log.name in sentence
    assert opened.code.graphs == Run.open(SAMPLES / "breaky" / "default").code.graphs


def test_logs_that_begin_when_the_trace_is_over_are_left_out():
    """The zone comes from the structured log, whose events have both clocks."""
    noon = datetime(2000, 11, 21, 12)
    trace = TraceOrigin(
        {7}, ended_ns=int(datetime(2026, 11, 21, 10, tzinfo=UTC).timestamp()) * 10**9
    )
    log = LogOrigin(Path("a.log"), frozenset((7,)), began=noon, ended=noon, zone=timedelta(hours=1))
    (sentence,) = belonging_logs([], [log], trace).left_out
    assert "begins on 11-21 at 12:00:00, and the trace had ended on 11-21 at 11:00:00" in sentence
    in_time = replace(log, zone=timedelta(hours=2))
    assert belonging_logs([], [in_time], trace).left_out == ()
    # Without a zone only a difference that no zone explains counts.
    text = replace(log, zone=None)
    assert belonging_logs([text], [], trace).left_out == ()
    assert belonging_logs([replace(text, began=noon + timedelta(days=1))], [], trace).left_out != ()


def test_a_log_without_the_compilations_that_the_trace_ran_is_left_out():
    trace = TraceOrigin({7}, compile_ids={"2/0", "3/0"})
    log = LogOrigin(Path("a.log"), frozenset((7,)), compile_ids=frozenset(("0/0", "1/0")))
    (sentence,) = belonging_logs([], [log], trace).left_out
    assert "no compilation 2/0, 3/0, which the trace ran" in sentence
    assert belonging_logs([], [replace(log, compile_ids=frozenset())], trace).left_out == ()
    known = replace(log, compile_ids=frozenset(("2/0", "3/0", "0/0")))
    assert belonging_logs([], [known], trace).left_out == ()


def test_no_log_of_the_samples_and_the_larger_captures_is_left_out():
    runs = [
        folder
        for root in (SAMPLES, LARGER / "captures", unpacked(JUDGE_PAIRS))
        for folder in sorted(root.rglob("trace.json.gz"))
    ]
    with_logs = 0
    for trace in runs:
        run = Run.open(trace.parent)
        assert run.logs.left_out == (), trace.parent
        assert run.logs_of_trace.left_out == (), trace.parent
        with_logs += bool(run.logs.structured)
    assert with_logs > 20

"""`memory`: a run, a trace or a snapshot, as text and as JSON."""

import json
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from tests.ingest.memory_snapshot.snapshots import SNAPSHOT, pickled

ROOT = Path(__file__).resolve().parents[2]
BERT = ROOT / "sample_traces" / "bert"
CPU = ROOT / "tests" / "fixtures" / "captures" / "smallcnn_cpu.eager"
LINE = "models.py:76"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def answer(capsys, path):
    assert main(["memory", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_a_run_answers_everything(capsys):
    found = answer(capsys, BERT / "eager")
    assert found["schema"] == 1
    assert found["peak_reserved_bytes"] == 566_231_040
    assert found["peak_allocated_bytes"] == 508_283_904
    live = found["live_at_peak"]
    assert live["before_bytes"] + sum(r["bytes"] for r in live["rows"]) == live["peak_bytes"]
    assert (found["churn"]["n"], found["churn"]["bytes"]) == (204, 695_862_272)
    assert found["snapshot"]["live"][0]["label"] == "activations.py:89"
    documented = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    assert {key for key in keys(found) if f"`{key}`" not in documented} == set()


def test_a_replay_has_null_where_it_has_nothing(capsys):
    found = answer(capsys, BERT / "reduce-overhead")
    assert (found["live_at_peak"], found["churn"], found["snapshot"]) == (None, None, None)
    pools = {pool["name"]: pool["reserved_bytes"] for pool in found["segments"]["pools"]}
    assert pools == {"default": 497_025_024, "private 0.1": 140_509_184}
    assert any("replay" in note for note in found["notes"])
    assert main(["memory", str(BERT / "reduce-overhead")]) == 0
    line = "largest free block outside of private pools"
    text = capsys.readouterr().out
    assert "18.6 MB" in next(each for each in text.splitlines() if line in each)


def test_a_snapshot_alone_is_enough(capsys, tmp_path):
    file = tmp_path / "mine.pickle"
    file.write_bytes(pickled(SNAPSHOT))
    found = answer(capsys, file)
    assert found["peak_reserved_bytes"] == 4096
    assert found["segments"]["split_free_bytes"] == 3072


def test_the_text_names_what_was_live(capsys):
    assert main(["memory", str(BERT / "eager"), "--top", "3"]) == 0
    text = capsys.readouterr().out
    assert "566 MB" in text
    assert "aten::gelu" in text
    assert "activations.py:89" in text


def test_a_cpu_trace_says_what_it_lacks(capsys):
    assert main(["memory", str(CPU)]) == 0
    assert "Measured on the CPU" in capsys.readouterr().out


def test_a_hostile_snapshot_is_two_sentences(capsys, tmp_path):
    file = tmp_path / "evil.pickle"
    file.write_bytes(b"\x80\x04}\x8c\x08segmentscos\nsystem\n(tRs.")
    assert main(["memory", str(file)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 2
    assert "asks to import “os.system”" in lines[0]


def test_a_log_alone_says_nothing_about_memory(capsys, tmp_path):
    log = tmp_path / "torch_logs.txt"
    log.write_text("V0101 00:00:00.000 1 torch/_dynamo/x.py:1] [0/0] [__graph_breaks] hello\n")
    assert main(["memory", str(log)]) == 3
    assert "contains memory data" in capsys.readouterr().err


def test_rows_of_one_line_say_what_calls_it(capsys):
    """`models.py:76` stood there twice, with 34 and with 5 buffers."""
    path = ROOT / "sample_traces" / "ddp" / "default"
    live = [row for row in answer(capsys, path)["snapshot"]["live"] if row["label"] == LINE]
    assert [row["path"][:-1] for row in live] == [["models.py:66 forward"], []]
    assert main(["memory", str(path)]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(LINE)]
    for row, line in zip(rows, live, strict=True):
        caller = (line["path"][:-1] or ["the framework alone"])[0]
        assert row.split()[:-3] == [LINE, *caller.split()]
        assert row.split()[-3] == str(line["n"])

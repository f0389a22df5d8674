"""An empty file is called empty wherever it turns up, whatever it was to be."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from profiler_core.errors import BadInput, NotARun
from profiler_core.ingest.run import open_run
from tests.everything import comparisons
from tests.uploading import accept

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
EMPTY = {"plain": b"", "white space": b" \n\r\n", "packed": gzip.compress(b"")}


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def told(capsys, *words):
    assert main([*map(str, words)]) == 2
    return capsys.readouterr().err.splitlines()[0]


@pytest.mark.parametrize("verb", ["summary", "logs", "memory", "counters", "telemetry"])
@pytest.mark.parametrize("data", EMPTY.values(), ids=EMPTY)
def test_alone_on_the_command_line(verb, data, tmp_path, capsys):
    file = tmp_path / "nothing.json"
    file.write_bytes(data)
    assert told(capsys, verb, file) == "nothing.json is empty."


def test_among_others_in_a_folder(tmp_path):
    folder = tmp_path / "two"
    folder.mkdir()
    (folder / "a.json").touch()
    (folder / "b.txt").write_text("hello")
    with pytest.raises(NotARun, match=r"none of its 2 files is a trace or a log \(1 of them empty"):
        open_run(folder)


@pytest.mark.parametrize(
    ("name", "verb", "status"),
    [
        ("trace.json.gz", "summary", 2),
        ("counters.csv", "counters", 2),
        ("nvml.jsonl", "telemetry", 3),
    ],
)
def test_in_a_run_directory(name, verb, status, tmp_path, capsys):
    run = tmp_path / "run"
    run.mkdir()
    record = {"schema_version": 1, "run_id": "x", "status": "finished"}
    (run / "run.json").write_text(json.dumps(record))
    (run / name).touch()
    assert main([verb, str(run)]) == status
    assert f"{name} is empty." in capsys.readouterr().err


def test_run_json_itself(tmp_path, capsys):
    run = tmp_path / "home" / "runs" / "job" / "eager"
    run.mkdir(parents=True)
    (run / "run.json").touch()
    assert told(capsys, "summary", run) == f"{run / 'run.json'} is empty."
    (group,) = [group for group in comparisons() if group.origin == "capture"]
    (entry,) = group.entries
    assert entry.problem == "run.json is empty."


def test_an_upload_of_it_alone_and_among_others():
    with pytest.raises(BadInput) as refused:
        accept({"nothing.json": b" \n"})
    assert refused.value.problem == "nothing.json is empty."
    trace = (SAMPLES / "customcnn" / "eager" / "trace.json.gz").read_bytes()
    accepted = accept({"mine.json.gz": trace, "nothing.txt": gzip.compress(b"")})
    assert accepted.notes == ("nothing.txt is empty, and was left out.",)
    with pytest.raises(BadInput, match=r"None of the 2 files .* \(1 of them empty\)"):
        accept({"a.json": b"\n", "b.txt": b"hello"})


def test_a_rank_of_a_job_is_counted_and_its_emptiness_said(tmp_path, capsys):
    job = tmp_path / "job"
    job.mkdir()
    eager = SAMPLES / "ddp" / "eager"
    shutil.copy(eager / "trace.json.gz", job / "rank0.json.gz")
    shutil.copy(eager / "ranks" / "1" / "trace.json.gz", job / "rank1.json.gz")
    (job / "rank2.json").touch()
    assert main(["ranks", str(job)]) == 0
    text = capsys.readouterr().out
    assert "Rank 2, rank2.json: rank2.json is empty." in text
    assert "2 of 3 ranks can be shown; rank 2 is left out, as said above." in text

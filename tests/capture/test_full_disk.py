"""A disk that fills up while a capture runs: a sentence, what was measured, and no process left."""

import errno
import re
from pathlib import Path

import msgspec
import pytest

from profiler_core import run_directory as names
from profiler_core.capture import run_writer
from profiler_core.capture.progress import ProgressLog
from profiler_core.cli.main import main
from profiler_core.model.run import RunRecord

TINY = Path(__file__).resolve().parent / "workloads" / "tiny.py"


class Disk:
    """Full from the moment on that `fills` names: nothing of the launcher is written any more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        real = Path.open

        def opened(path: Path, mode: str = "r", *words: object, **more: object) -> object:
            if self.is_full and set(mode) & set("wax") and "+" not in mode:
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            return real(path, mode, *words, **more)  # type: ignore[call-overload]

        monkeypatch.setattr(Path, "open", opened)


def test_what_was_timed_is_kept_when_the_disk_fills_up(
    capture_tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, texts = Disk(monkeypatch), []

    def listen(line) -> None:
        texts.append(line.text)
        disk.is_full |= line.text.startswith("Timing round 2")

    finished = capture_tiny("model", listener=listen)
    (run,) = finished.runs
    assert run.status == "failed"
    assert re.fullmatch(
        r"The disk of .* is full\. Make room there, and capture it again\.", run.error
    )
    assert texts[-1].startswith("Every variant failed: The disk")
    (file,) = finished.directory.glob(f"*/{names.RUN_JSON}")
    record = msgspec.json.decode(file.read_bytes(), type=RunRecord)
    assert len(record.measurement.rounds) == 2
    left = {path.name for path in file.parent.iterdir() if path.name.startswith(".")}
    assert left == set()


def test_a_disk_that_is_full_at_once_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, _value: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("profiler_core.capture.launcher.write_json", full)
    words = [f"{TINY}:model", "--variants", "eager", "--device", "cpu", "--out", str(tmp_path)]
    assert main(["capture", *words]) != 0
    printed = capsys.readouterr().err
    assert "is full" in printed and "Make room" in printed and "Traceback" not in printed


def test_progress_goes_on_to_whoever_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    progress = ProgressLog((tmp_path / "progress.jsonl",), lambda line: texts.append(line.text))
    Disk(monkeypatch).is_full = True
    progress.say("timing", "Round 1")
    assert texts == ["Round 1"]


def test_a_run_without_any_room_of_its_own_still_ends_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_writer, "_RESERVE_BYTES", 1 << 62)  # nobody gives that much
    writer = run_writer.RunWriter(tmp_path / "eager", {"run_id": "c.eager"})
    writer.end("finished")
    assert [path.name for path in writer.directory.iterdir()] == [names.RUN_JSON]

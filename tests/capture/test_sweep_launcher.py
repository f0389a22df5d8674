"""The order of a sweep's captures, with an interpreter that has no torch: no child is started."""

import pytest

from profiler_core.capture import launcher
from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.spec import CaptureSpec, parse_sweep
from profiler_core.capture.sweep.launcher import run_sweep
from profiler_core.errors import BadInput
from profiler_core.ingest.run import open_run

SPEC = CaptureSpec("customcnn", device="cpu", sweep=parse_sweep("batch=1,8,32"))


@pytest.fixture
def asked(monkeypatch, tmp_path):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    said = []

    def probe(python, look):
        look()
        said.append(python)
        return Interpreter("python", {"error": "No module named 'torch'"})

    monkeypatch.setattr(launcher, "probe", probe)
    return said


def test_every_point_is_tried_and_the_interpreter_asked_once(asked, tmp_path):
    lines = []
    swept = run_sweep(SPEC, tmp_path / "runs", listener=lines.append)
    assert asked == [None]
    assert [point.value for point, _ in swept.points] == [1, 8, 32]
    assert not swept.is_cancelled
    for point, finished in swept.points:
        for run in finished.runs:
            record = open_run(run.directory).record
            assert record.status == "failed"
            assert "No module named 'torch'" in record.error
            assert (record.sweep.value, record.sweep.values) == (point.value, (1, 8, 32))
    assert lines[-1].phase == "failed"
    assert lines[-1].text.startswith("Every variant of all 3 points failed")
    assert [line.done for line in lines if line.phase == "point"] == [1, 2, 3]


def test_each_interpreter_of_a_sweep_is_asked_for_itself(asked, tmp_path):
    run_sweep(
        CaptureSpec("customcnn", device="cpu", sweep=parse_sweep("python=/a,/b")), tmp_path / "runs"
    )
    assert asked == ["/a", "/b"]


def test_to_cancel_leaves_the_rest_out(asked, tmp_path):
    done = []
    swept = run_sweep(
        SPEC,
        tmp_path / "runs",
        is_cancelled=lambda: bool(done),
        point_done=lambda point, finished: done.append((point, finished)),
        progress_file=tmp_path / "progress.jsonl",
    )
    assert swept.is_cancelled
    assert [point.value for point, _ in swept.points] == [1]
    assert (swept.n_asked, len(list((tmp_path / "runs").iterdir()))) == (3, 1)
    assert '"phase": "cancelled"' in (tmp_path / "progress.jsonl").read_text().splitlines()[-1]


def test_a_wrong_point_starts_nothing(asked, tmp_path):
    wrong = CaptureSpec("customcnn", sweep=parse_sweep("batch=8,0"))
    with pytest.raises(BadInput, match="--batch-size is 0"):
        run_sweep(wrong, tmp_path / "runs")
    assert asked == []
    assert not (tmp_path / "runs").exists()

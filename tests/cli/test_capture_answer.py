"""What a capture prints at its end is what `compare` says of the same runs."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.answers.encoding import plain
from profiler_core.capture.launcher import FinishedCapture, FinishedRun
from profiler_core.cli.capture_answer import capture_answer, capture_text
from profiler_core.session.run import Run
from profiler_core.units import format_bytes

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"


@pytest.fixture
def finish(tmp_path, monkeypatch):
    """A finished capture of a fixture's runs."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))

    def finished(*names):
        runs = []
        for name in names:
            folder = tmp_path / "capture" / name
            shutil.copytree(CAPTURES / name, folder)
            record = json.loads((folder / "run.json").read_text())
            runs.append(FinishedRun(name, folder, record["status"], record["error"], record))
        return FinishedCapture("capture", tmp_path / "capture", tuple(runs), 1.0)

    return finished


@pytest.mark.parametrize(
    ("names", "column"),
    [
        (("smallcnn_cpu.eager", "smallcnn_cpu.default"), "peak allocated"),
        (("customcnn_b1.eager", "customcnn_b1.reduce-overhead"), "peak memory"),
        (("customcnn_openvino.eager", "customcnn_openvino.openvino"), "peak allocated"),
    ],
)
def test_peak_memory_is_what_compare_says(finish, names, column):
    finished = finish(*names)
    text, answer = capture_text(finished), plain(capture_answer(finished))
    assert column in text.splitlines()[0]
    for run, said in zip(finished.runs, answer["runs"], strict=True):
        memory = Run.open(run.directory).side.memory
        assert said["peak_reserved_bytes"] == memory.peak_reserved_bytes
        assert said["peak_allocated_bytes"] == memory.peak_allocated_bytes
        wanted = memory.peak_reserved_bytes if column == "peak memory" else None
        if column == "peak allocated":
            wanted = memory.peak_allocated_bytes
        (line,) = (one for one in text.splitlines() if one.startswith(f"{run.variant} "))
        assert line.endswith(format_bytes(wanted))
    first = answer["runs"][0]
    assert first["peak_reserved_bytes" if column == "peak memory" else "peak_allocated_bytes"]


def test_phases_stand_beside_no_total_that_differs_from_the_job_s(finish):
    """ "35 s in all" stood in the log of a job that had failed after 1 min 09 s."""
    finished = finish("smallcnn_cpu.eager", "smallcnn_cpu.default")
    for run in finished.runs:
        run.record["measurement"]["phase_seconds"] = {"starting": 12.5, "compiling": 4.45}
    lines = capture_text(finished).splitlines()
    assert lines[-2] == "Time of all variants: starting 25.0 s, compiling 8.9 s"
    assert "in all" not in "".join(lines)


def test_a_damaged_trace_costs_only_its_number(finish):
    finished = finish("smallcnn_cpu.eager", "smallcnn_cpu.default")
    for trace in finished.runs[0].directory.glob("trace.json*"):
        trace.write_bytes(b"{")
    first, second = plain(capture_answer(finished))["runs"]
    assert first["peak_allocated_bytes"] is None
    assert second["peak_allocated_bytes"]
    assert capture_text(finished)

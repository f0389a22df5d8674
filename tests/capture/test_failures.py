"""Each way to fail: one clear sentence, a readable failed run, no process left."""

import re

import pytest

from profiler_core.capture import launcher
from profiler_core.capture.child.failures import describe
from profiler_core.capture.spec import CaptureSpec, parse_sweep, parse_variants
from profiler_core.errors import Cancelled
from profiler_core.ingest.run import open_run

from .conftest import PLANTED, SHORT, processes_with

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("nowhere", r"has no function 'nowhere'\. Use one of its functions: model, "),
        ("returns_nonsense", r"The function returns_nonsense returned a int, not a model"),
        (
            "raises_while_building",
            r"ValueError in building the model \(tiny\.py, line \d+, in raises_while_building\): "
            r"the data set is empty\.",
        ),
        (
            "raises_while_running",
            r"ValueError in the first call \(tiny\.py, line \d+, in forward\): negative size\.",
        ),
        ("out_of_memory", r"Out of memory in the first call \(tiny\.py, line \d+, in forward\): "),
        ("killed", r"The process was killed by SIGKILL during: warm up\."),
    ],
)
def test_it_leaves_a_readable_failed_run(request, function, said):
    captures = "capture_tiny_alone" if function == "killed" else "capture_tiny"
    capture_tiny = request.getfixturevalue(captures)
    (run,) = capture_tiny(function).runs
    record = open_run(run.directory).record
    assert record.status == "failed"
    assert re.search(said, record.error), record.error
    assert "\n" not in record.error
    assert processes_with(str(capture_tiny.home)) == []


def test_a_missing_file_is_said_for_every_variant_without_starting_any(tmp_path):
    spec = CaptureSpec(f"{tmp_path}/gone.py:f", variants=parse_variants("eager,default"), **SHORT)
    finished = launcher.run_capture(spec, tmp_path)
    for run in finished.runs:
        record = open_run(run.directory).record
        assert record.status == "failed"
        assert record.error == f"{tmp_path}/gone.py does not exist. Pass an existing Python file."


def test_an_interpreter_that_is_none_is_said(tmp_path):
    finished = launcher.run_capture(CaptureSpec("customcnn", python="/no/python"), tmp_path)
    assert {run.status for run in finished.runs} == {"failed"}
    assert "The interpreter /no/python does not exist." in finished.runs[0].error


def test_a_sweep_of_interpreters_asks_none_of_them_beforehand():
    spec = CaptureSpec("customcnn", sweep=parse_sweep("python=/no/python,/nor/this"))
    assert launcher.ask_first(spec, print, lambda: False) == {}


def test_a_cancel_ends_the_first_question(tmp_path):
    with pytest.raises(Cancelled):
        launcher.ask_first(CaptureSpec("customcnn"), print, lambda: True)


def test_an_interpreter_without_torch_is_said(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        finished = launcher.run_capture(CaptureSpec("customcnn"), tmp_path)
    error = finished.runs[0].error
    assert "cannot capture: torch cannot be imported: ImportError: no torch here" in error


def test_candidates_are_measured_though_the_baseline_fails(capture_tiny):
    variants = "backend:planted_broken,eager"
    finished = capture_tiny("model", variants, path=PLANTED, numerics=True)
    broken, eager = finished.runs
    assert (broken.status, eager.status) == ("failed", "finished")
    assert len(eager.record["measurement"]["rounds"]) == 2
    assert eager.record["numerics"]["verdict"] == "right"


def test_an_absent_backend_says_what_to_install(capture_tiny):
    runs = capture_tiny("model", "tensorrt,backend:nonsense").runs
    assert "no backend 'tensorrt' in this interpreter. Install torch-tensorrt" in runs[0].error
    assert "Use one of: aot_eager" in runs[1].error
    assert "openxla" not in runs[1].error  # listed by Dynamo, and not installed


def test_variants_that_do_not_fit_together_run_one_after_another(capture_tiny, tmp_path):
    finished = capture_tiny(
        "alone", "eager,eager+bf16-autocast", options=(("path", str(tmp_path / "holder")),)
    )
    assert [run.status for run in finished.runs] == ["finished", "finished"]
    for run in finished.runs:
        measurement = open_run(run.directory).record.measurement
        assert measurement.interleaved is False
        assert len(measurement.rounds) == 2
    lines = (finished.directory / "progress.jsonl").read_text()
    assert "do not fit on the device together" in lines


def test_cancelling_ends_everything_at_once(capture_tiny_alone):
    seen = []
    finished = capture_tiny_alone(
        "slow",
        "eager,eager+bf16-autocast",
        rounds=1000,
        listener=lambda line: seen.append(line.phase),
        is_cancelled=lambda: "timing" in seen,
    )
    assert finished.is_cancelled
    for run in finished.runs:
        record = open_run(run.directory).record
        assert (record.status, record.error) == ("cancelled", "The capture was cancelled.")
    assert seen[-1] == "cancelled"
    assert processes_with(str(capture_tiny_alone.home)) == []


def raised_in(path, text, *arguments):
    """What a function "run" of a file with this text raises, its traceback included."""
    names = {}
    exec(compile(text, str(path), "exec"), names)
    with pytest.raises(Exception) as caught:
        names["run"](*arguments)
    return caught.value


def test_what_no_line_of_the_user_raised_has_no_line_to_fix(tmp_path):
    """ "Fix the line" stood there without a line, of a Sequential whose input does not fit."""
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as caught:
        torch.nn.Sequential(torch.nn.Linear(8, 8))(torch.randn(2, 7))
    said = describe(caught.value, "the first call", str(tmp_path / "tiny.py"), compiled=False)
    assert said["problem"].startswith("RuntimeError in the first call: mat1 and mat2 shapes")
    assert said["remedy"] == (
        "No line of tiny.py raised it: see whether the inputs fit the model, and the traceback at "
        "the end of torch_logs.txt."
    )
    said = describe(caught.value, "the first call", None, compiled=False)
    assert said["remedy"] == "See the end of torch_logs.txt for the traceback."


def test_a_line_of_a_file_beside_the_users_is_named(tmp_path):
    error = raised_in(tmp_path / "nets" / "net.py", "def run():\n    raise ValueError('no')\n")
    said = describe(error, "the first call", str(tmp_path / "tiny.py"), compiled=False)
    assert said["problem"] == "ValueError in the first call (net.py, line 2, in run): no."
    assert said["remedy"].startswith("Fix the line, or see")
    packages = tmp_path / "venv" / "site-packages" / "lib.py"
    error = raised_in(packages, "def run():\n    raise ValueError('no')\n")
    said = describe(error, "the first call", str(tmp_path / "tiny.py"), compiled=False)
    assert said["problem"] == "ValueError in the first call: no."


def test_a_syntax_error_names_its_file_once():
    with pytest.raises(SyntaxError) as caught:
        compile("def f():\n    return )\n", "/work/broken.py", "exec")
    said = describe(caught.value, "loading the code", "/work/broken.py", compiled=True)
    assert said["problem"] == (
        "SyntaxError in loading the code (broken.py, line 2): unmatched ')'."
    )
    assert said["remedy"].startswith("Fix the line, or see")


def test_without_a_cpp_compiler_it_says_what_to_install():
    error = type("InvalidCxxCompiler", (RuntimeError,), {"__module__": "torch._inductor.exc"})(
        "No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, 'g++')"
    )
    said = describe(error, "the first call", None, compiled=True)
    assert said["kind"] == "compile"
    assert said["remedy"].startswith("Install g++, or name a C++ compiler in CXX")

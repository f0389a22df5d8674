"""A failed compilation is an answer: the user's line, torch's reason and hint, the remedy."""

import gzip
import json
from pathlib import Path

import pytest

from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.rows.compilation import failure_table
from profiler_core.capture.child.compile_errors import diagnose
from profiler_core.cli.main import main
from profiler_core.ingest.run import open_run
from profiler_core.ingest.torch_logs.reader import read_torch_logs
from profiler_core.model.compilation import CompileLog
from profiler_core.session.run import Run

WORKLOADS = Path(__file__).resolve().parent / "workloads" / "not_compilable.py"
LOGS = Path(__file__).resolve().parents[1] / "fixtures" / "torch_logs"

USER_STACK = """
from user code:
   File "/home/user/net.py", line 10, in forward
    return self.inner(x)
           ~~~~~~~~~~^^^
  File "/home/user/net.py", line 12, in inner
    return scale(self.l(x))
           ~~~~~^^^^^^^^^^^
"""
IN_TORCH = """\
  File "/opt/venv/lib/python3.11/site-packages/torch/_library/custom_ops.py", line 877, in __call__
    return self._opoverload(*args, **kwargs)
           ~~~~~~~~~~~~~~~~^^^^^^^^^^^^^^^^^
"""
NO_FAKE = (
    "There was no fake impl registered for <CustomOpDef(mylib::scale)>. This is necessary for "
    "torch.compile/export/fx tracing to work. Please use `scale.register_fake` to add an fake impl."
)
PLEASE = "Please use `scale.register_fake` to add an fake impl."
REMEDY = (
    "Register a fake implementation of {0} beside its definition, which returns an empty tensor of "
    "the right shape: @scale.register_fake, or torch.library.register_fake (impl_abstract before "
    "torch 2.4)."
)
SEE = "https://docs.google.com/document/d/1GgvOe7C8/edit#heading=h.64r4npvq0w0 for how to fix"


@pytest.mark.parametrize(
    ("name", "text", "reason", "hints", "operator"),
    [
        (  # 2.15
            "TorchRuntimeError",
            "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node"
            " with fake tensors: call_function mylib.scale.default(*(FakeTensor(..., size=(4, 8)),)"
            f", **{{}}): got RuntimeError('{NO_FAKE}')\n  Hint: Your code may result in an error"
            " when running in eager. Please double check.\n\n  Developer debug context: \n",
            NO_FAKE, (PLEASE,), "mylib::scale",
        ),
        (  # 2.7
            "TorchRuntimeError",
            "Dynamo failed to run FX node with fake tensors: call_function mylib.scale.default("
            f"*(FakeTensor(..., size=(4, 8)),), **{{}}): got RuntimeError('{NO_FAKE}')\n",
            NO_FAKE, (PLEASE,), "mylib::scale",
        ),
        (  # 2.4 to 2.6
            "TorchRuntimeError",
            "Failed running call_function mylib.scale.default(*(FakeTensor(..., size=(4, 8)),), "
            f"**{{}}):\n{NO_FAKE}\n",
            NO_FAKE, (PLEASE,), "mylib::scale",
        ),
        (  # torch.library.Library, 2.1 to 2.5
            "Unsupported", f"unsupported operator: mylib.scale.default (see {SEE})\n",
            f"unsupported operator: mylib.scale.default (see {SEE})", (), "mylib.scale",
        ),
        (  # the same, 2.6 on
            "Unsupported",
            "Operator does not support running with fake tensors\n  Explanation: \n"
            f"  Hint: see {SEE}\n"
            "\n  Developer debug context: unsupported operator: mylib.scale.default\n",
            "Operator does not support running with fake tensors", (f"see {SEE}",), "mylib.scale",
        ),
    ],
    ids=["2.15", "2.7", "2.4", "library 2.1", "library 2.6"],
)  # fmt: skip
def test_an_operator_without_a_fake(name, text, reason, hints, operator):
    diagnosis = diagnose(name, text + USER_STACK + IN_TORCH)
    assert (diagnosis.error, diagnosis.reason, diagnosis.hints) == (name, reason, hints)
    assert (diagnosis.file, diagnosis.line) == ("/home/user/net.py", 12)
    assert (diagnosis.function, diagnosis.code) == ("inner", "return scale(self.l(x))")
    assert diagnosis.remedy == REMEDY.format(operator)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "data dependent operator: aten._local_scalar_dense.default; to enable, set "
            "torch._dynamo.config.capture_scalar_outputs = True\n",
            "Set torch._dynamo.config.capture_scalar_outputs = True.",
        ),
        (
            "Data-dependent branching\n  Explanation: Detected data-dependent branching.\n"
            "  Hint: This graph break is fundamental - it is unlikely to go.\n"
            "  Hint: Use `torch.cond` to express dynamic control flow.\n",
            "Use `torch.cond` to express dynamic control flow.",
        ),
    ],
    ids=["2.1 to 2.5", "2.6 on"],
)
def test_what_depends_on_data_has_torchs_own_hint(text, hint):
    diagnosis = diagnose("Unsupported", text + USER_STACK)
    assert diagnosis.hints == (hint,)
    assert diagnosis.remedy == f"torch's hint: {hint}"


def test_an_error_of_inductor_names_the_users_line():
    text = (
        "LoweringException: AssertionError: planted in a lowering\n  target: aten.relu.default\n"
        'Found from : \n   File "/home/user/net.py", line 25, in forward\n'
        "    return torch.relu(x)\n"
        "           ^^^^^^^^^^^^^\n\n\nSet TORCHDYNAMO_VERBOSE=1 for the full Dynamo stack trace\n"
    )
    diagnosis = diagnose("InductorError", text)
    assert diagnosis.reason == "LoweringException: AssertionError: planted in a lowering"
    assert (diagnosis.line, diagnosis.code) == (25, "return torch.relu(x)")
    assert diagnosis.remedy.startswith("Keep what that line computes out of the compiler with ")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("TorchRuntimeError", "See the end of torch_logs.txt"),
        ("InductorError", "Keep what fails out of the compiler with torch.compiler.disable"),
        ("Unsupported", "Rewrite what fails, or leave fullgraph out"),
    ],
)
def test_a_line_of_torch_is_not_the_users(name, remedy):
    """linear.py, line 134, of torch's own modules was named as the line to change."""
    text = "a and b must have same reduction dim\n\nfrom user code:\n" + IN_TORCH
    diagnosis = diagnose(name, text)
    assert (diagnosis.file, diagnosis.line, diagnosis.function, diagnosis.code) == (
        None, None, None, "",
    )  # fmt: skip
    assert diagnosis.remedy.startswith(remedy)


def test_the_error_of_another_backend_is_its_own_words():
    diagnosis = diagnose(
        "BackendCompilerFailed", "backend='mine' raised:\nRuntimeError: cannot lower this\n"
    )
    assert diagnosis.reason == "backend='mine' raised: RuntimeError: cannot lower this"
    assert diagnosis.line is None
    assert "torch_logs.txt" in diagnosis.remedy


def test_the_log_of_a_fullgraph_error_is_diagnosed_with_torchs_hints():
    path = LOGS / "2.15.0" / "h1_fullgraph_error" / "torch_logs.rg.txt.gz"
    (failure,) = read_torch_logs([path]).failures
    assert (failure.file, failure.line) == ("/home/user/project/script.py", 7)
    assert failure.code == 'print("not allowed under fullgraph")'
    assert failure.suppressed is False
    assert failure.hints[0].startswith("Avoid calling builtin `print`")
    assert all("report an issue" not in hint for hint in failure.hints)
    assert failure.remedy == f"torch's hint: {failure.hints[0]}"
    report = compilation_report(CompileLog(failures=(failure,)))
    (row,) = failure_table(report, 5).rows
    assert row[1].below == (failure.remedy,)
    assert row[2].below == (failure.code,)


def test_one_without_hints_of_an_older_torch_has_a_remedy_too(tmp_path):
    log = tmp_path / "torch_logs.txt"
    log.write_text(
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/lib/python3.10/site-packages/torch/_dynamo/exc.py", line 193, in f\n'
        "    raise Unsupported(msg)\n"
        "torch._dynamo.exc.Unsupported: call_function BuiltinVariable(print) [] {}\n"
        + USER_STACK
        + '\nSet TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information\n'
    )  # 2.2
    (failure,) = read_torch_logs([log]).failures
    assert (failure.file, failure.line) == ("/home/user/net.py", 12)
    assert failure.reason == "call_function BuiltinVariable(print) [] {}"
    assert failure.remedy.startswith("Rewrite that line, or leave fullgraph out")


def test_an_error_of_inductor_in_a_log_is_a_failure(tmp_path):
    log = tmp_path / "torch_logs.txt.gz"
    log.write_bytes(gzip.compress(
        b'Traceback (most recent call last):\n  File "/home/user/net.py", line 30, in main\n'
        b"torch._inductor.exc.InductorError: LoweringException: AssertionError: planted\n"
        b'  target: aten.relu.default\nFound from : \n   File "/home/user/net.py", line 25, in f\n'
        b"    return torch.relu(x)\n"
    ))  # fmt: skip
    (failure,) = read_torch_logs([log]).failures
    assert (failure.error, failure.file, failure.line) == ("InductorError", "/home/user/net.py", 25)


@pytest.fixture(scope="module")
def custom(capture_tiny):
    return capture_tiny("custom_operator", "eager,default", path=WORKLOADS, profile=True)


@pytest.mark.torch
@pytest.mark.timeout(900)
def test_a_custom_operator_names_what_is_missing_and_where(custom):
    record = open_run(custom.runs[1].directory).record
    assert record.error_kind == "compile"
    assert record.error.startswith(
        "torch.compile failed in the first call (not_compilable.py, line 21, in scaled: "
        "`return scale(self.layer(x))`): TorchRuntimeError: There was no fake impl registered"
    )
    assert "@scale.register_fake" in record.error
    assert record.error.endswith("It is defined at not_compilable.py, line 7.")
    failure = record.compile_failure
    assert (failure.line, failure.defined_in_line) == (21, 7)
    assert failure.hints == (PLEASE,)


@pytest.mark.torch
@pytest.mark.timeout(900)
def test_gate_and_compare_of_a_failed_compile(custom, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    eager, default = (str(run.directory) for run in custom.runs)
    junit = tmp_path / "gate.xml"
    assert main(["gate", eager, default, "--junit", str(junit)]) == 4
    out = capsys.readouterr().out
    assert out.startswith("NOT COMPILED")
    assert "register_fake" in out
    assert 'failures="1"' in junit.read_text()
    assert main(["compare", eager, default, "--json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    assert candidate["step_time"]["clock"] == "unprofiled"
    assert candidate["step_time"]["candidate_ns"] is None
    timed = Run.open(Path(eager)).side.step_time_ns
    assert candidate["step_time"]["baseline_ns"] == round(timed)
    assert candidate["compile_failure"]["line"] == 21
    assert "register_fake" in candidate["verdict"]["headline"]


@pytest.mark.torch
@pytest.mark.timeout(900)
def test_a_branch_on_data_under_fullgraph_has_the_hint_of_torch(capture_tiny):
    (run,) = capture_tiny("data_dependent", "default+fullgraph", path=WORKLOADS).runs
    record = open_run(run.directory).record
    assert "(not_compilable.py, line 26, in forward: `if x.sum() > 0:`)" in record.error
    assert "torch's hint: " in record.error

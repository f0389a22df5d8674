"""A comparison whose every name is hostile: what reaches a reader unescaped fails a test."""

from profiler_core.model.compilation import (
    CompileLog,
    Frame,
    GraphBreak,
    GuardFailure,
    Recompile,
)
from profiler_core.report.contents import Contents, gather
from tests.builders import a_run, a_trace, kernel, launch, op, step
from tests.made_up_runs import MadeUpRun, made_up_comparison

EVIL = '=HYPERLINK("http://evil.example")<script>alert(1)</script>|`*_@all #1 [x](http://e.x)\n</p>'
HOST, USER = "secret-host-17", "secretuser"
FOLDER = f"/home/{USER}/projects/hidden"
CODE = "the_secret_source_line(x)"


def a_hostile_trace(n_kernels=3):
    kernels, launches, ops = [], [], []
    for i in range(n_kernels):
        at = 1_000 * i
        ops.append(op(at, 500, f"aten::{EVIL}"))
        launches.append(launch(at + 100, 100, i + 1))
        kernels.append(kernel(at + 300, 400, i + 1, name=f"{EVIL}{i}"))
    return a_trace(annotations=[step(1, 0, 10_000)], ops=ops, runtime=launches, device=kernels)


def a_log():
    frame = Frame(f"{FOLDER}/model.py", 12, "forward", CODE)
    found = GraphBreak(
        file=frame.file, line=12, function="forward", reason=f"{EVIL} in {FOLDER}/model.py",
        stack=(frame,),
    )  # fmt: skip
    guard = GuardFailure(guard=f"x == 3 {EVIL}", code=CODE, file=frame.file, line=12)
    again = Recompile(function=EVIL, file=frame.file, line=12, reasons=(guard,))
    return CompileLog(graph_breaks=(found,), recompiles=(again,))


def hostile_contents() -> Contents:
    environment = {
        "host": HOST,
        "torch": "2.11.0",
        "python_executable": f"{FOLDER}/bin/python",
        "cpu": f"a CPU of {HOST}",
        "variables": {"PATH": FOLDER},
    }
    record = {
        "workload": f"{FOLDER}/work.py:{EVIL}",
        "environment": environment,
        "error": f"failed in {FOLDER}/model.py on {HOST}",
    }
    runs = [
        a_run(*[1_000_000 + 10 * i for i in range(20)], variant=EVIL, record=record, host=HOST),
        a_run(
            *[900_000 + 10 * i for i in range(20)], variant=f"b {EVIL}", host=HOST,
            record={**record, "status": "failed"},
        ),
    ]  # fmt: skip
    trace = a_hostile_trace()
    return gather(made_up_comparison(MadeUpRun(runs[0], trace), MadeUpRun(runs[1], trace, a_log())))

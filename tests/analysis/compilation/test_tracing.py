"""Time of Dynamo by function: the user's apart from PyTorch's own."""

from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.compilation.tracing import MOST_FUNCTIONS, tracing_time
from profiler_core.analysis.rows.compilation import traced_table
from profiler_core.answers.encoding import plain
from profiler_core.answers.logs import logs_answer
from profiler_core.cli.logs import _text
from profiler_core.model.compilation import CompileLog
from profiler_core.model.run import Measurement, TracedFunction

NN = "/opt/env/lib/python3.11/site-packages/torch/nn/modules/linear.py"


def traced(function, file, own_ns, total_ns, n=1):
    return TracedFunction(
        function=function, file=file, line=7, n=n, own_ns=own_ns, total_ns=total_ns
    )


MEASUREMENT = Measurement(
    tracing=(
        traced("forward", "/home/me/model.py", 100, 1000),
        traced("forward", NN, 250, 600, n=9),
        traced("attend", "/opt/env/lib/python3.11/site-packages/hub/bert.py", 50, 700, n=2),
        traced("helper", "/home/me/model.py", 500, 500, n=4),
        traced("", "", 100, 100, n=30),
    )
)


def test_the_users_functions_and_those_of_libraries_stand_apart_from_pytorchs():
    tracing = tracing_time(MEASUREMENT)
    assert [function.function for function in tracing.functions] == ["forward", "attend", "helper"]
    assert (tracing.total_ns, tracing.framework_ns, tracing.n_functions) == (1000, 250, 3)


def test_a_torch_that_did_not_time_it_has_none():
    assert tracing_time(None) is None
    assert tracing_time(Measurement()) is None
    report = compilation_report(CompileLog())
    assert report.tracing is None
    assert traced_table(report, 5).rows == ()
    assert "Dynamo traced" not in _text(report)


def test_table_json_and_text_say_the_same():
    report = compilation_report(CompileLog(), measurement=MEASUREMENT)
    rows = [[cell.text for cell in row] for row in traced_table(report, 2).rows]
    assert rows == [
        ["forward", "1", "100 ns", "1.00 µs", "100 %"],
        ["attend", "2", "50 ns", "700 ns", "70 %"],
        ["PyTorch's own functions", "–", "250 ns", "–", "–"],
    ]
    assert traced_table(report, 2).n_left_out == 1
    answer = plain(logs_answer(report))["tracing"]
    assert answer["functions"][1] == {
        "function": "attend", "file": MEASUREMENT.tracing[2].file, "line": 7, "n": 2,
        "own_ns": 50, "total_ns": 700,
    }  # fmt: skip
    assert answer["framework_ns"] == 250
    text = _text(report)
    assert "helper (me/model.py:7)" in text
    assert "PyTorch's own functions" in text


def test_answers_are_bounded():
    functions = tuple(traced(f"f{n}", "m.py", n, n) for n in range(MOST_FUNCTIONS + 3))
    tracing = tracing_time(Measurement(tracing=functions))
    assert len(tracing.functions) == MOST_FUNCTIONS
    assert tracing.n_functions == MOST_FUNCTIONS + 3
    assert tracing.functions[0].function == f"f{MOST_FUNCTIONS + 2}"

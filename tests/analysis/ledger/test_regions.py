"""Which compiled graph a call of one in the trace is of, and whether that is a backward."""

import pytest

from profiler_core.analysis.ledger.host_rows import Row
from profiler_core.analysis.ledger.work_units import GraphRun, _open_run

CALL = "## Call CompiledFxGraph fabc ##"


def row(name, seq=None):
    return Row(0, 10, name, None, seq, None, None, False)


@pytest.mark.parametrize(
    ("around", "compile_id", "direction"),
    [
        ("Torch-Compiled Region: 0/0", "0/0", "forward"),
        ("Torch-Compiled Region: !0/1/0", "!0/1/0", "backward"),  # of compiled autograd
        ("Torch-Compiled Region", "", "forward"),
        ("CompiledFunctionBackward", "", "backward"),
    ],
)
def test_a_call_of_a_graph_is_of_the_region_around_it(around, compile_id, direction):
    runs: list[GraphRun] = []
    assert _open_run(row(CALL), [(row(around), None)], runs) == 0
    assert (runs[0].compile_id, runs[0].direction, runs[0].key) == (compile_id, direction, "fabc")

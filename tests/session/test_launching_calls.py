"""Whose generated code a kernel's dossier shows, against the compiled regions of the trace."""

import gzip
import json
import re
from pathlib import Path

import pytest

from profiler_core.agents.kernels import kernel
from profiler_core.analysis.dossier.generated import generated_of_calls
from profiler_core.analysis.dossier.launching import calls_in_steps
from profiler_core.analysis.item import kernel_item
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from tests.larger import LARGER

CAPTURES = LARGER / "captures"
ADD = "triton_poi_fused_add_0"  # in the graphs 1/0 and 1/1 of the log


def regions_of(path: Path, name: str) -> set[str]:
    """Compile ids of the innermost compiled regions that the launches of a kernel lie in.

    Inside the profiled steps, by time and thread on the host: plain JSON.
    """
    events = json.loads(gzip.decompress((path / "trace.json.gz").read_bytes()))["traceEvents"]
    numbers = {
        event["args"]["correlation"]
        for event in events
        if event.get("cat") == "kernel" and event["name"] == name
    }
    launches = [
        event
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and event["args"].get("correlation") in numbers
    ]
    regions = [
        (event["ts"], event["ts"] + event["dur"], event["tid"], match[1])
        for event in events
        if event.get("ph") == "X"
        and (match := re.match(r"Torch-Compiled Region: (\d+/\d+)", event["name"]))
    ]
    return {
        max(r for r in regions if r[0] <= launch["ts"] < r[1] and r[2] == launch["tid"])[3]
        for launch in launches
    }


@pytest.mark.parametrize("variant", ["default", "reduce-overhead"])
def test_the_code_is_of_the_graph_that_the_steps_enter(variant):
    """Both graphs have a kernel of this name, and the first stood there."""
    paths = [CAPTURES / "breaky.eager", CAPTURES / f"breaky.{variant}"]
    pair = Comparison.open(paths)
    ids = {graph.compile_id for graph in pair.opened[1].code.graphs if ADD in graph.kernels}
    assert ids == {"1/0", "1/1"}
    shown = dossier(pair, kernel_item(ADD)).generated
    assert [piece.graph for piece in shown] == ["1/1 inference"]
    if variant == "default":  # a replay's kernels have no launch of their own
        assert regions_of(paths[1], ADD) == {"1/1"}
    assert kernel(str(paths[1]), ADD).compile_id == "1/1"


def test_of_graphs_that_both_launch_it_both_are_named():
    code = Comparison.open([CAPTURES / "breaky.default"]).opened[0].code
    places = [place for place, graph in enumerate(code.graphs) if ADD in graph.kernels]
    index = next(call.index for call in code.graphs[places[0]].calls if call.name == ADD)
    both = {ADD: frozenset((place, index) for place in places)}
    calls = calls_in_steps(code, ADD, lambda: both)
    assert [graph.compile_id for graph, _ in calls] == ["1/0", "1/1"]
    assert calls_in_steps(code, ADD, dict) == calls  # where the trace tells of none
    assert [piece.graph for piece in generated_of_calls(calls)] == ["1/0 inference, 1/1 inference"]
    again = "triton_per_fused_gelu_mul_native_layer_norm_sigmoid_0"
    (shared,) = generated_of_calls(calls_in_steps(code, again, dict))
    assert shared.graph == "2/0 inference, 2/1 inference, 2/2 inference, 2/3 inference and 4 more"

"""The generated code that a dossier shows for a group is that of the kernels that the group runs.

DDPOptimizer splits a frame into several graphs of one compile id, and each counts its calls anew.
"""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from profiler_core.analysis.dossier.generated import (
    calls_of_group,
    calls_of_kernel,
    generated_of_calls,
)
from profiler_core.session.comparison import Comparison

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
PAIRS = [("ddp", "default"), ("bert", "default"), ("simplecnn-training", "default")]


def _triton_kernels_of_trace(run: Path) -> set[str]:
    events = json.loads(gzip.decompress((run / "trace.json.gz").read_bytes()))["traceEvents"]
    kernels = {event["name"] for event in events if event.get("cat") == "kernel"}
    return {name for name in kernels if name.startswith("triton_")}


@pytest.mark.parametrize(("sample", "candidate"), PAIRS)
def test_the_code_of_a_group_is_of_its_kernels(sample, candidate):
    pair = Comparison.open([SAMPLES / sample / "eager", SAMPLES / sample / candidate]).pairs[0]
    log, shown = pair.candidate.code, set()
    for group in pair.ledger.groups:
        kernels = {kernel.name for kernel in group.candidate.kernels}
        calls = [call for _, call in calls_of_group(log, group)]
        generated = {call.name for call in calls if call.kind == "triton"}
        assert generated == {name for name in kernels if name.startswith("triton_")}, group.title
        if len(generated) == len(kernels):
            assert not [call.name for call in calls if call.kind == "library"], group.title
        shown |= generated
    assert shown == _triton_kernels_of_trace(SAMPLES / sample / candidate)
    ids = Counter((graph.compile_id, graph.direction == "backward") for graph in log.graphs)
    assert (max(ids.values()) > 1) == (sample == "ddp")


def test_a_kernel_has_the_code_of_every_graph_that_has_its_name():
    """Of eight kernels called triton_poi_fused_add_0 the last one's code stood for all."""
    pair = Comparison.open([SAMPLES / "breaky" / "eager", SAMPLES / "breaky" / "default"]).pairs[0]
    log = pair.candidate.code
    name = "triton_poi_fused_add_0"
    sources = {graph.kernels[name].source for graph in log.graphs if name in graph.kernels}
    shown = generated_of_calls(calls_of_kernel(log, name))
    assert len(shown) == len(sources) == 8
    assert {piece.name for piece in shown} == {name}
    assert len({piece.graph for piece in shown}) > 1

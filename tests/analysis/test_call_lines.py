"""The line of a call is that of what it computes.

The judge is the log's own text: above each node of a printed graph stands "File: …:48 in forward".
In the samples a constant of line 50 (`full_default`) goes into kernels of lines 47 and 48, and the
products of qkv's gradient (line 69) take views of line 71.
"""

from pathlib import Path

import pytest

from profiler_core.analysis.call_lines import lines_of_calls
from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.unfused.report import unfused
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, GraphNode
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.where import places_of_kernel
from profiler_core.session.run import Run

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


def _node(name: str, target: str, line: int, *arguments: str) -> GraphNode:
    return GraphNode(name, f"torch.ops.aten.{target}", "/m/net.py", line, arguments=arguments)


NODES = (
    _node("zero", "full.default", 50, "False"),
    _node("le", "le.Scalar", 48, "primals_1"),
    _node("where", "where.self", 48, "le", "zero", "primals_1"),
    _node("turned", "permute.default", 71, "where"),
    _node("mm", "mm.default", 69, "turned", "primals_1"),
)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (GeneratedCall(0, "triton_poi_fused_le_0", "triton", 1, post_nodes=("zero", "le")), 48),
        (GeneratedCall(0, "triton_poi_fused_full_0", "triton", 1, post_nodes=("zero",)), 50),
        (GeneratedCall(0, "triton_poi_fused_0", "triton", 1, post_nodes=("turned", "mm")), 69),
        (GeneratedCall(0, "extern_kernels.mm", "library", 1, post_nodes=("turned", "mm")), 69),
        # Its comment has only the views: it is the product that is handed them.
        (GeneratedCall(0, "extern_kernels.mm", "library", 1, post_nodes=("turned",)), 69),
    ],
)
def test_neither_a_constant_nor_a_view_says_the_line_where_other_nodes_do(call, line):
    buffers = {"primals_1": ((8, 8), "f32")}
    graph = CompiledGraph("0/0", "backward", (call,), post_nodes=NODES, buffers=buffers)
    assert lines_of_calls(graph) == {0: f"net.py:{line}"}


def test_a_call_without_nodes_has_no_line():
    call = GeneratedCall(0, "triton_poi_fused_0", "triton", 1)
    assert lines_of_calls(CompiledGraph("0/0", "backward", (call,), post_nodes=NODES)) == {}


@pytest.mark.parametrize("variant", ["default", "reduce-overhead"])
def test_gradients_of_the_samples_batch_norm_are_of_its_line(variant):
    run = SAMPLES / "simplecnn-training" / variant
    (path,) = (run / "torch_trace").iterdir()
    (graph,) = (g for g in read_inductor([path]).graphs if g.direction == "backward")
    lines = lines_of_calls(graph)
    of_norm = [c for c in graph.calls if "_native_batch_norm_backward_threshold_" in c.name]
    of_norm = [c for c in of_norm if "max_pool" not in c.name]
    assert {lines[call.index] for call in of_norm} == {"models.py:48"}
    assert len(of_norm) > 3
    comparison = Comparison.open([run.parent / "eager", run])
    for call in of_norm:
        for place in places_of_kernel(comparison, call.name):
            assert list(place.lines) == ["models.py:48"]


def test_products_of_qkvs_gradient_are_of_its_line():
    material = Run.open(SAMPLES / "ddp" / "default").material
    pairs = unfused(material.ledger_side, material.compile_log, peaks_of("NVIDIA H200"))
    sources = [
        pair.source
        for pair in pairs
        if "cat_transpose_view_7" in pair.writer and pair.reader.endswith(".mm")
    ]
    assert sources == ["models.py:69"] * 2

"""Graphs, calls and provenance out of structured logs."""

import gzip
import json
import re
from pathlib import Path

import pytest

from profiler_core.ingest.inductor.classes import agreed, guarded_classes
from profiler_core.ingest.inductor.code import read_buffers, read_calls, read_kernels
from profiler_core.ingest.inductor.frames import frame_module, is_unnamed_part
from profiler_core.ingest.inductor.graphs import read_graph
from profiler_core.ingest.inductor.parts import most_similar
from profiler_core.ingest.inductor.reader import read_inductor
from tests.larger import JUDGE_PAIRS, LARGER, unpacked

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "ledger"
SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"

GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8, 4][4, 1]cuda:0"):
        l_x_ = L_x_

        # File: /srv/model.py:7 in forward, code: y = F.relu(self.fc(x))
        linear: "f32[8, 2][2, 1]cuda:0" = torch._C._nn.linear(l_x_, weight, bias);  l_x_ = None
        y: "f32[8, 2][2, 1]cuda:0" = torch.nn.functional.relu(linear, inplace = False)

        # File: /srv/model.py:8 in forward, code: y += x
        y += linear;  y_1: "f32[8, 2][2, 1]cuda:0" = y;  y = linear = None
        z: "f32[s0, 2]" = y_1 * 2
        w = y_1.to(torch.float16);  y_1 = None
        # Backward of forward node: File: /srv/model.py:9 in f, code: q
        mm: "bf16[2, 2]" = torch.ops.aten.mm.default(z, w)
        # No stacktrace found for following nodes
        neg = -mm
        return (neg,)
"""


def test_nodes_of_a_printed_graph():
    nodes = {node.name: node for node in read_graph(GRAPH)}
    assert {name: node.target for name, node in nodes.items()} == {
        "linear": "torch._C._nn.linear",
        "y": "torch.nn.functional.relu",
        "y_1": "+",
        "z": "*",
        "w": ".to",
        "mm": "torch.ops.aten.mm.default",
        "neg": "neg",
    }
    assert nodes["linear"].source == "model.py:7"
    assert nodes["linear"].code == "y = F.relu(self.fc(x))"
    assert nodes["linear"].shape == (8, 2)
    assert nodes["y_1"].source == "model.py:8"
    assert nodes["z"].shape is None  # symbolic
    assert nodes["mm"].dtype == "bf16"
    assert nodes["mm"].source == "model.py:9"
    assert nodes["mm"].arguments == ("z", "w")
    assert nodes["neg"].source == ""


def test_what_a_node_is_handed_without_the_words_of_a_device():
    """A graph with a node `index`: the `index=0` of a device gave any node its shape."""
    values = {
        "ge.to(device(type='cuda', index=0));  ge = None": ("ge",),
        "l_args_1_.to(device = device(type='cuda', index=0), dtype = torch.bool)": ("l_args_1_",),
        "torch.arange(8, device = device(type='cuda', index=0))": (),
        "mask[(rows, columns)]": ("mask", "rows", "columns"),
        "mask[rows]": ("mask", "rows"),
        "view.transpose(1, 2)": ("view",),
        "torch.ops.aten.index.Tensor(mask, [rows, columns])": ("mask", "rows", "columns"),
    }
    rows = [f"    node_{number} = {value}" for number, value in enumerate(values)]
    nodes = read_graph("\n".join(rows))
    assert [node.arguments for node in nodes] == list(values.values())


CODE = """
triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''
import triton
''', device_str='cuda')

def partition_0(args):
    arg0_1, = args
    with torch.cuda._DeviceGuard(0):
        buf0 = empty_strided_cuda((8, 2), (2, 1), torch.bfloat16)
        # Topologically Sorted Source Nodes: [linear], Original ATen: [aten.addmm]
        # [Provenance debug handles] extern_kernels.addmm:1
        extern_kernels.addmm(arg0_1, arg1_1, out=buf0)
        buf1 = buf0; del buf0  # reuse
        # Topologically Sorted Source Nodes: [y, y_1], Original ATen: [aten.relu, aten.add]
        # [Provenance debug handles] triton_poi_fused_relu_0:2
        stream0 = get_raw_stream(0)
        triton_poi_fused_relu_0.run(buf1, 16, stream=stream0)
        del arg0_1
    return (buf1,)

class Runner:
    def call(self, args):
        arg0_1, arg1_1 = args
        args.clear()
        (buf1,) = self.partitions[0]((arg0_1,))
        # Topologically Sorted Source Nodes: [s], Original ATen: [aten.sort]
        buf2 = torch.ops.aten.sort.default(buf1)
        buf3 = torch.ops.aten.empty.memory_format([2])
        return (buf2,)

runner = Runner(partitions=[partition_0])
def get_args():
    arg0_1 = rand_strided((4, 2), (2, 1), device='cuda:0', dtype=torch.float32)
"""


def test_calls_of_generated_code_follow_partitions():
    calls = read_calls(CODE)
    assert [(c.index, c.name, c.kind, c.handle) for c in calls] == [
        (0, "extern_kernels.addmm", "library", "extern_kernels.addmm:1"),
        (1, "triton_poi_fused_relu_0", "triton", "triton_poi_fused_relu_0:2"),
        (2, "torch.ops.aten.sort.default", "library", None),
    ]
    assert calls[1].source_nodes == ("y", "y_1")
    assert calls[1].original_aten == ("aten.relu", "aten.add")


def test_buffers_and_kernels():
    assert read_buffers(CODE) == {
        "buf0": ((8, 2), "bf16"), "buf1": ((8, 2), "bf16"), "arg0_1": ((4, 2), "f32"),
    }  # fmt: skip
    assert list(read_kernels(CODE)) == ["triton_poi_fused_relu_0"]


@pytest.mark.parametrize(
    ("folder", "n_calls", "n_dynamo"),
    [
        ("customcnn.reduce-overhead", 15, 15),
        ("bert.default", 126, 320),
        ("resnet50.default", 122, 175),
    ],
)
def test_a_real_log(folder, n_calls, n_dynamo):
    log = read_inductor([FIXTURES / folder / "torch_trace.log.gz"])
    (graph,) = log.graphs
    assert (graph.compile_id, graph.direction) == ("0/0", "inference")
    assert len(graph.calls) == n_calls
    assert len(graph.dynamo_nodes) == n_dynamo
    # The handles number the calls: what was read from the code is what Inductor counted.
    assert [c.handle for c in graph.calls] == [f"{c.name}:{c.index + 1}" for c in graph.calls]
    assert all(call.post_nodes for call in graph.calls)
    assert log.lost == ()
    assert log.n_unreadable == 0


def test_recompiled_graphs_keep_their_ids():
    log = read_inductor([FIXTURES / "breaky.reduce-overhead" / "torch_trace.log.gz"])
    ids = [graph.compile_id for graph in log.graphs]
    assert ids[:3] == ["0/0", "1/0", "2/0"]
    assert "1/1" in ids


def test_no_log_is_an_empty_one():
    assert read_inductor([]).graphs == ()


@pytest.mark.parametrize(
    "version", ["2.4.1", "2.5.1", "2.7.1", "2.8.0", "2.11.0", "2.13.0", "2.15.0"]
)
def test_every_version_gives_forward_and_backward(version):
    logs = sorted((LARGER / "torch_logs" / version / "e_training" / "torch_trace").glob("*.gz"))
    graphs = read_inductor(logs).graphs
    assert {"forward", "backward"} <= {graph.direction for graph in graphs}
    for graph in graphs:
        assert graph.calls
        assert graph.post_nodes
        assert graph.dynamo_nodes
        assert any(node.file for node in graph.dynamo_nodes)


def test_each_part_of_a_graph_that_ddp_cut_has_its_own_nodes():
    """A layer of three parts in the sample's log, where all had the nodes of the whole layer."""
    folder = SAMPLES / "ddp" / "default" / "torch_trace"
    log = read_inductor(sorted(folder.iterdir()))
    forwards = [g for g in log.graphs if g.compile_id == "4/1" and g.direction == "forward"]
    assert [len(graph.dynamo_nodes) for graph in forwards] == [1, 19, 2]
    for graph in forwards:
        names = {node.name for node in graph.dynamo_nodes}
        origins = {origin for each in graph.post_to_pre.values() for origin in each}
        assert origins <= names
        assert any("self_modules_qkv" in name for name in graph.placeholders)  # of the whole layer
    backwards = [g for g in log.graphs if g.compile_id == "4/1" and g.direction == "backward"]
    assert [len(graph.dynamo_nodes) for graph in backwards] == [2, 19, 1]  # the last part first
    for graph in backwards:
        known = {node.name for node in graph.aot_nodes}
        assert len([node for node in graph.post_nodes if node.name in known]) >= 5


def test_the_most_similar_graph_is_found_and_the_last_of_equals():
    mm = "        mm = torch.ops.aten.mm.default(a, b)\n"
    add = "        add = torch.ops.aten.add.Tensor(a, b)\n"
    assert most_similar([mm, mm + add, add], mm + add) == 1
    assert most_similar([mm, add, mm], mm) == 2
    assert most_similar([add, ""], mm) is None
    assert most_similar([], mm) is None


BOTH_WAYS = """
def call(self, args):
    # Topologically Sorted Source Nodes: [], Original ATen: [aten.native_layer_norm_backward]
    # [Provenance debug handles] triton_per_fused_native_layer_norm_backward_0:1
    triton_per_fused_native_layer_norm_backward_0.run(buf0, buf1, workspace_0, 8192, 768, stream=s)
    buf2 = workspace_0[0 * (64) * (768) : (0 + 1) * (64) * (768)].view(64, 768).sum(dim=0)
    buf4 = workspace_0[1 * (64) * (768) : (1 + 1) * (64) * (768)].view(((s0 + 63) // 64), 768)\
.sum(dim=0).view([1, 768]).to(torch.bfloat16)
    buf7.copy_(workspace_0[2 * (64) * (768) : (2 + 1) * (64) * (768)].view(64, 768).sum(dim=0))
    del workspace_0
    buf8 = buf7.view(64, 12)
    return (buf2, buf4, )
"""


def test_sums_that_the_wrapper_writes_out_are_calls():
    """A kernel that reduces both ways leaves parts in a workspace: torch adds them up by itself."""
    calls = read_calls(BOTH_WAYS)
    assert [(call.name, call.kind, call.arguments, call.result) for call in calls[1:]] == [
        ("aten.sum", "library", ("workspace_0",), "buf2"),
        ("aten.sum", "library", ("workspace_0",), "buf4"),
        ("aten.sum", "library", ("workspace_0",), "buf7"),
    ]


@pytest.mark.parametrize("record", ["executed", "executed_cuda"])  # torch 2.15 and 2.11
def test_calls_have_what_the_provenance_artifacts_say_of_their_handles(record):
    """The artifacts are read here as plain JSON. A backward's mapping is empty: comments count."""
    path = FIXTURES / record / "torch_trace.log.gz"
    artifacts: dict[str, list[dict]] = {}
    for row in gzip.decompress(path.read_bytes()).decode().split("\nV")[1:]:
        head, _, payload = row.partition("\n")
        name = json.loads(head[head.index("{") :]).get("artifact", {}).get("name", "")
        if "provenance" in name:
            artifacts.setdefault(name, []).append(json.loads(payload.replace("\n\t", "\n")))
    mappings = artifacts["inductor_provenance_tracking_node_mappings"]
    stacks = artifacts["inductor_provenance_tracking_kernel_stack_traces"]
    graphs = read_inductor([path]).graphs
    assert len(graphs) == len(mappings) == len(stacks) == 25
    n_mapped = 0
    for graph, mapping, stacks_of in zip(graphs, mappings, stacks, strict=True):
        assert (graph.direction == "backward") is ("cppCodeToPost" not in mapping)
        for call in graph.calls:
            if call.handle is None:  # a reduction's last sum, written out by the wrapper
                assert call.stacks == ()
                continue
            assert call.stacks == tuple(stacks_of.get(call.handle, ()))
            if nodes := mapping.get("cppCodeToPost", {}).get(call.handle):
                assert call.post_nodes == tuple(nodes)
                n_mapped += 1
    assert n_mapped > 25


def _stack(*callers: tuple[str, str]) -> list[dict]:
    """Frames with the call of a module below each of these (function, line)."""
    return [
        frame
        for name, line in callers
        for frame in (
            {"name": name, "loc": line},
            {"name": "_wrapped_call_impl", "loc": "return self._call_impl(*args, **kwargs)"},
            {"name": "_call_impl", "loc": "return forward_call(*args, **kwargs)"},
        )
    ] + [{"name": "forward", "loc": ""}]


@pytest.mark.parametrize(
    ("callers", "path"),
    [
        ([], ""),
        ([("step", "loss = self.model(x)")], ""),  # the model itself, whoever calls it
        ([("step", "loss = model(x)"), ("forward", "decoder_outputs = self.decoder(")], "decoder"),
        (
            [
                ("step", "loss = model(x)"),
                ("compile_wrapper", "return fn(*args, **kwargs)"),
                ("forward", "return self.parts.body(self.embed(x))"),
                ("torch_dynamo_resume_in_forward_at_7", "y = self.head(y)"),
            ],
            "parts.body.head",
        ),
        ([("step", "loss = model(x)"), ("forward", "x = layer(x)")], ""),  # of a loop
    ],
)
def test_the_module_of_a_frame_by_the_lines_that_call_it(callers, path):
    assert frame_module(_stack(*callers)) == path
    assert is_unnamed_part(_stack(*callers)) is (callers[-1:] == [("forward", "x = layer(x)")])


def test_the_last_call_of_a_module_may_stand_right_above_its_forward():
    """As in a log of torch 2.14: a block with a graph break of its own had no path, and no name."""
    model = _stack(("step", "loss = model(x)"))[:-1]
    block = {"name": "forward", "loc": ""}
    named = [*model, {"name": "forward", "loc": "x = self.a(x)"}, block]
    assert (frame_module(named), is_unnamed_part(named)) == ("a", False)
    looped = [*model, {"name": "forward", "loc": "x = layer(x)"}, block]
    assert (frame_module(looped), is_unnamed_part(looped)) == ("", True)
    decorated = [*model, {"name": "wrapper", "loc": "output = func(self, *args, **kwargs)"}, block]
    assert (frame_module(decorated), is_unnamed_part(decorated)) == ("", False)
    function = [*model, {"name": "apply", "loc": "return super().apply(*args)"}, block]
    assert (frame_module(function), is_unnamed_part(function)) == ("", False)


@pytest.mark.parametrize("damaged", [None, 7, "stack", [1, None], [{}, {"name": 3, "loc": []}]])
def test_a_damaged_stack_says_nothing(damaged):
    assert frame_module(damaged) == ""
    assert not is_unnamed_part(damaged)


def test_the_frames_stack_is_read_from_the_log():
    """T5's decoder is compiled by itself, behind a graph break; its backward belongs to it."""
    logs = unpacked(JUDGE_PAIRS) / "t5_training" / "default" / "torch_trace"
    graphs = read_inductor(sorted(logs.iterdir())).graphs
    modules = {graph.module for graph in graphs if "decoder" in graph.module}
    assert modules == {"decoder"}
    assert "" in {graph.module for graph in graphs}
    for graph in graphs:
        alike = {other.module for other in graphs if other.compile_id == graph.compile_id}
        assert alike == {graph.module}


def test_guards_say_the_classes_of_modules():
    guards = """
| +- TYPE_MATCH: ___check_type_id(L['self'], 1234), type=<class 'my.models.Net'>  # …
| +- GuardManager: source=L['self']._modules['layer']._modules['0'], type=<class 'my.models.Block'>
| +- GuardManager: source=L['self']._modules['layer']._modules['0'].size, type=<class 'a.b.Size'>
| +- GuardManager: source=L['self']._modules, type=<class 'dict'>
| +- TYPE_MATCH: ___check_type_id(L['batch'], 5), type=<class 'my.data.Batch'>
"""
    assert guarded_classes(guards) == {"": {"Net"}, "layer.0": {"Block"}}
    assert guarded_classes(guards, "decoder") == {
        "decoder": {"Net"}, "decoder.layer.0": {"Block"},
    }  # fmt: skip
    # `self` of two frames may be two modules: what is not one class is none.
    assert agreed([{"": {"Net"}, "a": {"B"}}, {"": {"Block"}}]) == (("a", "B"),)


def test_a_wrapper_is_not_the_models_class():
    wrapped = "L['self'], type=<class 'torch.nn.parallel.distributed.DistributedDataParallel'>"
    assert guarded_classes(f"source={wrapped} source=L['self']._modules, type=<class 'dict'>") == {}


def plain_graph(rows):
    """Name -> (file:line, code) of each assignment, by the comment above it: plain text."""
    nodes, source = {}, ("", "")
    for row in rows:
        if comment := re.match(r"\s*# File: (\S+) in [^,]+, code: (.*)", row):
            source = (comment[1], comment[2])
        elif "# No stacktrace" in row:
            source = ("", "")
        elif bound := re.match(r"\s+(\w+)(: \S.*?)? = ", row):
            nodes.setdefault(bound[1], source)
    return nodes


def test_a_backward_of_compiled_autograd_has_the_users_lines():
    """Its graph inlines AOTAutograd's: its nodes stand at lines of traced code, which bind names.

    On two H200s 38 % of an in-graph DDP's step were placed, 96 % with the lines.
    """
    path = FIXTURES / "compiled_autograd" / "torch_trace.log.gz"
    payloads = {}
    for row in gzip.decompress(path.read_bytes()).decode().split("\nV"):
        head, _, payload = row.partition("\n")
        fields = json.loads(head[head.index("{") :])
        name = fields["artifact"]["name"] if "artifact" in fields else next(iter(fields))
        payloads[name] = payload.splitlines()
    of_dynamo = plain_graph(payloads["dynamo_output_graph"])
    (graph,) = read_inductor([path]).graphs
    assert (graph.compile_id, graph.direction) == ("!0/1/0", "backward")
    lowered = plain_graph(payloads["inductor_post_grad_graph"])
    n_products = 0
    for node in graph.post_nodes:
        line, code = lowered.get(node.name, ("", ""))
        if line.startswith("<eval_with_key>"):
            line, code = of_dynamo[code.split(" = ")[0]]
        if line.startswith("<eval_with_key>"):
            continue
        assert (f"{node.file}:{node.line}" if node.file else "", node.code) == (line, code)
        if node.target.endswith(("aten.mm.default", "aten.addmm.default")):
            assert node.source.startswith("models.py:")
            n_products += 1
    assert n_products == 48  # two for each of the 24 linear layers
    sources = {node.source for node in graph.aot_nodes}
    assert {
        "models.py:69",
        "models.py:71",
        "models.py:74",
        "models.py:75",
        "models.py:76",
    } < sources

"""Modules of groups: paths from graphs, classes from Python calls, None where nothing says it."""

from pathlib import Path

import pytest

from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.analysis.ledger.modules import ROOT, module_of_all, node_modules
from profiler_core.ingest.inductor.graphs import placeholder_names, read_graph
from profiler_core.model.inductor import CompiledGraph, GeneratedCall
from tests.analysis.ledger.judge.pairs import inductor_log
from tests.analysis.ledger.pairs import CAPTURES, TRAINING, ledger, side, small

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"

# Two blocks as torch 2.11 prints them: a parameter of the frame itself, one used by a member, a
# function of another file between, and a second block whose class has a `forward` as well.
GRAPH = """
class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_Block_modules_0_modules_Norm_parameters_weight_: "f32[8]", \
L_x_: "f32[8]", L_self_modules_Block_modules_0_modules_up_parameters_weight_: "f32[8, 8]", \
L_self_modules_Block_modules_1_modules_up_parameters_weight_: "f32[8, 8]"):
        # File: /m/net.py:10 in forward, code: y = x.float()
        y: "f32[8]" = l_x_.float();  l_x_ = None
        # File: /m/net.py:11 in forward, code: return self.weight * y
        h: "f32[8]" = l_self_modules_block_modules_0_modules_norm_parameters_weight_ * y;  y = None
        # File: /m/net.py:20 in forward, code: h = self.act(self.up(h))
        u: "f32[8]" = torch.mv(h, l_self_modules_block_modules_0_modules_up_parameters_weight_)
        # File: /m/act.py:5 in gate, code: return torch.sigmoid(x) * x
        s: "f32[8]" = torch.sigmoid(u);  u = None
        # File: /m/net.py:21 in forward, code: h = self.drop(h)
        d: "f32[8]" = torch.nn.functional.dropout(s, 0.1, False, False);  s = None
        # File: /m/net.py:20 in forward, code: h = self.act(self.up(h))
        w: "f32[8]" = torch.mv(d, l_self_modules_block_modules_1_modules_up_parameters_weight_)
        return (w,)
"""


def test_nodes_lie_in_the_module_whose_frame_has_their_line():
    graph = CompiledGraph(
        "0/0", "inference", (), read_graph(GRAPH), placeholders=placeholder_names(GRAPH)
    )
    assert node_modules(graph) == {
        "y": "Block.0.Norm",
        "h": "Block.0.Norm",
        "u": "Block.0.up",
        "s": "Block",  # between two blocks, in a file that has no parameter
        "d": "Block.0.drop",
        "w": "Block.1.up",
    }


def stack(*frames: str) -> str:
    """As torch prints one: "/m/net.py:20 in forward" and its text, the innermost frame last."""
    lines = []
    for frame in frames:
        place, text = frame.split(" | ")
        path, _, rest = place.partition(":")
        line, _, function = rest.partition(" in ")
        lines.append(f'  File "{path}", line {line}, in {function}\n    {text}\n')
    return "".join(lines)


GATE = "/m/act.py:5 in gate | return torch.sigmoid(x) * x"
IN_BLOCK = "/m/net.py:20 in forward | h = self.act(self.up(h))"


@pytest.mark.parametrize(("stacks", "module"), [
    ((stack(IN_BLOCK, GATE),), "Block.0"),
    ((stack("/m/net.py:21 in forward | h = self.drop(h)", GATE),), "Block.0.drop"),
    # Of two callers none, nor where the stack says none, or is no stack.
    ((stack(IN_BLOCK, GATE), stack("/m/net.py:21 in forward | h = self.drop(h)", GATE)), "Block"),
    ((stack("/m/run.py:3 in main | model(x)", GATE),), "Block"),
    ((f'  File "/m/act.py", line {"9" * 5000}, in gate\n', ""), "Block"),
])  # fmt: skip
def test_a_helper_lies_where_it_is_called(stacks, module):
    call = GeneratedCall(0, "triton_poi_fused_0", "triton", 1, source_nodes=("s",), stacks=stacks)
    graph = CompiledGraph(
        "0/0", "inference", (call,), read_graph(GRAPH), placeholders=placeholder_names(GRAPH)
    )
    assert node_modules(graph)["s"] == module


def test_a_graph_without_paths_says_nothing():
    old = GRAPH.replace("_modules_", "_").replace("_parameters_", "_")
    assert node_modules(CompiledGraph("0/0", "inference", (), read_graph(old))) == {}


@pytest.mark.parametrize(
    ("modules", "found"),
    [
        ([], None),
        (["a.b.c", "a.b.d"], "a.b"),
        (["a.b", "a.b.c"], "a.b"),
        ([ROOT, ROOT], ROOT),
        (["a.x", "a.x", "b.y"], "a.x"),
        ([ROOT, "b.y"], "b.y"),
    ],
)
def test_the_deepest_module_that_holds_all(modules, found):
    assert module_of_all(modules)[0] == found
    assert bool(module_of_all(modules)[1]) == (len({m.split(".")[0] for m in modules}) > 1)


def test_layers_of_bert_and_blocks_of_resnet():
    """Read off the models' own definition; each of BERT's layers has the same modules."""
    by_layer: dict[str, list[str]] = {}
    for group in small("bert.eager", "bert.default").of_kind("matched"):
        parts = group.module.split(".")
        if parts[:2] == ["encoder", "layer"]:
            by_layer.setdefault(parts[2], []).append(".".join(parts[3:]))
    assert {
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
        "attention.output",  # add and LayerNorm
        "intermediate.dense",
        "output.dense",
    } <= set(by_layer["0"])
    inner = [tuple(by_layer[layer]) for layer in list(by_layer)[1:-1]]  # first and last aside
    assert len(set(inner)) == 1
    convolutions = [
        group.module
        for group in small("resnet50.eager", "resnet50.default").of_kind("matched")
        if "conv2d" in group.title
    ]
    assert convolutions[:4] == ["conv1", "layer1.0.conv1", "layer1.0.conv2", "layer1.0.conv3"]


def test_without_logs_no_module_and_the_reason():
    result = small("bert.eager", "bert.default", logs=False)
    assert all(group.module is None for group in result.groups)
    assert any("No group has a module" in note for note in result.notes)


def test_a_backward_is_of_its_forwards_module():
    result = ledger(CAPTURES / TRAINING[0][0], CAPTURES / TRAINING[0][1])
    gradients = [g for g in result.of_kind("matched") if g.phase == "backward"]
    with_module = [g for g in gradients if g.module is not None]
    assert len(with_module) > 0.95 * len(gradients)
    for line, member in (("resnet.py:146", "conv1"), ("resnet.py:154", "conv3")):
        blocks = [
            g.module
            for g in with_module
            if g.sources and g.sources[0][0] == line and "convolution_backward" in g.title
        ]
        assert len(blocks) == 16
        assert len(set(blocks)) == 16
        assert all(name.startswith("layer") and name.endswith(member) for name in blocks)


def test_python_calls_name_classes():
    with_stack = side(CAPTURES / "resnet50_b1.eager+stack")
    plain = side(CAPTURES / "resnet50_b32.eager")
    result = fusion_ledger(plain, with_stack)
    names = [g.module for g in result.of_kind("matched")]
    assert "ResNet_0.Sequential_0.Bottleneck_0.Conv2d_1" in names
    assert sum(name is not None for name in names) > 0.95 * len(names)


def test_an_attribution_pass_names_the_modules_of_another_trace():
    stacks = side(CAPTURES / "resnet50_b1.eager+stack").trace
    plain = side(CAPTURES / "resnet50_b32.eager").trace
    result = fusion_ledger(LedgerSide(plain, stacks=stacks), LedgerSide(plain))
    convolutions = [g.module for g in result.of_kind("matched") if "conv2d" in g.title]
    assert convolutions[0] == "ResNet_0.Conv2d_0"
    assert convolutions[1] == "ResNet_0.Sequential_0.Bottleneck_0.Conv2d_1"
    assert len(set(convolutions)) == len(convolutions)


LAYERS = """
class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_embed_parameters_weight_: "f32[8, 8]", L_x_: "f32[8]", \
L_self_modules_layers_modules_0_modules_attn_modules_out_parameters_weight_: "f32[8, 8]", \
L_self_modules_layers_modules_0_modules_norm_parameters_weight_: "f32[8]", \
L_self_modules_layers_modules_0_modules_mlp_modules_up_parameters_weight_: "f32[8, 8]", \
L_self_modules_layers_modules_1_modules_attn_modules_out_parameters_weight_: "f32[8, 8]"):
        # File: /m/net.py:90 in forward, code: h = self.embed(x)
        e: "f32[8]" = torch.embedding(l_self_modules_embed_parameters_weight_, l_x_)
        # File: /m/net.py:30 in forward, code: return self.out(x)
        a: "f32[8]" = torch.mv(l_self_modules_layers_modules_0_modules_attn_modules_out_parameters_weight_, e)
        # File: /m/net.py:60 in forward, code: h = h + residual
        r: "f32[8]" = a + e
        # File: /m/net.py:10 in forward, code: return self.weight * x
        n: "f32[8]" = l_self_modules_layers_modules_0_modules_norm_parameters_weight_ * r
        # File: /m/net.py:20 in forward, code: return self.up(x)
        u: "f32[8]" = torch.mv(l_self_modules_layers_modules_0_modules_mlp_modules_up_parameters_weight_, n)
        # File: /m/net.py:63 in forward, code: h = h + residual
        s: "f32[8]" = u + r
        # File: /m/net.py:30 in forward, code: return self.out(x)
        b: "f32[8]" = torch.mv(l_self_modules_layers_modules_1_modules_attn_modules_out_parameters_weight_, s)
        # File: /m/net.py:95 in forward, code: return self.head(h)
        logits: "f32[8]" = torch.mv(l_self_modules_embed_parameters_weight_, b)
        return (logits,)
"""  # noqa: E501, as torch prints it


def test_a_layers_own_line_is_not_its_last_members_and_a_tied_weight_is_its_callers():
    """Residuals between the members of a layer, whose class has no line with a parameter."""
    graph = CompiledGraph(
        "0/0", "inference", (), read_graph(LAYERS), placeholders=placeholder_names(LAYERS)
    )
    modules = node_modules(graph)
    assert modules["r"] == "layers.0"  # said layers.0.attn
    assert modules["s"] == "layers.0"  # said layers.0.mlp
    assert modules["logits"] == "head"  # said embed, whose weight it is too
    assert modules["e"] == "embed"


def _resnet_text(blocks: tuple[int, ...], shortcut: int) -> str:
    """A ResNet's graph as torch prints it; stages from `shortcut` on begin with a downsample."""
    lines, placeholders, value = [], [], 0

    def call(line: int, code: str, name: str, path: str | None, above: str) -> str:
        nonlocal value
        value += 1
        lines.append(f"        # File: /m/resnet.py:{line} in forward, code: {code}")
        weight = ""
        if path is not None:
            placeholders.append(f'L_self_modules_{path}_parameters_weight_: "f32[8]"')
            weight = f", l_self_modules_{path}_parameters_weight_"
        lines.append(f'        v{value}: "f32[8]" = torch.{name}({above}{weight})')
        return f"v{value}"

    v = call(268, "x = self.conv1(x)", "conv2d", "conv1", "l_x_")
    for stage, n_blocks in enumerate(blocks, start=1):
        for block in range(n_blocks):
            at = f"layer{stage}_modules_{block}_modules"
            start = v
            v = call(146, "out = self.conv1(x)", "conv2d", f"{at}_conv1", v)
            v = call(148, "out = self.relu(out)", "relu", None, v)
            v = call(150, "out = self.conv2(out)", "conv2d", f"{at}_conv2", v)
            if block == 0 and stage >= shortcut:
                code = "identity = self.downsample(x)"
                start = call(158, code, "conv2d", f"{at}_downsample_modules_0", start)
            v = call(160, "out += identity", "add", None, f"{v}, {start}")
            v = call(161, "out = self.relu(out)", "relu", None, v)
    call(280, "x = self.fc(x)", "mv", "fc", v)
    head = "class GraphModule(torch.nn.Module):\n    def forward(self, L_x_"
    return f"{head}, {', '.join(placeholders)}):\n" + "\n".join([*lines, "        return (v1,)"])


@pytest.mark.parametrize("shortcut", [1, 2])
def test_a_line_that_stages_share_is_of_one_class(shortcut):
    """Blocks without a downsample: another stage's was taken for another class's line."""
    text = _resnet_text((2, 3, 2), shortcut)
    nodes = read_graph(text)
    graph = CompiledGraph("0/0", "inference", (), nodes, placeholders=placeholder_names(text))
    modules = node_modules(graph)
    blocks = [f"layer{s}.{b}" for s, n in ((1, 2), (2, 3), (3, 2)) for b in range(n)]
    assert [modules[n.name] for n in nodes if n.target.endswith("add")] == blocks
    relus = [modules[node.name] for node in nodes if node.target.endswith("relu")]
    assert relus == [f"{block}.relu" for block in blocks for _ in range(2)]


def test_each_block_of_resnet50_adds_and_rectifies_in_itself():
    """Three ReLUs and one sum a block, as torchvision's Bottleneck does them."""
    (log,) = (SAMPLES / "resnet50" / "reduce-overhead" / "torch_trace").iterdir()
    graph = next(iter(inductor_log((log,)).graphs))
    modules = node_modules(graph)
    blocks = [f"layer{s}.{b}" for s, n in enumerate((3, 4, 6, 3), start=1) for b in range(n)]
    relus = [modules[n.name] for n in graph.dynamo_nodes if n.target.endswith("relu")]
    assert relus == ["relu", *(f"{block}.relu" for block in blocks for _ in range(3))]
    sums = [modules[n.name] for n in graph.dynamo_nodes if n.code == "out += identity"]
    assert sums == blocks

"""What a generated call computes: two readings of the same code, and the traps one by one."""

from collections import Counter

import pytest
from msgspec.structs import replace

from profiler_core.analysis.ledger.dataflow import computed_nodes
from profiler_core.analysis.ledger.operators import ANCHORS, KERNEL_FREE, operator
from profiler_core.analysis.ledger.ownership import own_nodes, ownership
from profiler_core.ingest.inductor.code import read_calls
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.model.inductor import (
    CompiledGraph,
    GeneratedCall,
    GraphNode,
    KernelDefinition,
)
from tests.analysis.ledger.judge.log import read_log
from tests.analysis.ledger.pairs import FIXTURES
from tests.larger import JUDGE_PAIRS, unpacked


def library_nodes(graph: CompiledGraph) -> dict[int, str]:
    own = {}
    for call in graph.calls:
        if call.kind == "library" and call.post_nodes:
            bare = call.name.split(".")[3 if call.name.startswith("torch.ops.") else 1]
            same = [n for n in call.post_nodes if n.rstrip("_0123456789").startswith(bare)]
            own[call.index] = (same or list(call.post_nodes))[0]
    return own


@pytest.mark.parametrize(
    "name", ["bert.default", "bert.reduce-overhead", "customcnn.reduce-overhead"]
)
def test_the_judge_reads_the_same_out_of_the_code(name):
    path = FIXTURES / name / "torch_trace.log.gz"
    (graph,) = read_inductor([path]).graphs
    (module,) = read_log([path])
    computed = computed_nodes(graph, library_nodes(graph))
    assert len(computed) > 0.5 * sum(call.kind == "triton" for call in graph.calls)
    for index, nodes in computed.items():
        assert set(nodes) == module.calls[index].computed, module.calls[index].name


def kernel(name: str, body: str, fragment: str = "") -> KernelDefinition:
    return KernelDefinition(name=name, source=f"{fragment}\n{body}")


POINTWISE = (
    "def triton_{0}(in_ptr0, out_ptr0, xnumel):\n    tl.store(out_ptr0 + (x0), tmp0, None)\n"
)


def node(name: str, target: str, *arguments: str) -> GraphNode:
    return GraphNode(name=name, target=f"torch.ops.aten.{target}", arguments=arguments)


def call(index: int, name: str, arguments: str, nodes: str) -> GeneratedCall:
    return GeneratedCall(
        index=index,
        name=name,
        kind="triton",
        line=index,
        arguments=tuple(arguments.split()),
        post_nodes=tuple(nodes.split()),
    )


def test_the_second_half_of_a_split_reduction_belongs_to_its_own_layer():
    """Its comment lists the constant that the first layer made, and it reads partial sums only."""
    nodes = [node("full", "full.default")]
    calls = []
    for layer in (0, 1):
        nodes += [
            node(f"where_{layer}", "where.self", f"x_{layer}", "full"),
            node(f"sum_{layer}", "sum.dim_IntList", f"where_{layer}"),
        ]
        listed = f"full where_{layer} sum_{layer}"
        calls += [
            call(2 * layer, "triton_red", f"x_{layer} buf{layer}", listed),
            call(2 * layer + 1, "triton_per", f"buf{layer} out{layer}", listed),
        ]
    graph = CompiledGraph(
        compile_id="0/0",
        direction="backward",
        calls=tuple(calls),
        post_nodes=tuple(nodes),
        kernels={
            name: kernel(name, POINTWISE.format(name.removeprefix("triton_")))
            for name in ("triton_red", "triton_per")
        },
        buffers={f"x_{layer}": ((4,), "f32") for layer in (0, 1)},
    )
    computed = computed_nodes(graph, {})
    assert set(computed[2]) == {"full", "where_1", "sum_1"}
    assert computed[1] == ("sum_0",)
    assert computed[3] == ("sum_1",)
    owned = ownership(graph)
    assert owned.follows[1] == "sum_0"
    assert owned.follows[3] == "sum_1"  # not the constant, which the first layer's kernel owns


def test_a_kernel_computes_what_it_returns_though_it_is_handed_a_shape_alone():
    """A pooling's backward is given its input for the shape: what follows went to a product."""
    fragment = (
        '#   %grad : Tensor "f32[4]" = PlaceHolder[target=grad]\n'
        '#   %pooled : Tensor "f32[8]"[num_users=1] = '
        "call_function[target=torch.ops.aten.max_pool2d_with_indices_backward.default]"
        "(args = (%grad, %relu), kwargs = {})\n"
        "#   return %pooled"
    )
    name = "triton_pool"
    graph = CompiledGraph(
        compile_id="0/0",
        direction="backward",
        calls=(
            call(0, name, "grad buf0", "pooled"),
            call(1, "triton_scale", "buf0 buf1", "pooled scaled"),
        ),
        post_nodes=(
            node("pooled", "max_pool2d_with_indices_backward.default", "grad", "relu"),
            node("scaled", "mul.Tensor", "pooled"),
        ),
        kernels={
            name: kernel(name, POINTWISE.format("pool"), fragment),
            "triton_scale": kernel("triton_scale", POINTWISE.format("scale")),
        },
        buffers=dict.fromkeys(("grad", "relu"), ((4,), "f32")),
    )
    assert computed_nodes(graph, {}) == {0: ("pooled",), 1: ("scaled",)}


def test_a_mask_of_all_layers_is_no_home_of_what_takes_it():
    """The list beside the mask's kernel names rotary embeddings, which it cannot compute."""
    nodes = (
        node("mm", "mm.default", "w", "x"),
        node("rotated", "mul.Tensor", "mm", "cos"),
        node("ge", "ge.Tensor", "positions"),
        node("mask", "where.self", "ge"),
        node("scores", "add.Tensor", "rotated", "mask"),
    )
    graph = CompiledGraph(
        compile_id="0/0",
        direction="inference",
        calls=(
            call(0, "triton_mask", "positions buf0", "scores rotated mask ge"),
            call(1, "triton_scores", "buf1 cos buf0 buf2", "scores rotated mask"),
        ),
        post_nodes=nodes,
        kernels={
            "triton_mask": kernel("triton_mask", POINTWISE.format("mask")),
            "triton_scores": kernel(
                "triton_scores",
                "def triton_scores(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel):\n"
                "    tl.store(out_ptr0 + (x0), tmp0, None)\n",
            ),
        },
        buffers=dict.fromkeys(("w", "x", "cos", "positions"), ((4,), "f32")),
        code="        buf1 = mm\n",
    )
    computed = computed_nodes(graph, {})
    assert set(computed[0]) == {"ge", "mask"}
    assert "rotated" not in computed[0]


def pair_graphs(name: str, direction: str) -> list[CompiledGraph]:
    paths = sorted((unpacked(JUDGE_PAIRS) / name).glob("torch_trace/*.log*"))
    return [g for g in read_inductor(paths).graphs if g.direction == direction and g.calls]


def test_what_adds_to_a_buffer_computes_the_node_and_so_does_what_filled_it():
    """index_add's gradient: zeros for three layers in one kernel, atomic adds in one each."""
    (graph,) = pair_graphs("gnn_training/default", "backward")
    computed = computed_nodes(graph, own_nodes(graph))
    homes = [call.name for call in graph.calls if "index_put_3" in computed.get(call.index, ())]
    assert len(homes) == 2
    assert homes[0] == "triton_poi_fused_index_put_index_select_7"
    source = graph.kernels[homes[1]].source
    assert "tl.atomic_add" in source


@pytest.mark.parametrize(
    ("name", "direction"),
    [("vit_training/default", "forward"), ("dit_training/default", "backward")],
)
def test_equal_layers_compute_equally_many_nodes_by_a_kernel_that_they_share(name, direction):
    """In the words of the first layer's call: the others list fewer casts, views and constants."""
    (graph,) = pair_graphs(name, direction)
    computed = computed_nodes(graph, own_nodes(graph))
    for call in graph.calls:
        if call.kind == "triton" and call.post_nodes:
            assert call.index in computed, call.name
    norms = [call for call in graph.calls if "native_layer_norm" in call.name]
    sizes = Counter(call.name for call in norms)
    shared = max(sizes, key=sizes.__getitem__)
    stored = {
        tuple(sorted(n.rstrip("_0123456789") for n in computed[call.index][-2:]))
        for call in norms
        if call.name == shared
    }
    assert sizes[shared] > 2
    assert len(stored) == 1, stored


def test_a_node_that_two_of_a_nodes_arguments_share_is_followed_once_and_rightly():
    """embedding(table, index + mask) where the mask is made of the index too."""
    nodes = (
        node("index", "iota.default"),
        node("ge", "ge.Scalar", "index"),
        node("sum", "add.Tensor", "index", "ge"),
        node("embedding", "embedding.default", "table", "sum"),
    )
    graph = CompiledGraph(
        compile_id="0/0",
        direction="forward",
        calls=(call(0, "triton_poi", "table buf0", "embedding"),),
        post_nodes=nodes,
        kernels={"triton_poi": kernel("triton_poi", POINTWISE.format("poi"))},
        buffers={"table": ((4, 4), "f32")},
    )
    assert computed_nodes(graph, {})[0] == ("embedding",)


@pytest.mark.parametrize(
    "name",
    ["gnn_training/default", "vit_training/default", "dit_training/default", "llama/default"],
)
def test_only_what_two_kernels_compute_is_computed_again(name):
    """A product with its bias added elsewhere is not, nor is a view that a list repeats."""
    paths = sorted((unpacked(JUDGE_PAIRS) / name).glob("torch_trace/*.log*"))
    for graph in read_inductor(paths).graphs:
        computed = computed_nodes(graph, own_nodes(graph))
        homes = Counter(node for every in computed.values() for node in every)
        nodes = graph.post_nodes if graph.direction == "backward" else graph.dynamo_nodes
        targets = {node.name: operator(node.target) for node in nodes}
        for call, names in ownership(graph).again.items():
            assert not {targets[n] for n in names} & (ANCHORS | KERNEL_FREE), (call, names)
            if graph.direction == "backward":
                assert all(homes[n] > 1 for n in names), (call, names)


def test_a_view_and_a_product_that_two_comments_list_are_not_computed_again():
    """1 134 of 1 747 notes said so; the scaling that both kernels do is computed twice."""
    kernels = {
        name: kernel(f"triton_{name}", POINTWISE.format(name)) for name in ("first", "second")
    }
    product = GeneratedCall(
        index=0, name="extern_kernels.mm", kind="library", line=0,
        arguments=("x", "w", "out", "buf0"), post_nodes=("mm",),
    )  # fmt: skip
    graph = CompiledGraph(
        compile_id="0/0",
        direction="backward",
        calls=(
            product,
            call(1, "triton_first", "buf0 buf1", "mm view scaled first"),
            call(2, "triton_second", "buf0 buf2", "mm view scaled second"),
        ),
        post_nodes=(
            node("mm", "mm.default", "x", "w"),
            node("view", "view.default", "mm"),
            node("scaled", "mul.Tensor", "view"),
            node("first", "exp.default", "scaled"),
            node("second", "sin.default", "scaled"),
        ),
        kernels={f"triton_{name}": definition for name, definition in kernels.items()},
        buffers=dict.fromkeys(("x", "w"), ((4, 4), "f32")),
        code="",
    )
    assert {index: names for index, names in ownership(graph).again.items() if names} == {
        2: ("scaled",)
    }


def test_a_sum_that_the_wrapper_writes_out_works_for_the_kernel_that_left_it_in_parts():
    """The kernel reduces both ways; `.sum(dim=0)` has no comment, and ends one of two gradients."""
    nodes = (
        node("mul", "mul.Tensor", "x", "dy"),
        node("row", "sum.dim_IntList", "mul"),
        node("weight", "sum.dim_IntList", "mul"),
        node("bias", "sum.dim_IntList", "dy"),
        node("half", "mul.Tensor", "weight"),
    )
    source = (
        "#   return %row,%weight,%bias\n"
        "def triton_per(in_ptr0, in_ptr1, out_ptr0, ws_ptr, xnumel):\n"
        "    tl.store(out_ptr0 + (x0), tmp0, None)\n"
        "    tl.store(ws_ptr + (tl.program_id(0)) * r0_numel + r0_index, accum0, r0_mask)\n"
    )
    kernels = {
        "triton_per": KernelDefinition(name="triton_per", source=source),
        "triton_poi": kernel("triton_poi", POINTWISE.format("poi")),
    }
    code = (
        "def call(args):\n"
        "    triton_per.run(x, dy, buf0, workspace_0, 8, stream=stream0)\n"
        "    buf1 = workspace_0[0 * (4) * (8) : (0 + 1) * (4) * (8)].view(4, 8).sum(dim=0)\n"
        "    buf2 = workspace_0[1 * (4) * (8) : (1 + 1) * (4) * (8)].view(4, 8).sum(dim=0)\n"
        "    triton_poi.run(buf1, buf3, 8, stream=stream0)\n"
    )
    listed = {0: "mul row weight bias", 3: "mul weight half"}
    calls = tuple(
        replace(generated, post_nodes=tuple(listed.get(generated.index, "").split()))
        for generated in read_calls(code)
    )
    graph = CompiledGraph(
        compile_id="0/0",
        direction="backward",
        calls=calls,
        post_nodes=nodes,
        kernels=kernels,
        buffers=dict.fromkeys(("x", "dy"), ((4,), "f32")),
        code=code,
    )
    owned = ownership(graph)
    assert owned.owners["weight"] == owned.owners["bias"] == (0,)
    assert set(owned.follows) == {1, 2}
    assert {owned.follows[1], owned.follows[2]} <= {"row", "weight", "bias"}
    assert owned.owners["half"] == (3,)

"""What a generated kernel reads of tables: BERT's embeddings by the log's text, made-up ones."""

import gzip
import re
from math import prod
from pathlib import Path

import pytest

from profiler_core.analysis.dossier.roofline import Traffic, roofline
from profiler_core.analysis.item import group_item, kernel_item
from profiler_core.analysis.ledger.looked_up import looks_up, values_looked_up
from profiler_core.analysis.wording.roofline import roofline_sentences
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, GraphNode
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from tests.analysis.ledger.test_bytes_moved import unit

BERT = Path(__file__).resolve().parents[3] / "sample_traces" / "bert"
KERNEL = "triton_per_fused_add_embedding_expand_gather_native_layer_norm_slice_0"
ITEM = {"f32": 4, "i64": 8}


def demanded_by_the_log() -> int:
    """Bytes of BERT's first kernel, by the fragment that Inductor prints above it.

    `%arg5_1 : Tensor "f32[512, 768][768, 1]cuda:0" = PlaceHolder[…]`
    `%embedding_2 : Tensor "f32[1, 128, 768][…]" = call_function[target=…](args = (%arg5_1, …`
    """
    (path,) = (BERT / "default" / "torch_trace").iterdir()
    log = gzip.decompress(path.read_bytes()).decode()
    (handed,) = {*re.findall(rf"{KERNEL}\.run\((.*?), stream=", log)}
    names = [name for name in handed.split(", ") if name.startswith(("arg", "buf"))]
    fragment = log[: log.index(f"{KERNEL} = async_compile")].rpartition("# Graph fragment:")[2]
    sizes: dict[str, int] = {}
    looked_up: dict[str, int] = {}
    shown = {}  # what `expand` shows
    for name, kind, shape, rest in re.findall(
        r'%(\w+) : Tensor "(\w+)\[([\d, ]*)\]\[.*? = (.*)', fragment
    ):
        n_bytes = prod(map(int, shape.split(","))) * ITEM[kind]
        target = re.search(r"aten\.(\w+)\.default\]\(args = \(%(\w+)", rest)
        if "PlaceHolder" in rest:
            sizes[name] = n_bytes
        elif target is not None and target[1] == "expand":
            shown[name] = target[2]
        elif target is not None and target[1] in ("embedding", "gather"):
            looked_up[shown.get(target[2], target[2])] = n_bytes
    assert set(looked_up) == {"arg2_1", "arg3_1", "arg4_1", "arg5_1"}
    assert sizes["arg5_1"] == 512 * 768 * 4 and looked_up["arg5_1"] == 128 * 768 * 4
    read = [min(sizes[name], looked_up.get(name, sizes[name])) for name in names if name in sizes]
    assert len(read) == len(names) - 1  # the other one is the result
    return sum(read) + 8 * 128 * 768 * 4


def test_a_kernel_reads_of_the_table_of_positions_what_the_sequence_has() -> None:
    """All 512 of them were counted, 1.57 MB in place of 0.39."""
    comparison = Comparison.open([BERT / "eager", BERT / "default"])
    expected = demanded_by_the_log()
    (line,) = dossier(comparison, kernel_item(KERNEL)).rooflines
    assert line.bytes_moved == expected
    before, after = dossier(comparison, group_item(1, 0)).rooflines
    assert after.bytes_moved == expected
    for each in (line, before, after):
        moves, repeats, *_ = roofline_sentences(each)
        assert moves.startswith("Moves ") and "at least" not in moves
        assert repeats.startswith("Rows of tables count as often as they are looked up")


def graph(*nodes: GraphNode) -> tuple[CompiledGraph, GeneratedCall]:
    call = GeneratedCall(0, "triton_poi", "triton", 1, post_nodes=tuple(n.name for n in nodes))
    return CompiledGraph("0/0", "forward", (call,), post_nodes=nodes), call


def node(name: str, target: str, shape: tuple[int, ...] | None, *arguments: str) -> GraphNode:
    return GraphNode(name, f"torch.ops.aten.{target}.default", shape=shape, arguments=arguments)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("a", "embedding", (4, 8), "table", "rows")], {"table": 32}),
        # Through what only shows it.
        ([node("v", "expand", (2, 9, 8), "table"), node("a", "gather", (2, 3), "v", "rows")],
         {"table": 6}),
        # Each lookup of the same table.
        ([node("a", "embedding", (4, 8), "table", "rows"),
          node("b", "embedding", (5, 8), "table", "others")], {"table": 72}),
        # A sum of the table reads all of it; of a bag the graph prints no shape.
        ([node("a", "embedding", (4, 8), "table", "rows"), node("s", "sum", (8,), "table")], {}),
        ([node("s", "sum", (8,), "table"), node("a", "embedding", (4, 8), "table", "rows")], {}),
        ([node("a", "embedding_bag", None, "table", "rows")], {}),
        ([node("v", "full", (2,)), node("a", "add", (2,), "v", "x")], {}),
    ],
)  # fmt: skip
def test_values_are_those_that_nodes_look_up(
    nodes: list[GraphNode], expected: dict[str, int]
) -> None:
    assert values_looked_up(*graph(*nodes)) == expected


def test_what_looks_up_says_that_rows_may_repeat() -> None:
    assert looks_up(unit("aten::embedding", ((9, 4), (3,))))
    assert looks_up(unit("triton_poi_fused_embedding_0", ()))
    assert not looks_up(unit("aten::add", ((9, 4), (9, 4))))
    assert not looks_up(unit("triton_poi_fused_embedding_dense_backward_0", ()))
    line = roofline("default", None, 1, Traffic(100, 10, 1, 1))
    assert line is not None and roofline_sentences(line)[0].startswith("Moves at least 100 B")

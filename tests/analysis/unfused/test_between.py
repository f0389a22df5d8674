"""What two calls cannot be fused across, against a plain reader of the generated module's text.

It shares no code with the product: a name is what the last line says that gave it, and a call
needs whatever it names and does not only write.
"""

import gzip
import re

import msgspec
import pytest

from profiler_core.analysis.unfused.handovers import between, handovers
from profiler_core.analysis.unfused.reasons import reason_in_code
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, KernelDefinition
from tests.larger import LARGER

CAPTURES = LARGER / "captures"
CALL = re.compile(
    r"\s+(?:(buf\d+) = )?(triton_\w+\.run|extern_kernels\.\w+|torch\.ops\.[\w.]+)\((.*)"
)


def needs_of(path):
    """Number of a call -> numbers of the calls whose results it reads, in order of the text."""
    text = gzip.decompress(path.read_bytes()).decode()
    start = text.index('"inductor_output_code"')
    module = "\n".join(row[1:] for row in text[start:].splitlines()[1:] if row.startswith("\t"))
    roles = {
        match[1]: re.findall(r"\b(\w*ptr\d+)", match[2])
        for match in re.finditer(r"^\s*def (triton_\w+)\(([^)]*)\)", module, re.M)
    }
    made_by, same, needs = {}, {}, []

    def real(name):
        while name in same:
            name = same[name]
        return name

    for row in module[module.index("def call(") :].splitlines():
        if row.strip().startswith("return ("):
            break
        if given := re.match(r"\s+(buf\d+) = (?:reinterpret_tensor\()?(buf\d+)\b", row):
            same[given[1]] = given[2]
        elif call := CALL.match(row):
            names = re.findall(r"\bbuf\d+|\barg\d+_\d+", call[3])
            kernel = call[2].removesuffix(".run")
            out = re.search(r"out=(buf\d+)", row)
            written = {call[1] or (out and out[1])}
            read = [name for name in names if name not in written]
            if kernel in roles:
                by_role = list(zip(names, roles[kernel], strict=True))
                read = [name for name, role in by_role if not role.startswith("out_ptr")]
                written = {name for name, role in by_role if not role.startswith("in_ptr")}
            needs.append({made_by[real(n)] for n in read if real(n) in made_by})
            made_by.update({real(name): len(needs) - 1 for name in written if name})
    return needs


def held_apart(needs):
    """(Writer, reader) where the reader also needs the writer through another call."""
    everything = []
    for direct in needs:
        everything.append(direct.union(*(everything[number] for number in direct)))
    return {
        (writer, reader)
        for reader, direct in enumerate(needs)
        for writer in direct
        if any(writer in everything[other] for other in direct - {writer})
    }


@pytest.mark.parametrize("name", ["bert.default", "bert.default+amp", "resnet50_b32.default"])
def test_what_lies_between_is_found_through_calls_of_any_kind(name):
    path = CAPTURES / name / "torch_trace.log.gz"
    (graph,) = read_inductor([path]).graphs
    expected = held_apart(needs_of(path))
    assert len(expected) > 10
    assert set(between(graph)) == expected


def test_layer_norms_of_a_transformer_are_held_apart_by_attention():
    """Both reduce the same last axis: `buf25` goes into three products, attention and one more."""
    (graph,) = read_inductor([CAPTURES / "bert.default" / "torch_trace.log.gz"]).graphs
    middles = between(graph)
    norms = {call.index for call in graph.calls if "native_layer_norm" in call.name}
    pairs = [(h.writer, h.reader) for h in handovers(graph) if {h.writer, h.reader} <= norms]
    assert len(pairs) == 24
    texts = {
        reason_in_code(
            graph, graph.calls[writer], graph.calls[reader], graph.calls[middles[writer, reader]]
        ).text
        for writer, reader in pairs
    }
    assert texts == {
        "The second needs addmm too, which needs the first.",
        "The second needs mm too, which needs the first.",
    }


def kernel(name, numels, load, store="r0_1 + 64*x0"):
    loops = "".join(f"    {axis}numel = {n}\n" for axis, n in numels.items())
    kind = "reduction" if "r0_" in numels else "pointwise"
    return KernelDefinition(
        name,
        f"@triton_heuristics.{kind}(\n)\ndef {name}(in_ptr0, out_ptr0):\n{loops}"
        "    x0 = xindex\n    r0_1 = r0_index\n"
        f"    tmp0 = tl.load(in_ptr0 + ({load}), None)\n    tl.store(out_ptr0 + ({store}), tmp0)\n",
    )


ROWS = {"x": 64, "r0_": 64}


@pytest.mark.parametrize(
    ("numels", "load", "key"),
    [
        (ROWS, "x0 + 64*r0_1", "reduction"),  # the columns of what the first wrote by rows
        (ROWS, "r0_1 + 64*x0", "unknown"),  # the same axis: nothing in the code says why
        (ROWS, "tmp3 + x0", "unknown"),
        ({"x": 4096}, "x0", "unknown"),
        ({"x": 128}, "x0", "ranges"),  # a slice of the rows
    ],
)
def test_another_axis_is_claimed_where_the_indices_say_so(numels, load, key):
    first, second = kernel("triton_a", ROWS, "r0_1 + 64*x0"), kernel("triton_b", numels, load, "x0")
    writer = GeneratedCall(0, "triton_a", "triton", 1, arguments=("arg0_1", "buf0"))
    reader = GeneratedCall(1, "triton_b", "triton", 2, arguments=("buf0", "buf1"))
    graph = CompiledGraph(
        "0/0",
        "inference",
        (writer, reader),
        kernels={"triton_a": first, "triton_b": second},
        buffers={"buf0": ((64, 64), "f32")},
    )
    reason = reason_in_code(graph, writer, reader, buffers=("buf0",))
    assert (reason.key, "another axis" in reason.text) == (key, key == "reduction")
    # What holds one number a row is read in another range.
    sums = msgspec.structs.replace(graph, buffers={"buf0": ((64,), "f32")})
    if numels == {"x": 128}:
        assert reason_in_code(sums, writer, reader, buffers=("buf0",)).key == "reduction"

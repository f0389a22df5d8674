"""What passes through memory, against the generated code read by eye and by another reader."""

import gzip
import re
from collections import Counter
from pathlib import Path

import pytest

from profiler_core.analysis.unfused.handovers import between, handovers
from profiler_core.ingest.inductor.code import read_buffers, read_calls
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.model.inductor import CompiledGraph

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
MB = 1e6


def graph(sample, direction):
    files = tuple((SAMPLES / sample / "torch_trace").iterdir())
    return next(g for g in read_inductor(files).graphs if g.direction == direction)


def passed(one):
    return {
        (one.calls[h.writer].name, one.calls[h.reader].name, h.buffers): h for h in handovers(one)
    }


def test_a_small_network_by_hand():
    """SimpleCNN on 64 images: its first convolution gives 64 x 32 x 32 x 32 floats, 8.39 MB."""
    one = graph("simplecnn-training/default", "forward")
    by_call = passed(one)
    bias = by_call["extern_kernels.convolution", "triton_poi_fused_convolution_0", ("buf0",)]
    size = 64 * 32 * 32 * 32 * 4
    assert (bias.bytes_read, bias.own_bytes) == (size, size)  # in place, nobody else reads it
    mean = next(h for (w, r, _), h in by_call.items() if "convolution_0" in w and "_red_" in r)
    assert (mean.bytes_read, mean.own_bytes) == (size, 0)  # the normalisation reads it too
    relu = next(h for (_, reader, _), h in by_call.items() if "max_pool2d" in reader)
    assert one.calls[relu.writer].name.endswith("relu_3")
    assert (relu.bytes_read, relu.own_bytes) == (size, 0)  # kept for the backward


def test_what_two_calls_read_has_to_be_written():
    """A ResNet block's result goes into the next convolution, and is added to that block's."""
    passed_on = handovers(graph("resnet50/default", "inference"))
    n_readers = Counter(buffer for handover in passed_on for buffer in handover.buffers)
    shared = [h for h in passed_on if all(n_readers[buffer] > 1 for buffer in h.buffers)]
    assert shared
    assert all(handover.own_bytes == 0 for handover in shared)
    assert any(handover.own_bytes for handover in passed_on)


def test_what_is_overwritten_in_place_is_not_what_the_graph_returns():
    """The last layer norm of a BERT stores its result, which is returned, where its product was."""
    one = graph("bert/default", "inference")
    norms = [
        handover
        for handover in handovers(one)
        if one.calls[handover.writer].name == "extern_kernels.mm"
        and "native_layer_norm_view_6" in one.calls[handover.reader].name
    ]
    size = 8 * 128 * 768 * 4
    assert [(h.bytes_read, h.own_bytes) for h in norms] == [(size, size)] * 24


def test_a_call_reads_the_slice_that_it_is_handed():
    """BERT's pooler takes the first token of each of 8 sequences out of the last layer norm."""
    one = graph("bert/default", "inference")
    into_products = Counter(
        handover.bytes_read
        for handover in handovers(one)
        if "native_layer_norm_view_6" in one.calls[handover.writer].name
        and one.calls[handover.reader].name == "extern_kernels.mm"
    )
    assert into_products == {8 * 128 * 768 * 4: 45, 8 * 768 * 4: 1}


def read_of_one(views):
    """Bytes that a call reads of a buffer of 8 x 12 floats, and what need not be written."""
    code = f"""def call(self, args):
    buf0 = empty_strided_cuda((8, 12), (12, 1), torch.float32)
    extern_kernels.mm(arg0_1, arg1_1, out=buf0)
    buf1 = torch.ops.aten.some_operator.default({views})
    return (buf1, )
"""
    one = CompiledGraph(
        compile_id="0/0", direction="inference", calls=read_calls(code), code=code,
        buffers=read_buffers(code),
    )  # fmt: skip
    (handover,) = handovers(one)
    assert handover.made_bytes == 8 * 12 * 4
    return handover.bytes_read, handover.own_bytes


ROWS = "reinterpret_tensor(buf0, (4, 12), (24, 1), {})"
THIRDS = [f"reinterpret_tensor(buf0, (8, 4), (12, 1), {offset})" for offset in (0, 4, 8)]


@pytest.mark.parametrize(
    ("views", "n_read"),
    [
        ("buf0", 96),
        (ROWS.format(0), 48),
        (", ".join(THIRDS), 96),  # query, key and value of one product
        (f"{THIRDS[0]}, {THIRDS[2]}", 64),
        (f"{THIRDS[0]}, {THIRDS[0]}", 32),  # the same one twice
        ("reinterpret_tensor(buf0, (8, 12), (12, 1), 0), " + THIRDS[0], 96),
        (f"buf0, {THIRDS[0]}", 96),
        ("reinterpret_tensor(buf0, (8, 5, 4), (12, 0, 1), 0)", 32),  # each row for five heads
        ("reinterpret_tensor(buf0, (s0, 4), (12, 1), 0)", 96),  # of a size that is not known
        ("reinterpret_tensor(buf0, (), (), 5)", 1),
    ],
)
def test_views_of_a_buffer_are_read_as_large_as_they_are(views, n_read):
    # What the call does not read, nobody does: it need not be written either.
    assert read_of_one(views) == (4 * n_read, 4 * 96)


def test_what_needs_something_between_cannot_be_one_kernel():
    """Batch norm's second half needs the mean, which needs all of the convolution."""
    one = graph("simplecnn-training/default", "forward")
    names = {call.name: call.index for call in one.calls}
    pair = (
        names["triton_poi_fused_convolution_0"],
        names["triton_poi_fused__native_batch_norm_legit_functional_relu_3"],
    )
    middle = between(one)
    assert one.calls[middle[pair]].name.startswith("triton_red_fused__native_batch_norm")
    first = (names["triton_poi_fused_convolution_0"], middle[pair])
    assert first not in middle


@pytest.mark.parametrize("sample", ["resnet50/default", "bert/default"])
def test_another_reader_of_the_same_code_finds_the_same_pairs(sample):
    """The text of the generated module, line by line: who was the last to store a name?

    It shares no code with the product: calls of kernels by their `.run(`, results of libraries by
    `= extern_kernels` and `out=`, names that a line gives to the memory of another.
    """
    text = ""
    for path in (SAMPLES / sample / "torch_trace").iterdir():
        text += gzip.decompress(path.read_bytes()).decode()
    # The module's text is in the structured log as a payload of lines that begin with a tab.
    start = text.index('"inductor_output_code"')
    lines = [line[1:] for line in text[start:].splitlines()[1:] if line.startswith("\t")]
    module = "\n".join(lines)
    stores = {}
    for match in re.finditer(r"^def (triton_\w+)\(([^)]*)\)", module, re.M):
        pointers = [p.split(":")[0].strip() for p in match[2].split(",") if "ptr" in p]
        stores.setdefault(match[1], pointers)
    body = module[module.index("def call(") :]
    last, same, pairs = {}, {}, set()

    def real(name):
        while name in same:
            name = same[name]
        return name

    def reads(name, reader):
        writer = last.get(real(name))
        if writer is not None and writer != reader:
            pairs.add((writer, reader))

    number = 0
    for line in body.splitlines():
        if line.startswith(("    return (", "        return (", "            return (")):
            break
        if renamed := re.match(r"\s+(buf\d+) = (buf\d+)(?:; del|$)", line):
            same[renamed[1]] = renamed[2]
            continue
        if renamed := re.match(r"\s+(buf\d+) = reinterpret_tensor\((buf\d+),", line):
            same[renamed[1]] = renamed[2]
            continue
        if run := re.match(r"\s+(triton_\w+)\.run\((.*)stream=", line):
            names = re.findall(r"\b((?:buf|arg|primals_)\w+)", run[2])
            roles = stores[run[1]]
            for name, role in zip(names, roles, strict=False):
                if not role.startswith("out_ptr"):
                    reads(name, (number, run[1]))
            for name, role in zip(names, roles, strict=False):
                if not role.startswith("in_ptr"):
                    last[real(name)] = (number, run[1])
            number += 1
        elif library := re.match(
            r"\s+(?:(buf\d+) = )?(extern_kernels\.\w+|torch\.ops\.[\w.]+)\(", line
        ):
            arguments = line.split("(", 1)[1]
            out = re.search(r"out=(buf\d+)", line)
            made = library[1] or (out[1] if out else None)
            for name in re.findall(r"\bbuf\d+", arguments):
                if name != made:
                    reads(name, (number, library[2]))
            if made:
                last[real(made)] = (number, library[2])
            number += 1
    one = graph(sample, "inference")
    names = [call.name for call in one.calls]
    ours = {(names[h.writer], names[h.reader]) for h in handovers(one)}
    theirs = {(writer[1], reader[1]) for writer, reader in pairs}
    assert theirs
    assert ours == theirs

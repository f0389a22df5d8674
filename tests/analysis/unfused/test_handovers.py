"""What passes through memory, against the generated code read by eye and by another reader."""

import gzip
import re
from collections import Counter
from pathlib import Path

import pytest

from profiler_core.analysis.unfused.handovers import between, handovers
from profiler_core.ingest.inductor.reader import read_inductor

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


def test_what_needs_something_between_cannot_be_one_kernel():
    """Batch norm's second half needs the mean, which needs all of the convolution."""
    one = graph("simplecnn-training/default", "forward")
    names = {call.name: call.index for call in one.calls}
    pair = (
        names["triton_poi_fused_convolution_0"],
        names["triton_poi_fused__native_batch_norm_legit_functional_relu_3"],
    )
    middle = between(handovers(one))
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

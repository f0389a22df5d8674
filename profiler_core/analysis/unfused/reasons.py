"""Why two calls that pass a buffer on are two kernels, and what could make them one.

From the generated code: what kind of call stands on either side, over which ranges they loop, what
they write in place. Inductor's own words (TORCH_LOGS=fusion) go before it, where a log has them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from profiler_core.analysis.ledger.buffers import NO_BUFFER
from profiler_core.analysis.ledger.fragments import pointer_names
from profiler_core.analysis.unfused.loop_order import reads_in_order
from profiler_core.analysis.unfused.numels import (
    Range,
    adds_atomically,
    kind_of,
    mutates,
    range_of,
)
from profiler_core.model.inductor import CompiledGraph, GeneratedCall

_PRODUCT = re.compile(r"(?:^|\.)(?:mm|addmm|bmm|baddbmm|_scaled_mm|_int_mm|mm_plus_mm)\b")
_CONVOLUTION = re.compile(r"convolution(?!_backward)")
_CONVOLUTION_BACKWARD = re.compile(r"convolution_backward")
_ATTENTION = re.compile(r"attention|flex")
_RANDOM = re.compile(r"\b(?:rand|randn|randint|bernoulli|native_dropout|inductor_seeds)\b")
_COMMUNICATION = re.compile(r"_c10d|all_reduce|all_gather|reduce_scatter|wait_tensor")

# Both are on by default in later versions, as their logs say (2.7.1, 2.8.0, 2.11.0).
LOOP_ORDER = (
    "Where torch._inductor.config.loop_ordering_after_fusion is off, as it is by default up to "
    "torch 2.8, set it to True (torch 2.6 on)."
)
_LOG_FUSION = "Capture with --logs fusion: Inductor then says its reason."
WITH_PROLOGUES = "where torch._inductor.config.prologue_fusion is on (the default from torch 2.7)"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why not, and what could change it. `key` is stable."""

    key: str
    text: str  # one sentence
    change: str  # what to try; "" where nothing is known to help


ACROSS_GRAPHS = Reason(
    "graph_break",
    "They are in two graphs, and a kernel is in one: a graph break stands between them.",
    "Remove the break: Compilation names its line and torch's reason.",
)


def reason_in_code(
    graph: CompiledGraph,
    writer: GeneratedCall,
    reader: GeneratedCall,
    middle: GeneratedCall | None = None,
    buffers: Sequence[str] = (),
) -> Reason:
    """The reason that the generated code shows.

    Args:
        graph: of both calls.
        writer: what writes the intermediate.
        reader: what reads it.
        middle: a call that needs the writer and that the reader needs.
        buffers: the intermediates, by the names that both calls have there.
    """
    library = [call for call in (writer, reader) if call.kind in ("library", "engine")]
    if library:
        return _beside_library(graph, writer, reader)
    if any(call.kind == "template" for call in (writer, reader)):
        return _beside_template(writer)
    if middle is not None:
        is_reduction = "reduction" in kind_of(_source(graph, middle))
        return Reason(
            "between",
            f"The second needs {call_title(middle.name)} too, which needs the first"
            + (": a reduction over what the first writes." if is_reduction else "."),
            "",
        )
    return _both_generated(graph, writer, reader, buffers)


def _beside_library(graph: CompiledGraph, writer: GeneratedCall, reader: GeneratedCall) -> Reason:
    is_epilogue = reader.kind not in ("library", "engine")
    outer = writer if writer.kind in ("library", "engine") else reader
    name = outer.name.removeprefix("torch.ops.").removesuffix(".default")
    if writer.kind == reader.kind == "library":
        return Reason(
            "two_libraries",
            f"Both are calls of libraries ({call_title(writer.name)}, "
            f"{call_title(reader.name)}): Inductor opens neither.",
            "",
        )
    if _CONVOLUTION_BACKWARD.search(name):
        return Reason(
            "library",
            "The gradient of a convolution is a call of cuDNN, and Inductor has no template for "
            "it on NVIDIA's GPUs.",
            "",
        )
    if _ATTENTION.search(name):
        return Reason(
            "library",
            f"Attention is one call of a library ({call_title(name)}), which Inductor cannot open.",
            "Where this is a bias, a mask or a scale of the scores, flex_attention takes it into "
            "its own kernel (score_mod, mask_mod).",
        )
    if _PRODUCT.search(name) or _CONVOLUTION.search(name):
        if is_epilogue:
            return _after_product(_source(graph, reader), call_title(name))
        return _before_product(_source(graph, writer), call_title(name))
    if _COMMUNICATION.search(name):
        return Reason("communication", "One of them is communication between ranks.", "")
    if _RANDOM.search(name):
        return Reason(
            "fallback",
            f"The random numbers come from PyTorch's own kernel ({call_title(name)}).",
            "torch._inductor.config.fallback_random = False lets Inductor draw them in its own "
            "kernels (other numbers than eager's).",
        )
    return Reason(
        "fallback",
        f"Inductor does not lower {call_title(name)}: it runs as PyTorch's own kernel.",
        "Write it with operators that Inductor lowers, or register a decomposition "
        "(torch._inductor.decomposition.register_decomposition).",
    )


def _after_product(reader: str, name: str) -> Reason:
    """A product, and what is done to its result."""
    if "reduction" in kind_of(reader):
        return Reason(
            "library",
            f"{name} is a call of a library, and what follows reduces its result, which no "
            "epilogue of a template can.",
            "",
        )
    return Reason(
        "library",
        f"{name} is a call of a library (cuBLAS, cuDNN), which Inductor cannot open.",
        "mode='max-autotune' tries Triton templates, whose epilogue takes pointwise work "
        "(epilogue_fusion); it keeps the library where that is faster.",
    )


def _before_product(writer: str, name: str) -> Reason:
    """What is done to a factor, and the product. Templates of convolutions take no prologue."""
    text = f"{name} is a call of a library (cuBLAS, cuDNN), which reads its factors from memory."
    if "reduction" in kind_of(writer):
        return Reason(
            "library", f"{text} A template computes pointwise work alone, and this reduces.", ""
        )
    if _CONVOLUTION.search(name):
        return Reason("library", f"{text} Templates of convolutions do so, too.", "")
    return Reason(
        "library",
        text,
        "With mode='max-autotune' a template computes pointwise work on a factor as it loads it, "
        f"{WITH_PROLOGUES}.",
    )


def _beside_template(writer: GeneratedCall) -> Reason:
    if writer.kind == "template":
        return Reason(
            "template",
            "A template takes only pointwise work of its own result's shape into its epilogue.",
            "Let what follows read the result as it is written: same shape, no reduction, no "
            "second reader.",
        )
    return Reason(
        "template",
        "A template computes what is done to its factors only if that is pointwise and reads no "
        "more than it writes.",
        f"Do to a factor what is pointwise and reads no more than it writes, {WITH_PROLOGUES}.",
    )


def _both_generated(
    graph: CompiledGraph, writer: GeneratedCall, reader: GeneratedCall, buffers: Sequence[str]
) -> Reason:
    before, after = _source(graph, writer), _source(graph, reader)
    if adds_atomically(before):
        return Reason(
            "atomics",
            "The first adds with atomics: its result is complete only when all of it has run.",
            "Sort or segment what is added (torch.segment_reduce, a sorted index), so that each "
            "result has one writer.",
        )
    if mutates(before) or mutates(after):
        return Reason(
            "mutation",
            "One of them writes in place into a tensor that was there before, and the order of "
            "reading and writing must hold.",
            "Return the new value instead of writing in place.",
        )
    first, second = range_of(before), range_of(after)
    if first is None or second is None:
        return Reason(
            "unknown",
            "The code does not say why: its sizes are symbolic, or it is no Triton code.",
            _LOG_FUSION,
        )
    is_one_reduction = bool(set(writer.post_nodes) & set(reader.post_nodes))
    if first.reduced is not None and is_one_reduction and second.reduced is not None:
        return Reason(
            "split_reduction",
            "They are the two halves of one reduction, split so that enough of the device works "
            "on it.",
            "",
        )
    in_order = _reads_in_order(graph, writer, reader, buffers)
    if first.reduced is not None and _needs_results(graph, first, second, buffers):
        return _after_reduction(first, second, in_order)
    if _is_first_half(graph, reader, second, of=first):
        return Reason(
            "split_reduction",
            "The second is the first half of a reduction, split so that enough of the device works "
            f"on it: its loops ({second.text}) are other pieces than the first has ({first.text}).",
            "",
        )
    if first.total != second.total:
        return Reason(
            "ranges",
            f"They loop over different ranges: {first.text} against {second.text}, so that fused, "
            "elements would be computed several times or held back.",
            "Do the work of the smaller range first where the order is free (pool before the "
            "activation, slice before the arithmetic).",
        )
    if in_order is False:
        return Reason(
            "order",
            "They loop over as many elements, but in another order: one reads what the other "
            "writes transposed, in another layout, or reduces it along another axis.",
            "Make both work on one layout (channels_last, .contiguous() further up). " + LOOP_ORDER,
        )
    return _unknown(in_order)


def _needs_results(
    graph: CompiledGraph, first: Range, second: Range, buffers: Sequence[str]
) -> bool:
    """Must what reads a reduction's buffers wait for its results, by the ranges of both?

    A part of what is written for each element that goes in (a layer norm's rows) is a slice of it.
    """
    if second.total == first.total:
        return True
    written = [prod(graph.buffers[name][0]) for name in buffers if name in graph.buffers]
    is_slice = bool(written) and all(n == first.total > second.total for n in written)
    return second.total >= first.results and not is_slice


def _after_reduction(first: Range, second: Range, in_order: bool | None) -> Reason:
    """A reduction, and what needs its results. Its axis is another where the indices say so."""
    if second.total == first.total:
        if in_order is not False:
            return _unknown(in_order)
        needs = "its finished results, over another axis."
    else:
        needs = "them over another range."
    return Reason(
        "reduction",
        f"The first reduces ({first.text}), and the second ({second.text}) needs {needs}",
        "Reduce over the last dimension of a contiguous tensor, so that one block has all that "
        "it needs.",
    )


def _unknown(in_order: bool | None) -> Reason:
    alike = ", and in the same order" if in_order else ""
    return Reason(
        "unknown",
        f"The code does not say why: they loop over as many elements{alike}.",
        _LOG_FUSION,
    )


def _is_first_half(graph: CompiledGraph, call: GeneratedCall, range_: Range, of: Range) -> bool:
    """Is a call the first half of a split reduction of as many elements as `of` has?

    A later reduction of the same node then reduces all its results. Where the pieces do not divide
    the elements evenly each is longer by less than one.
    """
    if range_.reduced is None or not 0 <= range_.total - of.total < range_.results:
        return False
    for later in graph.calls:
        handed_over = set(later.arguments) & set(call.arguments)
        if (
            later.index > call.index
            and handed_over
            and set(later.post_nodes) & set(call.post_nodes)
        ):
            half = range_of(_source(graph, later))
            if half is not None and half.reduced and half.total == range_.results:
                return True
    return False


def _reads_in_order(
    graph: CompiledGraph, writer: GeneratedCall, reader: GeneratedCall, buffers: Sequence[str]
) -> bool | None:
    """Does the reader walk through all buffers as the writer does? None: an index says nothing."""
    stored, loaded = _pointers(graph, writer), _pointers(graph, reader)
    alike = [
        reads_in_order(_source(graph, writer), stored[name], _source(graph, reader), loaded[name])
        if name in stored and name in loaded
        else None
        for name in buffers
    ]
    if False in alike:
        return False
    return True if alike and None not in alike else None


def _pointers(graph: CompiledGraph, call: GeneratedCall) -> dict[str, str]:
    """Buffer that a call is handed -> its pointer in the kernel."""
    given = [name for name in call.arguments if name not in NO_BUFFER]
    return dict(zip(given, pointer_names(_source(graph, call)), strict=False))


def _source(graph: CompiledGraph, call: GeneratedCall) -> str:
    definition = graph.kernels.get(call.name)
    return definition.source if definition is not None else ""


def call_title(name: str) -> str:
    """`torch.ops.aten.mm.default`, `extern_kernels.mm` -> "aten.mm", "mm"."""
    return name.removeprefix("torch.ops.").removeprefix("extern_kernels.").removesuffix(".default")

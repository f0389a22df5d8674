"""The text of CUDA-graph, fusion and error records -> records of the model."""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from profiler_core.capture.child.compile_errors import Diagnosis, diagnose
from profiler_core.ingest.torch_logs.breaks import GB_LINK, frames, one_line
from profiler_core.ingest.torch_logs.recompiles import ADDRESS
from profiler_core.model.compilation import CompileFailure, CudaGraphEvent

SKIP = re.compile(r"[Ss]kipping cudagraphs? due to (?P<reason>.*)", re.DOTALL)
LIMIT_WORDS = ("re-recording limit", "reaching ")
PARTITION = re.compile(r"cudagraph partition due to (?P<reason>.*)", re.DOTALL)
PARTITION_NODE = re.compile(r"\s*\S+: reason=(?P<reason>.*?)(?:, ir=.*)?$", re.DOTALL)
RECORDING = re.compile(r"(?:\[[^\]]+\] )?[Rr]ecording (?P<what>cudagraph tree[^\n]*|function=\S+)")
SIZES = re.compile(
    r"CUDAGraph supports dynamic shapes.*?(?<!\d)(?P<n>\d{1,18}) distinct sizes", re.DOTALL
)
# What every node says when nobody asked for CUDA graphs.
NOT_ASKED = "partition includes all ops when cudagraphs is disabled"

CANNOT_FUSE = re.compile(r"cannot fuse (?P<first>\S+) with (?P<second>\S+?): (?P<reason>.*)")

WONT_CONVERT = re.compile(
    r"WON'T CONVERT (?>(?P<function>.+?) (?=\S))(?P<file>.+?) line (?P<line>\d{1,18})(?!\d)"
)
EXCEPTION = re.compile(r"torch\._(?:dynamo|inductor)\.exc\.(?P<error>\w+): ?(?P<reason>.*)")


class FusionRefusal(NamedTuple):
    """`cannot fuse op1 with op6: intermediate nodes between node1 & node2`."""

    first: str
    second: str
    reason: str


def parse_cudagraph(lines: Sequence[str]) -> CudaGraphEvent | None:
    """What one record says about CUDA graphs; None where it says nothing that matters."""
    text = "\n".join(lines)
    skip = SKIP.match(text)
    if skip:
        reason, location = _reason_and_place(skip["reason"])
        reason = reason.removeprefix("skipping cudagraphs due to ")
        again = any(word in reason for word in LIMIT_WORDS)
        return CudaGraphEvent(
            kind="re-record" if again else "skip",
            reason=reason,
            file=location.file,
            line=location.line,
        )
    sizes = SIZES.match(text)
    if sizes:
        return CudaGraphEvent(
            kind="re-record",  # PyTorch warns once; more sizes may come
            reason=f"a new graph for each of at least {sizes['n']} distinct input sizes, as many "
            "as there were when PyTorch warned",
        )
    split = PARTITION.match(text) or PARTITION_NODE.match(text)
    if split:
        reason, location = _reason_and_place(split["reason"])
        if reason.startswith(NOT_ASKED):
            return None
        if location.file is None:
            location = _place(lines)
        return CudaGraphEvent(
            kind="partition", reason=reason, file=location.file, line=location.line
        )
    recording = RECORDING.match(text)
    if recording and recording["what"].startswith("cudagraph tree"):
        return CudaGraphEvent(kind="record", reason=recording["what"].strip())
    return None


def parse_fusion(text: str) -> FusionRefusal | None:
    """The two nodes and the reason, or None for the many other lines of TORCH_LOGS=fusion."""
    match = CANNOT_FUSE.match(text)
    return (
        FusionRefusal(match["first"], match["second"], match["reason"].strip()) if match else None
    )


def parse_failure(lines: Sequence[str], *, suppressed: bool) -> CompileFailure | None:
    """A suppressed error (`WON'T CONVERT`) or an uncaught traceback of the compiler.

    Returns None where the text holds no error of Dynamo or Inductor.
    """
    head = WONT_CONVERT.match(lines[0]) if suppressed else None
    diagnosis = _diagnosis(lines)
    if diagnosis is None and head is None:
        return None
    name, reason, hints, file, line, function, code, remedy = diagnosis or diagnose("error", "")
    if head is not None:
        function, file, line, code = head["function"], head["file"], int(head["line"]), ""
    link = GB_LINK.search("\n".join(lines[:60]))
    return CompileFailure(
        error=name,
        reason=one_line(reason),
        suppressed=suppressed,
        function=function,
        file=file,
        line=line,
        gb_id=f"GB{link[1]}" if link else None,
        code=code,
        hints=hints,
        remedy=remedy,
    )


def _diagnosis(lines: Sequence[str]) -> Diagnosis | None:
    """Of the first error of the compiler in these lines, to the end of its message."""
    for index, text in enumerate(lines):
        if error := EXCEPTION.match(text.strip()):
            below = itertools.takewhile(lambda t: not t.startswith("Traceback"), lines[index + 1 :])
            return diagnose(error["error"], "\n".join([error["reason"], *below]))
    return None


class _Place(NamedTuple):
    """The user's line, where the record has one."""

    file: str | None = None
    line: int | None = None


def _reason_and_place(text: str) -> tuple[str, _Place]:
    reason, separator, stack = text.partition("Found from :")
    first_line = reason.partition("\n")[0] if not separator else reason
    return one_line(ADDRESS.sub("…", first_line)).rstrip(" ."), _place(stack.split("\n"))


def _place(lines: Sequence[str]) -> _Place:
    stack = frames(lines)
    return _Place(stack[-1].file, stack[-1].line) if stack else _Place()

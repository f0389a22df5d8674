"""Clean lines -> records of the kinds that are read, whole, one stream at a time.

Every line of a record repeats its prefix and nothing marks its end: a record ends where its
stream's prefix changes or a new first line of its kind appears. Lines of other streams and
program output in between do not end it (two ranks write into one stderr, mid-record).
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from profiler_core.ingest.torch_logs.prefix import Prefix, parse_prefix

Kind = Literal[
    "graph_break",
    "suppressed_break",  # the logger's own line for a repeat, 2.3 to 2.5, only with +dynamo
    "recompile",
    "limit",
    "cudagraph",
    "perf_hint",
    "fusion",
    "wont_convert",
    "exception",  # an uncaught error of Dynamo or Inductor, no prefix
    "warning",  # a Python warning that changes how the run must be read
]
# The longest record met is a suppressed error with two tracebacks, 170 lines. Both limits bound
# what a hostile log can make the reader hold.
MAX_RECORD_LINES = 400
MAX_BODY_CHARS = 8000
MAX_RECORD_CHARS = 1 << 17

GRAPH_BREAK = re.compile(
    r"Graph break(?:: | in user code at | \((?:details|user stack) suppressed)"
)
RECOMPILE = re.compile(r"\(?['\"]?Recompiling function ")
CUDAGRAPH = re.compile(
    r"skipping cudagraphs? |Skipping cudagraphs? |cudagraph partition|Created \d+ graph partitions"
    r"|CUDAGraph supports dynamic shapes|(?:\[[^\]]+\] )?(?:[Rr]ecording |Running warmup)"
    r"|Checkpointing cuda|  Partition \d|\S{0,100} {0,20}(?:op|buf)\S{0,100}: reason="
)
CONFIG_LINES = ("Current config does not match", "Saved hash", "Restoring saved config", "* ")
# torch 2.11 on CPython 3.13.0: guards on module attributes never fail (see the note in issues).
STALE_GUARDS = "Guards may run slower on Python 3.13.0"
_RANK_LABEL = re.compile(r"\[rank(\d{1,18})\]: ?")


@dataclass
class Record:
    """One record: its first line's prefix (None: program output) and the text of all its lines."""

    kind: Kind
    prefix: Prefix | None
    lines: list[str] = field(default_factory=list)
    rank: int | None = None
    n_chars: int = 0

    def add(self, body: str) -> None:
        """One more line, unless the record is longer than any that is legal."""
        if len(self.lines) < MAX_RECORD_LINES and self.n_chars < MAX_RECORD_CHARS:
            self.lines.append(body[:MAX_BODY_CHARS])
            self.n_chars += len(body)


class Assembler:
    """Feed lines in, get whole records out through `on_record`; `close` at the end of the file."""

    def __init__(self, on_record: Callable[[Record], None]) -> None:
        self._on_record = on_record
        self._open: dict[tuple[str, int | None], Record] = {}
        self._text = "\0"  # the last line's prefix: most lines repeat it
        self._record: Record | None = None  # its record, None where that kind is not read
        self.n_lines = 0
        self.other_kinds: Counter[str] = Counter()  # records of kinds that are not read
        self.headless = 0  # records whose first line is not in the file
        self.styles: Counter[str] = Counter()
        self.artifacts: Counter[str] = Counter()

    def feed(self, batch: Sequence[str]) -> None:
        """Take the next lines."""
        self.n_lines += len(batch)
        text, record = self._text, self._record
        for line in batch:
            if line.startswith(text):
                body = line[len(text) :]
                if record is None:
                    if body[:1] != "[":  # else a longer prefix: `[0/8] …`
                        continue
                elif not _is_first_line(record.kind, body):
                    record.add(body)
                    continue
            prefix = parse_prefix(line)
            if prefix is None:
                self._program_line(line)
                continue
            record = self._line(prefix, line[len(prefix.text) :])
            text = prefix.text
        self._text, self._record = text, record

    def close(self) -> None:
        """Hand over what is still open."""
        for record in self._open.values():
            self._on_record(record)
        self._open.clear()
        self._text, self._record = "\0", None

    def _line(self, prefix: Prefix, body: str) -> Record | None:
        stream = prefix.stream
        current = self._open.get(stream)
        if current is not None:
            if _same_record(current, prefix) and not _is_first_line(current.kind, body):
                current.add(body)
                return current
            if (
                current.kind == "cudagraph"
                and prefix.artifact == "cudagraphs"
                and body[:9].isspace()
            ):
                current.add(body)  # its stack, from another source line
                return current
            self._on_record(self._open.pop(stream))
        self.styles[prefix.style] += 1
        if prefix.artifact:
            self.artifacts[prefix.artifact] += 1
        kind = _classify(prefix, body)
        if kind is None:
            self.other_kinds[_other_name(prefix, body)] += 1
            self.headless += prefix.artifact in (
                "graph_breaks",
                "recompiles",
            ) and not body.startswith(CONFIG_LINES)
            return None
        record = self._open[stream] = Record(kind, prefix, [body[:MAX_BODY_CHARS]], prefix.rank)
        return record

    def _program_line(self, line: str) -> None:
        """Output of the program, or the following lines of a record in the short format."""
        short = self._open.get(("short", None))
        if short is not None:
            short.add(line)
            return
        label = _RANK_LABEL.match(line)
        rank = int(label[1]) if label else None
        body = line[label.end() :] if label else line
        key = ("program", rank)
        current = self._open.get(key)
        kind = _classify_program(body)
        if kind is not None:
            if current is not None:
                self._on_record(current)
            self._open[key] = Record(kind, None, [body[:MAX_BODY_CHARS]], rank)
        elif current is not None:
            if current.kind == "exception" and len(current.lines) < MAX_RECORD_LINES:
                current.add(body)
            else:
                self._on_record(self._open.pop(key))


def _same_record(record: Record, prefix: Prefix) -> bool:
    """Time, level, source line, compile id and artifact are what one record has in common."""
    return record.prefix is not None and record.prefix[3:] == prefix[3:] and prefix.style != "short"


def _is_first_line(kind: Kind, body: str) -> bool:
    """Two records may share one prefix (2.2 writes two recompiles within a millisecond)."""
    if kind == "graph_break":
        return GRAPH_BREAK.match(body) is not None
    if kind == "recompile":
        return RECOMPILE.match(body) is not None or body.startswith(CONFIG_LINES[:3])
    if kind == "limit":
        return body.startswith("torch._dynamo hit config.")
    if kind == "fusion":
        return True
    if kind in ("cudagraph", "perf_hint"):
        return CUDAGRAPH.match(body) is not None
    return False


def _classify(prefix: Prefix, body: str) -> Kind | None:
    artifact = prefix.artifact
    if artifact is None:
        if body.startswith("torch._dynamo hit config."):
            return "limit"
        if body.startswith("WON'T CONVERT"):
            return "wont_convert"
        if body.startswith("Unsupported break in user code at "):
            return "suppressed_break"
        return (
            "cudagraph" if body.startswith(("skipping cudagraph", "CUDAGraph supports")) else None
        )
    if artifact == "graph_breaks":
        return "graph_break" if GRAPH_BREAK.match(body) else None
    if artifact in ("recompiles", "recompiles_verbose"):
        return "recompile" if RECOMPILE.match(body) else None
    if artifact in ("cudagraphs", "perf_hints") and CUDAGRAPH.match(body):
        return "cudagraph"
    if artifact == "perf_hints":
        return "perf_hint"
    return "fusion" if artifact == "fusion" else None


def _classify_program(body: str) -> Kind | None:
    if body.startswith(("torch._dynamo.exc.", "torch._inductor.exc.")):
        return "exception"
    if body.startswith(("skipping cudagraph", "CUDAGraph supports dynamic")):
        return "cudagraph"  # up to 2.10 without TORCH_LOGS: Python's handler of last resort
    return "warning" if STALE_GUARDS in body else None


def _other_name(prefix: Prefix, body: str) -> str:
    if prefix.artifact:
        return prefix.artifact
    if body.startswith("Graph break from `Tensor.item()`"):
        return "hint about Tensor.item()"  # holds a look-alike of a break; the real one follows
    return prefix.source.rpartition(":")[0] or prefix.source

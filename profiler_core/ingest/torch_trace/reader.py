"""TORCH_TRACE structured logs -> CompileLog, PyTorch 2.3 to 2.15.

One file per process. A compilation announces itself with `dynamo_start` and ends with
`compilation_metrics`; breaks and failed guards are artifacts in between. The attempt that hits
the recompile limit reports its failed guards and then compiles nothing.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from profiler_core.capture.child.compile_errors import diagnose
from profiler_core.errors import BadInput
from profiler_core.ingest.compile_log.builder import MAX_EVENTS, CompileLogBuilder, Version
from profiler_core.ingest.compile_log.visibility import structured_bounds, version_of
from profiler_core.ingest.torch_logs.breaks import (
    GB_LINK,
    is_rest,
    one_line,
    original_function,
    parse_break,
)
from profiler_core.ingest.torch_logs.lines import CHUNK_BYTES
from profiler_core.ingest.torch_logs.recompiles import parse_guard
from profiler_core.ingest.torch_trace.metrics import compilation, limit_of
from profiler_core.ingest.torch_trace.phases import PhaseTally
from profiler_core.ingest.torch_trace.records import TraceRecord, decode, payload_text, records
from profiler_core.ingest.windows_paths import with_slashes
from profiler_core.model.compilation import (
    Compilation,
    CompileFailure,
    CompileLog,
    CudaGraphEvent,
    GuardFailure,
    LimitHit,
    Recompile,
)

BREAK = "artifact:dynamo_graph_break_reason"
RECOMPILE = "artifact:recompile_reasons"
WANTED = frozenset({BREAK, RECOMPILE, "artifact:torch_version", "chromium_event"})
# Large texts: `ingest/inductor` reads them when a page asks.
LARGE = {
    "inductor_output_code",
    "inductor_post_grad_graph",
    "artifact:inductor_post_grad_graph",
    "aot_forward_graph",
    "aot_backward_graph",
    "aot_inference_graph",
    "aot_joint_graph",
    "dynamo_output_graph",
    "dynamo_guards",
    "dynamo_cpp_guards_str",
    "artifact:inductor_provenance_tracking_node_mappings",
    "artifact:inductor_provenance_tracking_kernel_stack_traces",
}
CACHE_EVENT = re.compile(
    r"artifact:(?P<cache>fx_graph|aotautograd)_cache_(?P<state>hit|miss|bypass|disabled)$"
)
RANK_IN_NAME = re.compile(r"_rank_(\d{1,18})_")
METRICS: dict[str, Literal["forward", "backward", "runtime"]] = {
    "compilation_metrics": "forward",
    "bwd_compilation_metrics": "backward",
    "compilation_metrics_runtime": "runtime",
    "bwd_compilation_metrics_runtime": "runtime",
}


def read_torch_trace(
    paths: Sequence[Path],
    *,
    torch_version: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
) -> CompileLog:
    """Read the structured logs of one run, one file per process.

    Raises:
        BadInput: a file cannot be read, or none of them holds a record.
    """
    builder = CompileLogBuilder("structured", torch_version=torch_version)
    reader = _Reader(builder)
    for path in paths:
        reader.read(path, chunk_bytes)
    if not reader.n_records and not builder.other_kinds:
        raise BadInput(
            f"{paths[0].name if paths else 'nothing'} holds no structured log record.",
            remedy="Pass a dedicated_log_torch_trace_….log of a run with TORCH_TRACE set.",
        )
    log = builder.build()
    version = version_of(log.torch_version)
    span = (version, version) if version else (builder.at_least, builder.at_most)
    return structured_bounds(log, version=span)


@dataclass
class _Frame:
    function: str
    file: str
    line: int
    is_rest: bool = False


class _Reader:
    """State of one file: what is interned, which frames are known, what waits for its end."""

    def __init__(self, builder: CompileLogBuilder) -> None:
        self._builder = builder
        self.n_records = 0
        self._readers: dict[str, Callable[[TraceRecord], None]] = {
            "chromium_event": self._chromium,
            "str": self._string,
            "dynamo_start": self._start,
            BREAK: self._break,
            RECOMPILE: self._keep_guards,
            "artifact:torch_version": self._torch_version,
        }

    def read(self, path: Path, chunk_bytes: int) -> None:
        """Read one file to its end."""
        self._path = path
        named = RANK_IN_NAME.search(path.name)
        self._rank = int(named[1]) if named else None
        self._strings: dict[int, str] = {}
        self._frames: dict[str, _Frame] = {}  # "2" of "2/1" -> the function it compiles
        self._started: dict[str, TraceRecord] = {}
        self._reasons: dict[str, tuple[TraceRecord, tuple[GuardFailure, ...]]] = {}
        self._times: defaultdict[str, int] = defaultdict(int)  # compile id -> dynamo_starts so far
        self._phases = PhaseTally()
        self._caches: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._done: list[tuple[str, Compilation]] = []
        kinds: set[str] = set()
        builder = self._builder
        for record in records(path, WANTED, builder.repairs, builder.other_kinds, chunk_bytes):
            self.n_records += 1
            builder.n_lines += record.n_lines
            kinds.add(record.kind)
            self._record(record)
        self._end(_span(kinds))

    def _record(self, record: TraceRecord) -> None:
        kind = record.kind
        if kind in self._readers:
            self._readers[kind](record)
        elif kind in METRICS:
            self._metrics(record, METRICS[kind])
        elif cache := CACHE_EVENT.match(kind):
            states = self._caches[self._key(record.compile_id or "")]
            before = states.get(cache["cache"])
            state = cache["state"]
            states[cache["cache"]] = state if before in (None, state) else "hit and miss"
        elif kind not in LARGE:  # code and graphs: `ingest/inductor` reads them
            self._builder.other_kinds[kind] += 1

    def _string(self, record: TraceRecord) -> None:
        body = record.body
        if isinstance(body, list) and len(body) == 2 and isinstance(body[1], int):
            self._strings[body[1]] = with_slashes(str(body[0]))

    def _break(self, record: TraceRecord) -> None:
        text = payload_text(record.payload or b"")
        parsed = parse_break(text.split("\n"))
        if parsed is None:
            self._builder.could_not_parse(text)
        else:
            self._builder.add_break(parsed, record.compile_id, self._rank_of(record))

    def _keep_guards(self, record: TraceRecord) -> None:
        if record.compile_id is not None:
            guards = _guards(payload_text(record.payload or b""))
            self._reasons[record.compile_id] = (record, guards)

    def _torch_version(self, record: TraceRecord) -> None:
        version = payload_text(record.payload or b"").strip().strip('"')
        self._builder.torch_version = version or None

    def _rank_of(self, record: TraceRecord) -> int | None:
        return record.rank if record.rank is not None else self._rank

    def _key(self, compile_id: str) -> str:
        """Compile ids begin anew after torch._dynamo.reset()."""
        return f"{compile_id}#{self._times[compile_id]}"

    def _chromium(self, record: TraceRecord) -> None:
        try:
            event = decode(record.payload or b"")
        except (ValueError, RecursionError):
            self._builder.other_kinds["chromium_event that is no JSON"] += 1
            return
        if isinstance(event, dict):
            arguments = event.get("args")
            named = arguments.get("compile_id") if isinstance(arguments, dict) else None
            compile_id = str(named or record.compile_id or "").partition("_")[0]
            self._phases.add(event, self._key(compile_id))

    def _start(self, record: TraceRecord) -> None:
        if record.compile_id is None:
            return
        self._times[record.compile_id] += 1
        self._started[record.compile_id] = record
        stack = record.body.get("stack") if isinstance(record.body, dict) else None
        last = stack[-1] if isinstance(stack, list) and stack else None
        if (
            isinstance(last, dict) and last.get("name") != "__call__"
        ):  # 2.3, 2.4: Dynamo's own frame
            self._frames[record.compile_id.rpartition("/")[0]] = _Frame(
                original_function(str(last.get("name"))),
                self._strings.get(last.get("filename", -1), ""),
                int(last.get("line") or 0),
                is_rest(str(last.get("name"))),
            )
        waiting = self._reasons.pop(record.compile_id, None)
        if waiting:
            self._recompile(*waiting)

    def _recompile(self, record: TraceRecord, reasons: tuple[GuardFailure, ...]) -> None:
        frame = self._frame_of(record.compile_id or "")
        self._builder.add_recompile(
            Recompile(
                function=frame.function,
                file=frame.file,
                line=frame.line,
                reasons=reasons,
                compile_id=record.compile_id,
                rank=self._rank_of(record),
            )
        )

    def _frame_of(self, compile_id: str) -> _Frame:
        return self._frames.get(compile_id.rpartition("/")[0]) or _Frame("", "", 0)

    def _metrics(
        self, record: TraceRecord, direction: Literal["forward", "backward", "runtime"]
    ) -> None:
        if not isinstance(record.body, dict):
            self._builder.could_not_parse(str(record.body))
            return
        body: dict[str, Any] = record.body
        compile_id = record.compile_id or str(body.get("compile_id") or "")
        ended = compilation(body, compile_id, direction, self._rank_of(record))
        version = body.get("pytorch_version")
        if isinstance(version, str):
            self._builder.torch_version = version
        if "duration_us" in body:
            self._builder.since((2, 7) if "is_runtime" in body else (2, 6))
        if direction == "forward":
            ended = self._ended(ended, body)
        if len(self._done) < MAX_EVENTS:
            self._done.append((self._key(compile_id), ended))
        if ended.cudagraph_skip_reason:
            reason = one_line(ended.cudagraph_skip_reason).removeprefix(
                "skipping cudagraphs due to "
            )
            self._builder.add_cudagraph(CudaGraphEvent(kind="skip", reason=reason), compile_id)

    def _ended(self, ended: Compilation, body: dict[str, Any]) -> Compilation:
        """A forward compilation came to its end: was it the limit, a frame given up, an error?"""
        compile_id, rank = ended.compile_id, ended.rank
        self._started.pop(compile_id, None)
        if ended.function:
            function = original_function(ended.function)
            self._frames[compile_id.rpartition("/")[0]] = _Frame(
                function, ended.file or "", ended.line or 0, is_rest(ended.function)
            )
        frame = self._frame_of(compile_id)
        if not ended.function and frame.function:
            ended = replace(ended, function=frame.function, file=frame.file, line=frame.line)
        limit = limit_of(ended)
        if limit is not None:
            reasons = self._reasons.pop(compile_id, (None, ()))[1]
            self._limit_hit(compile_id, rank, reasons, *limit)
        elif ended.fail_type or ended.has_guarded_code is False:
            given_up = self._builder.frame_given_up(compile_id, rank, ended.function, ended.line)
            if not given_up and ended.fail_type:
                self._builder.failures[_failure(ended, body)] += 1
        return ended

    def _limit_hit(
        self,
        compile_id: str,
        rank: int | None,
        reasons: tuple[GuardFailure, ...],
        limit: str | None,
        value: int | None,
    ) -> None:
        frame = self._frame_of(compile_id)
        self._builder.limit_hits.append(
            LimitHit(
                function=frame.function,
                file=frame.file,
                line=frame.line,
                is_rest=frame.is_rest,
                limit=limit,
                value=value,
                last_reason=reasons[0].guard if reasons else "",
                compile_id=compile_id,
                rank=rank,
            )
        )

    def _end(self, span: tuple[Version, Version]) -> None:
        builder = self._builder
        builder.since(span[0])
        builder.until(span[1])
        for compile_id, (record, reasons) in self._reasons.items():
            if builder.at_least < (2, 7):  # 2.5 and 2.6 log nothing more about that attempt
                self._limit_hit(compile_id, self._rank_of(record), reasons, None, None)
            else:
                builder.repairs["recompile cut off at the end of the log"] += 1
        for compile_id, record in self._started.items():
            frame = self._frame_of(compile_id)
            unfinished = Compilation(
                compile_id=compile_id,
                function=frame.function or None,
                file=frame.file or None,
                line=frame.line or None,
                rank=self._rank_of(record),
            )
            self._done.append((self._key(compile_id), unfinished))
        for key, ended in self._done:
            builder.compilations.append(
                replace(
                    ended,
                    phases=self._phases.phases(key, ended.direction),
                    cache=dict(self._caches.get(key, {})),
                )
            )


def _span(kinds: set[str]) -> tuple[Version, Version]:
    """Narrow the version by the record types met, for a log that names none."""
    if any(kind.startswith("artifact:") for kind in kinds) or "bwd_compilation_metrics" in kinds:
        return (2, 5), (2, 99)
    if "compilation_metrics" in kinds:
        return (2, 4), (2, 99)
    return (2, 3), (2, 99) if "dynamo_start" not in kinds else (2, 3)


def _guards(text: str) -> tuple[GuardFailure, ...]:
    """The payload is a JSON list, or the bare text of one reason although it says JSON (2.13+)."""
    try:
        listed = decode(text.encode())
    except (ValueError, RecursionError):
        listed = text
    reasons = listed if isinstance(listed, list) else [listed]
    return tuple(parse_guard(str(reason).strip("\n")) for reason in reasons)


def _failure(ended: Compilation, body: dict[str, Any]) -> CompileFailure:
    text = ended.fail_reason or ""
    link = GB_LINK.search(text)
    file, line = body.get("fail_user_frame_filename"), body.get("fail_user_frame_lineno")
    diagnosis = diagnose((ended.fail_type or "").rpartition(".")[2], text)
    return CompileFailure(
        error=ended.fail_type or "",
        reason=one_line(diagnosis.reason),
        suppressed=None,
        function=diagnosis.function or ended.function,
        file=diagnosis.file or (file if isinstance(file, str) else ended.file),
        line=diagnosis.line or (line if isinstance(line, int) else ended.line),
        gb_id=f"GB{link[1]}" if link else None,
        code=diagnosis.code,
        hints=diagnosis.hints,
        remedy=diagnosis.remedy,
    )

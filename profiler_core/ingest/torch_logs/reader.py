"""TORCH_LOGS text (stderr, or the file of TORCH_LOGS_OUT) -> CompileLog.

Covers PyTorch 2.1 to 2.15 with whatever stands around the records: ranks, launchers, progress
bars, colours, program output. What a text cannot show is said in `compile_visibility`.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from profiler_core.ingest.compile_log.builder import CompileLogBuilder
from profiler_core.ingest.compile_log.visibility import text_bounds, version_of
from profiler_core.ingest.torch_logs.breaks import (
    is_rest,
    original_function,
    parse_break,
    parse_suppressed,
)
from profiler_core.ingest.torch_logs.lines import CHUNK_BYTES, lines
from profiler_core.ingest.torch_logs.other import parse_cudagraph, parse_failure, parse_fusion
from profiler_core.ingest.torch_logs.recompiles import parse_limit, parse_recompile
from profiler_core.ingest.torch_logs.records import STALE_GUARDS, Assembler, Record
from profiler_core.model.compilation import CompileLog, FusionDecision, LimitHit, Recompile


def read_torch_logs(
    paths: Sequence[Path],
    *,
    torch_version: str | None = None,
    requested: frozenset[str] = frozenset(),
    chunk_bytes: int = CHUNK_BYTES,
) -> CompileLog:
    """Read one or several text logs of one run.

    Args:
        paths: files, plain or gzipped; a record that several of them hold counts once.
        torch_version: where the run says it; the text itself does not.
        requested: artifacts named in the run's TORCH_LOGS, if known; these never count as missing.
        chunk_bytes: read at a time; tests make it small.

    Raises:
        BadInput: a file cannot be read or is no text.
    """
    builder = CompileLogBuilder("text", torch_version=torch_version)
    version = version_of(torch_version)
    if version:
        builder.since(version)
        builder.until(version)
    reader = _Reader(builder)
    for path in paths:
        reader.read(path, chunk_bytes)
    log = builder.build()
    return text_bounds(
        log,
        version=(builder.at_least, builder.at_most),
        styles=frozenset(reader.styles),
        artifacts=frozenset(reader.artifacts),
        requested=requested,
    )


# A long run repeats its records word by word: reading each wording once doubles the speed.
_parse_break = lru_cache(maxsize=1024)(parse_break)
_parse_recompile = lru_cache(maxsize=1024)(parse_recompile)


class _Reader:
    """Turns assembled records into entries of the builder."""

    def __init__(self, builder: CompileLogBuilder) -> None:
        self._builder = builder
        self._on_kind: dict[str, Callable[[Record], bool]] = {
            "graph_break": self._break,
            "suppressed_break": self._suppressed,
            "recompile": self._recompile,
            "limit": self._limit,
            "cudagraph": self._cudagraph,
            "perf_hint": self._perf_hint,
            "fusion": self._fusion,
            "wont_convert": self._wont_convert,
            "exception": self._exception,
            "warning": self._warning,
        }
        self.styles: set[str] = set()
        self.artifacts: set[str] = set()

    def read(self, path: Path, chunk_bytes: int) -> None:
        """Read one file to its end."""
        builder = self._builder
        builder.next_file()
        assembler = Assembler(self._record)
        for batch in lines(path, builder.repairs, chunk_bytes):
            assembler.feed(batch)
        assembler.close()
        builder.n_lines += assembler.n_lines
        builder.other_kinds.update(assembler.other_kinds)
        if assembler.headless:
            builder.repairs["record whose first line is missing"] += assembler.headless
        self.styles |= set(assembler.styles)
        self.artifacts |= set(assembler.artifacts)
        if assembler.styles["iso"]:
            builder.until((2, 2))
        elif assembler.styles["glog"]:
            builder.since((2, 3))

    def _record(self, record: Record) -> None:
        prefix = record.prefix
        if prefix is not None and prefix.when:
            # The hash stands for the text: a log of 200 MB must not be kept to find its repeats.
            text = hash(tuple(record.lines))
            if not self._builder.is_new((prefix.when, prefix.stream, prefix.compile_id, text)):
                return
        if not self._on_kind[record.kind](record):
            self._builder.could_not_parse("\n".join(record.lines))

    def _break(self, record: Record) -> bool:
        parsed = _parse_break(tuple(record.lines))
        if parsed is None:
            return False
        _date_break(self._builder, record.lines)
        self._builder.add_break(parsed, _compile_id(record), record.rank)
        return True

    def _suppressed(self, record: Record) -> bool:
        location = parse_suppressed(record.lines[0])
        if location:
            self._builder.add_repeat(*location, _compile_id(record), record.rank)
        return location is not None

    def _recompile(self, record: Record) -> bool:
        parsed = _parse_recompile(tuple(record.lines))
        if parsed is None:
            return False
        self._builder.add_recompile(
            Recompile(
                function=original_function(parsed.function),
                file=parsed.file,
                line=parsed.line,
                reasons=parsed.reasons,
                compile_id=_compile_id(record),
                rank=record.rank,
            )
        )
        if parsed.reasons:
            if parsed.reasons[0].entry is None:
                self._builder.until((2, 4))
            else:
                self._builder.since((2, 5))
        return True

    def _limit(self, record: Record) -> bool:
        parsed = parse_limit(record.lines)
        if parsed is None:
            return False
        self._builder.add_limit_hit(
            LimitHit(
                function=original_function(parsed.function),
                file=parsed.file,
                line=parsed.line,
                is_rest=is_rest(parsed.function),
                limit=parsed.limit,
                value=parsed.value,
                last_reason=parsed.last_reason,
                compile_id=_compile_id(record),
                rank=record.rank,
            )
        )
        if "cache_size" in parsed.limit:
            self._builder.until((2, 6))
        else:
            self._builder.since((2, 7))
        return True

    def _cudagraph(self, record: Record) -> bool:
        event = parse_cudagraph(record.lines)
        if event:
            self._builder.add_cudagraph(event, _compile_id(record))
        return True

    def _perf_hint(self, record: Record) -> bool:
        text = " ".join(" ".join(record.lines).split())
        self._builder.perf_hints[text[:1000]].append(_compile_id(record))
        return True

    def _fusion(self, record: Record) -> bool:
        refusal = parse_fusion(record.lines[0])
        if refusal and len(self._builder.fusions) < 50_000:
            decision = FusionDecision(
                first=refusal.first,
                second=refusal.second,
                reason=refusal.reason,
                compile_id=_compile_id(record),
            )
            self._builder.fusions[decision] += 1
        return True

    def _wont_convert(self, record: Record) -> bool:
        failure = parse_failure(record.lines, suppressed=True)
        if failure:
            self._builder.failures[failure] += 1
        return failure is not None

    def _exception(self, record: Record) -> bool:
        failure = parse_failure(record.lines, suppressed=False)
        if failure:
            self._builder.failures[failure] += 1
        return failure is not None

    def _warning(self, _record: Record) -> bool:
        self._builder.warnings[
            f"{STALE_GUARDS}: guards on module attributes never fail there, so results can be stale"
            " after model.eval() or a changed attribute (torch 2.11.0 on CPython 3.13.0)."
        ] = None
        return True


def _compile_id(record: Record) -> str | None:
    return record.prefix.compile_id if record.prefix else None


def _date_break(builder: CompileLogBuilder, text: Sequence[str]) -> None:
    """Narrow the version by the wording of a break."""
    first, second = text[0], text[1] if len(text) > 1 else ""
    if first.startswith("Graph break: from user code at:"):
        builder.since((2, 3))
        builder.until((2, 5))
    elif " in user code at " in first:
        builder.since((2, 6))
        if second.startswith("Reason: "):
            builder.until((2, 6))
        elif second.startswith("Graph Break Reason: "):
            generic = second[20:].startswith(("Encountered graph break", "Failed to handle graph"))
            builder.since((2, 10) if generic else (2, 7))

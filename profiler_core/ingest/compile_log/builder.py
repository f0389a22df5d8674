"""Collects what both readers find and groups it into a CompileLog.

One builder takes all files of one source: a record that several files hold (TORCH_LOGS_OUT writes
each to the file and to stderr) counts once, while a file that repeats itself is taken at its word.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sized
from dataclasses import dataclass, field, replace

from profiler_core.ingest.torch_logs.breaks import ParsedBreak
from profiler_core.model.compilation import (
    Compilation,
    CompileFailure,
    CompileLog,
    CudaGraphEvent,
    FrameSkip,
    FusionDecision,
    GraphBreak,
    LimitHit,
    PerfHint,
    Recompile,
    SourceKind,
)

Version = tuple[int, int]
OLDEST: Version = (2, 1)
NEWEST: Version = (2, 99)
MAX_EVENTS = 200_000  # of one kind: beyond it a log is counted, not kept
MAX_SAMPLES = 20


@dataclass
class _BreakEvent:
    parsed: ParsedBreak
    compile_id: str | None
    rank: int | None
    given_up: bool = False
    function: str | None = None  # the frame given up, where only its compilation names it
    function_line: int | None = None


@dataclass
class CompileLogBuilder:
    """Add what is found, in the order of the log; `build` at the end."""

    source: SourceKind
    breaks: list[_BreakEvent] = field(default_factory=list)
    recompiles: list[Recompile | None] = field(default_factory=list)  # None: it hit the limit
    limit_hits: list[LimitHit] = field(default_factory=list)
    compilations: list[Compilation] = field(default_factory=list)
    failures: Counter[CompileFailure] = field(default_factory=Counter)
    cudagraphs: dict[CudaGraphEvent, list[str | None]] = field(
        default_factory=lambda: defaultdict(list)
    )
    perf_hints: dict[str, list[str | None]] = field(default_factory=lambda: defaultdict(list))
    fusions: Counter[FusionDecision] = field(default_factory=Counter)
    warnings: dict[str, None] = field(default_factory=dict)
    other_kinds: Counter[str] = field(default_factory=Counter)
    repairs: Counter[str] = field(default_factory=Counter)
    n_lines: int = 0
    n_unparsed: int = 0
    unparsed: list[str] = field(default_factory=list)
    torch_version: str | None = None
    at_least: Version = OLDEST
    at_most: Version = NEWEST
    _seen_before: Counter[Hashable] = field(default_factory=Counter)
    _seen_here: Counter[Hashable] = field(default_factory=Counter)
    _latest_break: dict[Hashable, _BreakEvent] = field(default_factory=dict)  # compile id -> it
    _by_place: dict[tuple[str | None, int | None], ParsedBreak] = field(default_factory=dict)
    _latest_report: dict[Hashable, int] = field(
        default_factory=dict
    )  # function -> its last recompile

    def next_file(self) -> None:
        """Forget what the current file holds, remember what all files hold so far."""
        self._seen_before |= self._seen_here
        self._seen_here = Counter()

    def is_new(self, identity: Hashable) -> bool:
        """False where an earlier file holds this very record already."""
        self._seen_here[identity] += 1
        return self._seen_here[identity] > self._seen_before[identity]

    def since(self, version: Version) -> None:
        """The wording is that of `version` or later."""
        self.at_least = max(self.at_least, version)

    def until(self, version: Version) -> None:
        """The wording is that of `version` or earlier."""
        self.at_most = min(self.at_most, version)

    def could_not_parse(self, text: str) -> None:
        """Keep a record of a known kind that could not be understood."""
        self.n_unparsed += 1
        if len(self.unparsed) < MAX_SAMPLES:
            self.unparsed.append(text[:2000])

    def add_break(self, parsed: ParsedBreak, compile_id: str | None, rank: int | None) -> None:
        """One break record; the frame is given up where the record says so."""
        event = _BreakEvent(parsed, compile_id, rank, given_up=parsed.skipped)
        self._latest_break[compile_id, rank] = event
        self._by_place[parsed.file, parsed.line] = parsed
        if self._has_room(self.breaks):
            self.breaks.append(event)

    def add_repeat(self, file: str, line: int, compile_id: str | None, rank: int | None) -> None:
        """A repeat of which only the place is known: it belongs to the break met there before."""
        repeated = self._by_place.get((file, line))
        unknown = ParsedBreak(file, line, "", "", "", (), "", None, (), skipped=False)
        self.add_break(repeated or unknown, compile_id, rank)

    def frame_given_up(
        self, compile_id: str, rank: int | None, function: str | None, line: int | None
    ) -> bool:
        """A compilation ended without code: its latest break made Dynamo give the frame up.

        Returns:
            False where no break is known in it.
        """
        event = self._latest_break.get((compile_id, rank))
        if event is None:
            return False
        event.given_up, event.function, event.function_line = True, function, line
        return True

    def add_recompile(self, recompile: Recompile) -> None:
        """One report of failed guards."""
        if self._has_room(self.recompiles):
            self._latest_report[_function_key(recompile)] = len(self.recompiles)
            self.recompiles.append(recompile)

    def add_limit_hit(self, hit: LimitHit) -> None:
        """The limit; the report just before it was no recompilation, nothing was compiled."""
        self.limit_hits.append(hit)
        index = self._latest_report.pop(_function_key(hit), None)
        report = self.recompiles[index] if index is not None else None
        if index is None or report is None:
            return
        if None in (report.compile_id, hit.compile_id) or report.compile_id == hit.compile_id:
            self.recompiles[index] = None

    def add_cudagraph(self, event: CudaGraphEvent, compile_id: str | None) -> None:
        """One message about CUDA graphs."""
        self.cudagraphs[event].append(compile_id)

    def build(self) -> CompileLog:
        """Group what was added."""
        return CompileLog(
            sources=(self.source,),
            torch_version=self.torch_version,
            version_range=_range(self.at_least, self.at_most),
            graph_breaks=tuple(self._graph_breaks()),
            frame_skips=tuple(self._frame_skips()),
            recompiles=tuple(r for r in self.recompiles if r is not None),
            limit_hits=tuple(self.limit_hits),
            compilations=tuple(self.compilations),
            failures=tuple(replace(failure, n=n) for failure, n in self.failures.items()),
            cudagraph_events=tuple(
                replace(event, n=len(ids), compile_ids=_distinct(ids))
                for event, ids in self.cudagraphs.items()
            ),
            perf_hints=tuple(
                PerfHint(text=text, n=len(ids), compile_ids=_distinct(ids))
                for text, ids in self.perf_hints.items()
            ),
            fusion_decisions=tuple(replace(d, n=n) for d, n in self.fusions.items()),
            warnings=tuple(self.warnings),
            n_lines=self.n_lines,
            n_unparsed=self.n_unparsed,
            unparsed=tuple(self.unparsed),
            other_records=dict(self.other_kinds),
            repairs=dict(self.repairs),
        )

    def _has_room(self, events: Sized) -> bool:
        if len(events) < MAX_EVENTS:
            return True
        self.repairs["event beyond 200 000 of its kind counted, not kept"] += 1
        return False

    def _graph_breaks(self) -> Iterable[GraphBreak]:
        groups: dict[tuple[str, int, str], list[_BreakEvent]] = defaultdict(list)
        for event in self.breaks:
            p = event.parsed
            if not event.given_up and p.file is not None and p.line is not None:
                groups[p.file, p.line, p.reason].append(event)
        functions = {
            key[:2]: e.parsed.function for key, es in groups.items() for e in es if e.parsed.stack
        }
        for (file, line, reason), events in groups.items():
            best = _fullest(events)
            yield GraphBreak(
                file=file,
                line=line,
                function=best.function or functions.get((file, line), ""),
                reason=reason,
                explanation=best.explanation,
                hints=best.hints,
                context=best.context,
                gb_id=best.gb_id,
                stack=best.stack,
                n=len(events),
                compile_ids=_distinct(e.compile_id for e in events),
                ranks=_ranks(events),
            )

    def _frame_skips(self) -> Iterable[FrameSkip]:
        groups: dict[Hashable, list[_BreakEvent]] = defaultdict(list)
        for event in self.breaks:
            p = event.parsed
            if event.given_up:
                name = p.skipped_function or event.function
                groups[name, p.file, p.line, p.reason].append(event)
        for events in groups.values():
            best, first = _fullest(events), events[0]
            yield FrameSkip(
                function=best.skipped_function or first.function or best.function or None,
                function_line=best.skipped_line or first.function_line,
                file=best.file,
                line=best.line,
                reason=best.reason,
                explanation=best.explanation,
                hints=best.hints,
                gb_id=best.gb_id,
                stack=best.stack,
                n=len(events),
                compile_ids=_distinct(e.compile_id for e in events),
                ranks=_ranks(events),
            )


def _function_key(report: Recompile | LimitHit) -> Hashable:
    return report.function, report.file, report.line, report.rank


def _fullest(events: list[_BreakEvent]) -> ParsedBreak:
    return max((e.parsed for e in events), key=lambda p: (len(p.stack) > 0, len(p.hints)))


def _distinct(ids: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(i for i in ids if i is not None))


def _ranks(events: list[_BreakEvent]) -> tuple[int, ...]:
    return tuple(sorted({e.rank for e in events if e.rank is not None}))


def _range(low: Version, high: Version) -> tuple[str, str] | None:
    if low == OLDEST and high == NEWEST:
        return None
    newest = "" if high == NEWEST else f"{high[0]}.{high[1]}"
    return f"{low[0]}.{low[1]}", newest

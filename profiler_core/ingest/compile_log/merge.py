"""Two logs of one run -> one: the structured log leads, the text adds what it alone knows."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import replace

from profiler_core.ingest.torch_logs.breaks import RESUME
from profiler_core.model.compilation import (
    Compilation,
    CompileFailure,
    CompileLog,
    FrameSkip,
    GraphBreak,
    LimitHit,
    Recompile,
)


def merge(structured: CompileLog, text: CompileLog) -> CompileLog:
    """Merge the structured log and the text of one run."""
    hidden = {bound.about for bound in structured.lower_bound}
    breaks, skips = _breaks(structured, text, led_by_text="graph_breaks" in hidden)
    shown_by_both = {bound.about for bound in text.lower_bound} & hidden
    version = structured.torch_version or text.torch_version
    return replace(
        structured,
        sources=("structured", "text"),
        torch_version=version,
        version_range=structured.version_range or text.version_range,
        graph_breaks=breaks,
        frame_skips=skips,
        recompiles=_recompiles(structured.recompiles, text.recompiles),
        limit_hits=_limit_hits(structured.limit_hits, text.limit_hits),
        failures=_failures(structured.failures, text.failures),
        cudagraph_events=text.cudagraph_events
        + (() if _has_skips(text) else structured.cudagraph_events),
        perf_hints=text.perf_hints,
        fusion_decisions=text.fusion_decisions,
        warnings=tuple(dict.fromkeys(structured.warnings + text.warnings)),
        lower_bound=tuple(
            bound
            for bound in text.lower_bound + structured.lower_bound
            if bound.about in shown_by_both
            or (bound.about == "graph_breaks.n" and "graph_breaks" in hidden)
        ),
        n_lines=structured.n_lines + text.n_lines,
        n_unparsed=structured.n_unparsed + text.n_unparsed,
        unparsed=structured.unparsed + text.unparsed,
        other_records=dict(Counter(structured.other_records) + Counter(text.other_records)),
        repairs=dict(Counter(structured.repairs) + Counter(text.repairs)),
    )


def _has_skips(log: CompileLog) -> bool:
    return any(event.kind in ("skip", "re-record") for event in log.cudagraph_events)


def _breaks(
    structured: CompileLog, text: CompileLog, *, led_by_text: bool
) -> tuple[tuple[GraphBreak, ...], tuple[FrameSkip, ...]]:
    """Where the structured log has breaks, the text adds places that it does not know."""
    if led_by_text:
        return _breaks_and_skips(structured.compilations, text)
    structured_lines = {(b.file, b.line) for b in structured.graph_breaks}
    structured_lines |= {(s.file or "", s.line or 0) for s in structured.frame_skips}
    added = tuple(b for b in text.graph_breaks if (b.file, b.line) not in structured_lines)
    added_skips = tuple(
        s for s in text.frame_skips if (s.file or "", s.line or 0) not in structured_lines
    )
    return structured.graph_breaks + added, structured.frame_skips + added_skips


def _breaks_and_skips(
    compilations: tuple[Compilation, ...], text: CompileLog
) -> tuple[tuple[GraphBreak, ...], tuple[FrameSkip, ...]]:
    """Until 2.5: a break whose compilation left no code made Dynamo give the frame up.

    The place is a break as well where code that resumes at that line was compiled later.
    """
    without_code = {c.compile_id: c for c in compilations if c.has_guarded_code is False}
    resumes = {(c.file, c.line) for c in compilations if c.function and RESUME.match(c.function)}
    breaks, skips = [], list(text.frame_skips)
    for graph_break in text.graph_breaks:
        given_up = [without_code[i] for i in graph_break.compile_ids if i in without_code]
        if given_up and all(s.compile_ids != graph_break.compile_ids for s in skips):
            skips.append(
                FrameSkip(
                    function=given_up[0].function,
                    function_line=given_up[0].line,
                    file=graph_break.file,
                    line=graph_break.line,
                    reason=graph_break.reason,
                    hints=graph_break.hints,
                    stack=graph_break.stack,
                    n=len(given_up),
                    compile_ids=tuple(c.compile_id for c in given_up),
                    ranks=graph_break.ranks,
                )
            )
        if (
            len(given_up) < len(graph_break.compile_ids)
            or not given_up
            or (graph_break.file, graph_break.line) in resumes
        ):
            breaks.append(graph_break)
    return tuple(breaks), tuple(skips)


def _recompiles(lead: tuple[Recompile, ...], add: tuple[Recompile, ...]) -> tuple[Recompile, ...]:
    """Add what the lead does not have: another rank's, or all where it cannot show any."""
    if not lead:
        return add
    unmatched = Counter(_recompile_key(recompile) for recompile in lead)
    added = []
    for recompile in add:
        key = _recompile_key(recompile)
        if recompile.compile_id is None:
            continue  # it cannot be told from those the lead has
        if unmatched[key] > 0:
            unmatched[key] -= 1
        else:
            added.append(recompile)
    return lead + tuple(added)


def _recompile_key(recompile: Recompile) -> Hashable:
    return recompile.compile_id, recompile.rank, recompile.function, recompile.line


def _limit_hits(lead: tuple[LimitHit, ...], add: tuple[LimitHit, ...]) -> tuple[LimitHit, ...]:
    """Name and value of the limit come from the text, which always has them."""
    remaining = list(add)
    merged = []
    for hit in lead:
        twin = next(
            (
                candidate
                for candidate in remaining
                if (candidate.function, candidate.file, candidate.line)
                == (hit.function, hit.file, hit.line)
                and candidate.compile_id in (None, hit.compile_id)
            ),
            None,
        )
        if twin is not None:
            remaining.remove(twin)
            reason = twin.last_reason or hit.last_reason
            named = replace(hit, limit=twin.limit, value=twin.value, last_reason=reason)
            merged.append(named)
        else:
            merged.append(hit)
    return tuple(merged + remaining)


def _failures(
    lead: tuple[CompileFailure, ...], add: tuple[CompileFailure, ...]
) -> tuple[CompileFailure, ...]:
    """The text knows whether an error was suppressed; the structured log knows the frame."""
    remaining = list(add)
    merged = []
    for failure in lead:
        twin = next(
            (o for o in remaining if o.error == failure.error and _same_place(o, failure)), None
        )
        if twin is not None:
            remaining.remove(twin)
            merged.append(
                replace(
                    failure,
                    suppressed=twin.suppressed,
                    reason=failure.reason or twin.reason,
                    code=failure.code or twin.code,
                    hints=failure.hints or twin.hints,
                    remedy=twin.remedy if twin.hints and not failure.hints else failure.remedy,
                )
            )
        else:
            merged.append(failure)
    return tuple(merged + remaining)


def _same_place(failure: CompileFailure, other: CompileFailure) -> bool:
    return None in (failure.line, other.line) or failure.line == other.line

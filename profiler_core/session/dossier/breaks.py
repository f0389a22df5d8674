"""The dossiers of graph breaks and skipped frames: what they cost, where, why, what to change."""

from profiler_core.analysis.compilation.report import (
    BreakReport,
    CompilationReport,
    SkipReport,
    place_text,
)
from profiler_core.analysis.dossier.record import Advice, Dossier, RunTime, SourceLine
from profiler_core.analysis.item import Item
from profiler_core.analysis.wording.breaks import break_about, break_answer, skip_answer
from profiler_core.errors import NothingToAnalyse
from profiler_core.model.compilation import Frame
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run


def break_dossier(comparison: Comparison, item: Item) -> Dossier:
    """Everything about one graph break of one run.

    Raises:
        NothingToAnalyse: the run's log has no such break.
    """
    number = item.run
    report = _report(comparison, item)
    broken = break_of(comparison, item)
    if number is None or report is None or broken is None:
        raise NothingToAnalyse(
            f"These runs have no graph break {item.key}.",
            remedy="Choose the runs that the link was made for.",
        )
    run = comparison.runs[number]
    frames = filter(None, (broken.place, broken.innermost))
    total_ns = report.break_cost.cost_ns if report.break_cost is not None else None
    return Dossier(
        item=item,
        kind="graph break",
        title=broken.title,
        answer=break_answer(broken, report.breaks, total_ns),
        about=break_about(broken),
        times=(RunTime(number, comparison.labels[number], broken.cost_ns),),
        advice=_advice(broken),
        sources=tuple(_source(frame, run) for frame in frames),
        missing=()
        if broken.cost_ns is not None
        else (f"What it costs is not known: {report.unpriced}.",),
    )


def skip_dossier(comparison: Comparison, item: Item) -> Dossier:
    """Everything about one function that runs eager because of a break in it.

    Raises:
        NothingToAnalyse: the run's log has no such frame.
    """
    number = item.run
    report = _report(comparison, item)
    skip = skip_of(comparison, item)
    if number is None or report is None or skip is None:
        raise NothingToAnalyse(
            f"These runs have no skipped frame {item.key}.",
            remedy="Choose the runs that the link was made for.",
        )
    event, lost = skip.event, report.lost
    is_priced = lost is not None and lost.ns is not None
    return Dossier(
        item=item,
        kind="skipped frame",
        title=skip.title,
        answer=skip_answer(skip),
        about=(lost.price, lost.sentence) if lost is not None and is_priced else (),
        advice=Advice(skip.cause.what, skip.change, event.reason, skip.url, event.gb_id or ""),
        sources=() if skip.place is None else (_source(skip.place, comparison.runs[number]),),
        missing=(lost.sentence,) if lost is not None and not is_priced else (),
    )


def skip_of(comparison: Comparison, item: Item) -> SkipReport | None:
    """The skipped frame that an item names; None: the log of its run has none there."""
    report, (_, place) = _report(comparison, item), item.numbers or (-1, -1)
    return dict(enumerate(report.skips)).get(place) if report is not None else None


def break_of(comparison: Comparison, item: Item) -> BreakReport | None:
    """The break that an item names; None: the log of its run has none there."""
    report, (_, place) = _report(comparison, item), item.numbers or (-1, -1)
    breaks = report.breaks if report is not None else ()
    return next((b for b in breaks if report is not None and report.place_of(b) == place), None)


def _source(frame: Frame, run: Run) -> SourceLine:
    """A line of the user's, with what the capture kept around it."""
    label = place_text(frame.file, frame.line)
    return SourceLine(label, frame, run.kept_sources.get(frame.file, {}))


def _report(comparison: Comparison, item: Item) -> CompilationReport | None:
    run = item.run
    return None if run is None or run >= len(comparison.runs) else comparison.compilation_of(run)


def _advice(broken: BreakReport) -> Advice:
    event, cause = broken.event, broken.cause
    return Advice(
        cause.what, cause.change, event.reason, broken.url, event.gb_id or "", event.hints
    )

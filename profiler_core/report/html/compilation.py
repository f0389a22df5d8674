"""What the compiler said: counts of all runs side by side, then each break and recompile."""

from collections.abc import Callable, Sequence
from html import escape

from profiler_core.analysis.compilation.phases import compile_phases
from profiler_core.analysis.compilation.recompiles import RecompileReport, recompile_groups
from profiler_core.analysis.compilation.report import (
    BreakReport,
    CompilationReport,
    SkipReport,
    place_text,
)
from profiler_core.figures.compilation_icicle import STAGE_LABELS, compilation_icicle, stage_colors
from profiler_core.figures.theme import LIGHT
from profiler_core.model.compilation import Frame
from profiler_core.report.contents import Contents
from profiler_core.report.html.charts import Charts
from profiler_core.report.html.pieces import bullets, chapter, legend, paragraph, short, table
from profiler_core.units import format_count, format_duration, format_share

_MOST = 12  # rows of one kind; `logs --json` and --tables have all


def compilation_chapter(contents: Contents, charts: Charts) -> str:
    """Empty where no run has logs of the compiler."""
    runs = [
        (label, report)
        for label, report in zip(contents.labels, contents.compilations, strict=True)
        if report is not None
    ]
    if not runs:
        return ""
    parts = [_facts(runs)]
    for label, report in runs:
        details = _details(report, charts)
        if details:
            parts.append(f"<h3>{escape(label)}</h3>{details}")
    bounds = [bound.sentence for _, report in runs for bound in report.log.lower_bound]
    parts.append(bullets([*(w for _, r in runs for w in r.log.warnings), *bounds]))
    return chapter(
        "compilation",
        "What the compiler did",
        "From the logs of torch.compile: where it gave up, compiled again, and spent its time.",
        *parts,
    )


def _facts(runs: Sequence[tuple[str, CompilationReport]]) -> str:
    rows: list[tuple[str, Callable[[CompilationReport], str]]] = [
        ("Compilations", lambda r: format_count(_n_compilations(r))),
        ("Compile time", _seconds),
        ("Graph breaks, distinct", lambda r: format_count(len(r.breaks))),
        ("Cost of all breaks, per step", _break_cost),
        ("Functions that run eager", lambda r: format_count(len(r.skips))),
        ("Recompiles", lambda r: format_count(len(r.recompiles))),
        ("Time of the recompiles", lambda r: format_duration(r.recompile_ns)),
        ("Recompile limit reached", lambda r: format_count(len(r.log.limit_hits))),
        ("Kernels replayed by CUDA graphs", _replayed),
    ]
    return table(
        ["", *(label for label, _ in runs)],
        [[escape(name), *(escape(say(report)) for _, report in runs)] for name, say in rows],
    )


def _details(report: CompilationReport, charts: Charts) -> str:
    parts = []
    if report.skips:
        parts.append(_skips(report.skips))
        if report.lost is not None:
            parts.append(paragraph(f"{report.lost.price} {report.lost.sentence}".strip()))
    if report.breaks:
        parts.append(_breaks(report.breaks))
    if report.recompiles:
        parts.append(_recompiles(report.recompiles))
    if report.cudagraphs:
        parts.append(_cudagraphs(report))
    if report.log.failures:
        rows = [
            [escape(f.error), escape(short(f.reason, 300)), escape(place_text(f.file, f.line, ""))]
            for f in report.log.failures[:_MOST]
        ]
        parts.append(table(["Compiler error", "reason", "place"], rows, text=True))
    nodes = compile_phases(report.log)
    if len(nodes) > 1:
        figure = compilation_icicle(nodes, LIGHT)
        colors = stage_colors(LIGHT)
        stages = dict.fromkeys(node.stage for node in nodes if node.parent)
        keys = [(STAGE_LABELS[stage], colors[stage]) for stage in stages]
        alt = f"{len(nodes) - 1} phases of {format_duration(nodes[0].dur_ns)} of compile time."
        caption = (
            "Where compile time went: compilations side by side, the phases inside each below it."
        )
        parts.append(
            f'<div class="keep">{paragraph(caption, "muted")}{charts.html(figure, alt)}'
            f"{legend(keys)}</div>"
        )
    return "".join(parts)


def _breaks(breaks: Sequence[BreakReport]) -> str:
    rows = [
        [
            f"{escape(graph_break.cause.label)}<br><small class=mono>"
            f"{_place(graph_break.place)}</small>",
            f"{escape(graph_break.cause.change)}<br><small>"
            f"{escape(short(graph_break.event.reason, 200))}</small>",
            format_count(graph_break.event.n),
            format_duration(graph_break.cost_ns),
        ]
        for graph_break in breaks[:_MOST]
    ]
    heads = ["Graph break", "what to change, what PyTorch says", "met", "its share, per step"]
    return table(heads, rows, text=True, numbers=2) + _more(len(breaks))


def _skips(skips: Sequence[SkipReport]) -> str:
    rows = [
        [
            f"{escape(skip.event.function or 'a function')}<br><small class=mono>"
            f"{_place(skip.place) if skip.place else 'place unknown'}</small>",
            f"{escape(skip.cause.label)}<br><small>{escape(skip.cause.what)}</small>",
            escape(skip.change),
        ]
        for skip in skips[:_MOST]
    ]
    return table(["Runs eager", "because of", "what to change"], rows, text=True)


def _recompiles(recompiles: Sequence[RecompileReport]) -> str:
    groups = recompile_groups(recompiles)
    rows = [
        [
            f"{escape(group.function)}<br>"
            f"<small class=mono>{escape(place_text(group.file, group.line))}</small>",
            f"{escape(group.cause.label)}<br><small class=mono>"
            f"{escape(short(group.guards[0], 120)) if group.guards else ''}</small>",
            escape(group.cause.change),
            format_count(len(group.recompiles)),
            format_duration(group.cost_ns),
        ]
        for group in groups[:_MOST]
    ]
    heads = ["Recompiled", "because of", "what to change", "times", "took"]
    return table(heads, rows, text=True, numbers=2) + _more(len(groups))


def _cudagraphs(report: CompilationReport) -> str:
    stakes = {s.event: s.at_stake_ns for s in report.coverage.stakes} if report.coverage else {}
    rows = [
        [
            f"{escape(event.kind)}<br><small class=mono>"
            f"{escape(place_text(event.file, event.line, ''))}</small>",
            f"{escape(short(event.reason, 200))}<br><small>{escape(cause.change)}</small>",
            format_count(event.n),
            format_duration(stakes.get(event)),
        ]
        for event, cause in report.cudagraphs[:_MOST]
    ]
    heads = ["CUDA graph", "why, and what to change", "times", "at stake, per step"]
    return table(heads, rows, text=True, numbers=2) + _more(len(report.cudagraphs))


def _more(n: int) -> str:
    return paragraph(f"{n - _MOST} more are left out here.", "muted") if n > _MOST else ""


def _place(frame: Frame) -> str:
    code = f"<br>{escape(short(frame.code.strip(), 100))}" if frame.code.strip() else ""
    return f"{escape(place_text(frame.file, frame.line))}{code}"


def _n_compilations(report: CompilationReport) -> int:
    return len(report.log.compilations)


def _seconds(report: CompilationReport) -> str:
    compile_time = report.compile_time
    return "–" if compile_time is None else format_duration(compile_time.seconds * 1e9)


def _break_cost(report: CompilationReport) -> str:
    return format_duration(report.break_cost.cost_ns) if report.break_cost else "–"


def _replayed(report: CompilationReport) -> str:
    return format_share(report.coverage.kernel_share) if report.coverage else "–"

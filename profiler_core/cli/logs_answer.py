"""`logs --json`: the keys of docs/json.md from a CompilationReport."""

from typing import Any

from profiler_core.analysis.compilation.cudagraph_coverage import CudaGraphCoverage
from profiler_core.analysis.compilation.graph_break_cost import BreakCost
from profiler_core.analysis.compilation.recompiles import RecompileReport
from profiler_core.analysis.compilation.report import BreakReport, CompilationReport, SkipReport
from profiler_core.model.compilation import Compilation, CompileLog, Frame


def logs_answer(report: CompilationReport) -> dict[str, Any]:
    """All records and causes of the report; values that no source has are null."""
    log = report.log
    return {
        "torch_version": log.torch_version,
        "torch_version_range": log.version_range,
        "sources": log.sources,
        "graph_breaks": [_break(one) for one in report.breaks],
        "frame_skips": [_skip(one) for one in report.skips],
        "skipped_frames_lost": report.lost,
        "recompiles": [_recompile(one) for one in report.recompiles],
        "recompile_limit_hits": [
            {
                "file": hit.file,
                "line": hit.line,
                "function": hit.function,
                "limit": hit.limit,
                "value": hit.value,
                "compile_id": hit.compile_id,
                "last_reason": hit.last_reason,
                "rank": hit.rank,
            }
            for hit in log.limit_hits
        ],
        "compilations": [_compilation(one) for one in log.compilations],
        "failures": log.failures,
        "perf_hints": log.perf_hints,
        "cudagraph_skips": _cudagraphs(report),
        "cudagraph_coverage": _coverage(report.coverage),
        "fusion_refusals": log.fusion_decisions,
        "graph_break_cost": _cost(report.break_cost),
        "regions": report.regions,
        "compile_time": report.compile_time,
        "recompile_cost_ns": report.recompile_ns,
        "break_even_steps": report.break_even_steps,
        "runs_eager_only": report.eager_only,
        "warnings": log.warnings,
        "lower_bound": [f"{bound.about}: {bound.sentence}" for bound in log.lower_bound],
        "n_lines": log.n_lines,
        "n_unparsed": log.n_unparsed,
        "unparsed": log.unparsed,
        "other_records": log.other_records,
        "repairs": log.repairs,
    }


def _break(report: BreakReport) -> dict[str, Any]:
    graph_break = report.event
    return {
        "file": graph_break.file,
        "line": graph_break.line,
        "function": graph_break.function,
        "reason": graph_break.reason,
        "kind": report.cause.key,
        "gb_id": graph_break.gb_id,
        "n": graph_break.n,
        "compile_ids": graph_break.compile_ids,
        "cost_ns": report.cost_ns,
        "remedy": report.cause.change,
        "what": report.cause.what,
        "url": report.url,
        "explanation": graph_break.explanation or None,
        "hints": graph_break.hints,
        "user_place": _place(report.place),
        "ranks": graph_break.ranks,
    }


def _skip(report: SkipReport) -> dict[str, Any]:
    skip = report.event
    return {
        "file": skip.file,
        "line": skip.line,
        "function": skip.function,
        "function_line": skip.function_line,
        "reason": skip.reason,
        "kind": report.cause.key,
        "gb_id": skip.gb_id,
        "n": skip.n,
        "compile_ids": skip.compile_ids,
        "remedy": report.change,
        "url": report.url,
        "user_place": _place(report.place) if report.place else None,
        "ranks": skip.ranks,
    }


def _recompile(report: RecompileReport) -> dict[str, Any]:
    recompile = report.event
    first = recompile.reasons[0] if recompile.reasons else None
    return {
        "file": recompile.file,
        "line": recompile.line,
        "function": recompile.function,
        "compile_id": recompile.compile_id,
        "reasons": [reason.guard for reason in recompile.reasons],
        "kind": report.cause.key,
        "cost_ns": report.cost_ns,
        "step": report.step,
        "remedy": report.cause.change,
        "what": report.cause.what,
        "url": report.cause.url,
        "guard_code": first.code or None if first else None,
        "guard_line": first.line if first else None,
        "rank": recompile.rank,
    }


def _compilation(compilation: Compilation) -> dict[str, Any]:
    return {
        "compile_id": compilation.compile_id,
        "direction": compilation.direction,
        "seconds": None if compilation.dur_ns is None else compilation.dur_ns / 1e9,
        "function": compilation.function,
        "file": compilation.file,
        "line": compilation.line,
        "start_ns": compilation.start_ns,
        "phase_ns": compilation.phase_ns,
        "cache": compilation.cache,
        "guard_count": compilation.guard_count,
        "graph_op_count": compilation.graph_op_count,
        "graph_node_count": compilation.graph_node_count,
        "restart_reasons": compilation.restart_reasons,
        "fail_type": compilation.fail_type,
        "fail_reason": compilation.fail_reason,
        "rank": compilation.rank,
    }


def _cudagraphs(report: CompilationReport) -> list[dict[str, Any]]:
    """Skips, re-recordings and partitions; with what a step could gain where a trace tells."""
    stakes = {stake.event: stake for stake in report.coverage.stakes} if report.coverage else {}
    answers = []
    for event, cause in report.cudagraphs:
        stake = stakes.get(event)
        answers.append(
            {
                "kind": event.kind,
                "reason": event.reason,
                "cause": cause.key,
                "file": event.file,
                "line": event.line,
                "n": event.n,
                "compile_ids": event.compile_ids,
                "at_stake_ns": stake.at_stake_ns if stake else None,
                "remedy": cause.change,
                "url": cause.url,
            }
        )
    return answers


def _coverage(coverage: CudaGraphCoverage | None) -> dict[str, Any] | None:
    if coverage is None:
        return None
    return {
        "n_kernels": coverage.n_kernels,
        "n_replayed": coverage.n_replayed,
        "kernel_share": coverage.kernel_share,
        "kernel_time_ns": coverage.kernel_time_ns,
        "replayed_time_ns": coverage.replayed_time_ns,
        "time_share": coverage.time_share,
        "n_graph_launches": coverage.n_graph_launches,
        "launches_saved": coverage.launches_saved,
        "clock": coverage.clock,
    }


def _cost(cost: BreakCost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    return {
        "n_crossings": cost.n,
        "cost_ns": cost.cost_ns,
        "range_ns": cost.range_ns,
        "step_ns": cost.step_ns,
        "without_ns": cost.without_ns,
        "host_work_ns": cost.host_work_ns,
        "clock": cost.clock,
        "bound": cost.bound,
        "n_steps": cost.n_steps,
        "n_replayed_steps": cost.n_replayed_steps,
    }


def _place(frame: Frame) -> dict[str, Any]:
    return {"file": frame.file, "line": frame.line, "function": frame.function}


def warning_lines(log: CompileLog) -> list[str]:
    """What a reader must know before the lists."""
    lines = [f"Warning: {text}" for text in log.warnings]
    lines += [f"A lower bound ({bound.about}): {bound.sentence}" for bound in log.lower_bound]
    return lines

"""Every table of a report as a frame: long, one row a fact, times in ns, sizes in bytes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import msgspec
import polars as pl

from profiler_core.analysis.measures import measures
from profiler_core.analysis.side import Side, whole_steps
from profiler_core.analysis.span import PER_STEP
from profiler_core.answers.encoding import plain
from profiler_core.answers.explanation import BarHead, finding_answer
from profiler_core.answers.ranks import RankTimes
from profiler_core.errors import BadInput
from profiler_core.report.contents import Contents
from profiler_core.spreadsheet import harmless

Row = dict[str, Any]


@dataclass(frozen=True)
class NamedTable:
    """What a table holds, and how its rows are made."""

    about: str
    rows: Callable[[Contents], list[Row]]


def tables(contents: Contents) -> Mapping[str, pl.DataFrame]:
    """The tables that have at least one row, by name."""
    frames = {name: table(contents, name) for name in TABLES}
    return {name: frame for name, frame in frames.items() if not frame.is_empty()}


def table(contents: Contents, name: str) -> pl.DataFrame:
    """One table; of no row where the runs lack what it needs.

    Raises:
        BadInput: there is no table of that name.
    """
    made = TABLES.get(name)
    if made is None:
        raise BadInput(f"There is no table “{name}”.", remedy=f"Choose one of {', '.join(TABLES)}.")
    return pl.DataFrame(made.rows(contents), infer_schema_length=None)


def to_csv(frame: pl.DataFrame) -> bytes:
    """CSV; text that a spreadsheet would take for a formula gets a quote in front."""
    text = [name for name, kind in frame.schema.items() if kind == pl.String]
    safe = frame.with_columns(
        pl.col(name).map_elements(harmless, return_dtype=pl.String) for name in text
    )
    return safe.write_csv().encode("utf-8")


def to_parquet(frame: pl.DataFrame) -> bytes:
    """Parquet, text as it is."""
    out = BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def _measures(contents: Contents) -> list[Row]:
    return [
        {
            "measure": measure.label,
            "unit": measure.unit,
            "run": label,
            "value": None if value is None else float(value),
            "at_least": measure.is_least(run),
            "change": measure.change(run) if run else None,
            "judgement": measure.judgements[run - 1] if run else None,
        }
        for measure in measures(contents.comparison)
        for run, (label, value) in enumerate(zip(contents.labels, measure.values, strict=True))
    ]


def _rounds(contents: Contents) -> list[Row]:
    return [
        {"run": side.label, **msgspec.to_builtins(timed_round)}
        for side in contents.sides
        if side.run.record.measurement is not None
        for timed_round in side.run.record.measurement.rounds
    ]


def _waterfall(contents: Contents) -> list[Row]:
    return [
        {
            "candidate": contents.labels[number + 1],
            **plain(BarHead.of(row, class_=row.key)),
        }
        for number, explanation in enumerate(contents.explanations)
        if explanation.waterfall is not None
        for row in explanation.waterfall.rows
    ]


def _groups(contents: Contents) -> list[Row]:
    return [
        {
            "candidate": contents.labels[number + 1],
            "group": index,
            "kind": group.kind,
            "phase": group.phase,
            "title": group.title,
            "module": group.module,
            "source": ", ".join(label for label, _ in group.sources),
            "baseline_ns": group.baseline_step_ns,
            "candidate_ns": group.candidate_step_ns,
            "baseline_kernels": group.per_step(group.baseline.n_kernels, 0),
            "candidate_kernels": group.per_step(group.candidate.n_kernels, 1),
            "baseline_class_steps": group.class_steps[0],
            "candidate_class_steps": group.class_steps[1],
            "evidence": ", ".join(group.evidence),
            "confidence": group.confidence,
        }
        for number, explanation in enumerate(contents.explanations)
        if explanation.ledger is not None
        for index, group in enumerate(explanation.ledger.groups)
    ]


def _groups_over_ranks(contents: Contents) -> list[Row]:
    """Each group of a job on each rank, in both runs."""
    return [
        {
            "candidate": contents.labels[number + 1],
            "group": group.group,
            "title": group.title,
            "run": contents.labels[run],
            "rank": rank,
            "time_ns": time_ns,
        }
        for number, explanation in enumerate(contents.explanations)
        if explanation.job_ledger is not None
        for group in explanation.job_ledger.groups
        for run, spread in ((0, group.baseline), (number + 1, group.candidate))
        for rank, time_ns in spread.by_rank.items()
    ]


def _findings(contents: Contents) -> list[Row]:
    return [
        {
            "candidate": label,
            **plain(finding_answer(finding)),
            "locations": ", ".join(f"{frame.file}:{frame.line}" for frame in finding.locations),
        }
        for label, findings in contents.findings
        for finding in findings
    ]


def _ranks(contents: Contents) -> list[Row]:
    return [
        {"run": label, **plain(RankTimes.of(row))}
        for label, job in zip(contents.labels, contents.jobs, strict=True)
        if job is not None
        for row in job.ranks
    ]


def _kernels(contents: Contents) -> list[Row]:
    """Of a cut trace without what is per step."""
    sides = [contents.sides[run] for run in contents.kernel_runs]
    return [
        {
            "kernel": row.name,
            "category": row.category,
            "run": side.label,
            "n_per_step": _per_step(contents, side, kernel.n),
            "time_ns_per_step": _per_step(contents, side, kernel.time_ns),
            "mean_ns": kernel.mean_ns,
            "min_ns": kernel.min_ns,
            "max_ns": kernel.max_ns,
        }
        for row in contents.kernels
        for side, kernel in zip(sides, row.sides, strict=True)
        if kernel is not None
    ]


def _per_step(contents: Contents, side: Side, amount: float) -> float | None:
    """Of what a row of kernels has; None for a run without whole steps."""
    if not side.has_whole_steps or side.summary is None:
        return None
    return amount if contents.kernels_span == PER_STEP else side.summary.per_step(amount)


def _categories(contents: Contents) -> list[Row]:
    return [
        {
            "run": side.label,
            "category": category,
            "n_per_step": n,
            "time_ns_per_step": steps.category_time_ns[category],
        }
        for side in contents.sides
        if (steps := whole_steps(side)) is not None
        for category, n in steps.category_n.items()
    ]


def _breaks(contents: Contents) -> list[Row]:
    return [
        {
            "run": label,
            "file": graph_break.place.file,
            "line": graph_break.place.line,
            "function": graph_break.place.function,
            "reason": graph_break.event.reason,
            "cause": graph_break.cause.label,
            "n": graph_break.event.n,
            "cost_ns": graph_break.cost_ns,
            "remedy": graph_break.advice,
        }
        for label, report in zip(contents.labels, contents.compilations, strict=True)
        if report is not None
        for graph_break in report.breaks
    ]


def _recompiles(contents: Contents) -> list[Row]:
    return [
        {
            "run": label,
            "file": recompile.event.file,
            "line": recompile.event.line,
            "function": recompile.event.function,
            "compile_id": recompile.event.compile_id,
            "guard": recompile.event.reasons[0].guard if recompile.event.reasons else None,
            "cause": recompile.cause.label,
            "step": recompile.step,
            "cost_ns": recompile.cost_ns,
            "remedy": recompile.cause.change,
        }
        for label, report in zip(contents.labels, contents.compilations, strict=True)
        if report is not None
        for recompile in report.recompiles
    ]


def _environment(contents: Contents) -> list[Row]:
    return [
        {"run": side.label, "key": key, "value": _text(value)}
        for side in contents.sides
        for key, value in side.run.record.environment.items()
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


TABLES: Mapping[str, NamedTable] = {
    "measures": NamedTable("the numbers that matter, a row for each run", _measures),
    "rounds": NamedTable("the timed rounds: wall time in ns, and steps", _rounds),
    "waterfall": NamedTable("what changed between the two steps, ns per step", _waterfall),
    "fusion_groups": NamedTable("what each operator became, ns and kernels per step", _groups),
    "groups_over_ranks": NamedTable(
        "of a job: each group on each rank, ns per step", _groups_over_ranks
    ),
    "findings": NamedTable("what stands out, with the ns per step at stake", _findings),
    "kernels": NamedTable("calls and ns per step of each kernel in each run", _kernels),
    "categories": NamedTable("the same by kind of kernel", _categories),
    "graph_breaks": NamedTable("where the compiler gave up, with cost in ns per step", _breaks),
    "recompiles": NamedTable("what was compiled again, why, and its cost in ns", _recompiles),
    "environment": NamedTable("where each run was measured", _environment),
    "ranks": NamedTable("of a job: the times of each rank, ns", _ranks),
}

"""What an agent may ask. Names, docstrings and parameters are what it reads, so they are short.

Times are ns per step unless the key says otherwise; absent data is null. docs/json.md defines keys.
"""

from typing import Any

from profiler_core.agents.answer import page
from profiler_core.agents.runs import compared, compiled, run_at
from profiler_core.analysis.fusion_json import finding_json, fusion_json
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.cli.compare import comparison_answer
from profiler_core.cli.json_output import plain
from profiler_core.cli.logs_answer import logs_answer
from profiler_core.cli.summary import summary_answer
from profiler_core.errors import BadInput
from profiler_core.model.inductor import KernelDefinition
from profiler_core.session.run import Run
from profiler_core.store import library

_CODE_CHARACTERS = 6_000  # of one page of generated code
_FEW_ROWS = 10
_OF_A_COMPARISON = (
    *("label", "status", "error", "verdict", "step_time", "n_kernels", "n_launches"),
    *("n_graph_launches", "kernel_time_ns", "device_time_ns", "busy_ns", "idle_ns"),
    *("compile", "memory", "numerics", "environment_differs", "by_category", "waterfall"),
    *("fusion", "findings", "notes"),
)
_NOT_OF_A_SUMMARY = ("steps", "kernels", "findings", "device", "devices", "telemetry")


def list_runs(contains: str = "", offset: int = 0, limit: int = 20) -> dict[str, Any]:
    """List comparisons: own captures and uploads, newest first, then samples. Gives run ids.

    contains: only those whose id or workload holds this text.
    """
    rows = [
        {
            "id": group.key,
            "workload": group.baseline.run.workload or group.baseline.run.name,
            "created_at": group.created_at,
            "baseline": _run_row(group.baseline),
            "candidates": [_run_row(entry) for entry in group.candidates],
            **_special(group.baseline),
        }
        for group in library.comparisons()
    ]
    wanted_text = contains.lower()
    return page(
        [r for r in rows if wanted_text in f"{r['id']} {r['workload']}".lower()], offset, limit
    )


def summary(run: str) -> dict[str, Any]:
    """One run in numbers, totals over its profiled window: busy, idle and why, launches, memory."""
    opened = run_at(run)
    answer = plain(summary_answer(opened))
    shown = {key: value for key, value in answer.items() if key not in _NOT_OF_A_SUMMARY}
    shown["n_steps"] = opened.required_summary().n_steps
    shown["kernels"] = [_short_kernel(row) for row in answer["kernels"][:_FEW_ROWS]]
    shown["findings"] = [_headline(row) for row in answer["findings"] or []]
    return shown


def compare(baseline: str, candidates: list[str] | None = None) -> dict[str, Any]:
    """Compare runs: verdict, numbers per step as [baseline, candidate], waterfall, findings.

    baseline: a run's id; or a capture's id alone, for all of its runs.
    """
    answer = plain(comparison_answer(compared(baseline, candidates or [])))
    rows = []
    for candidate in answer["candidates"]:
        row = {key: candidate[key] for key in _OF_A_COMPARISON}
        row["waterfall"] = [
            {k: v for k, v in bar.items() if k != "groups"} for bar in candidate["waterfall"] or []
        ]
        if candidate["fusion"] is not None:
            row["fusion"] = {k: v for k, v in candidate["fusion"].items() if k != "groups"}
            row["fusion"]["n_groups"] = len(candidate["fusion"]["groups"])
        row["findings"] = [_headline(finding) for finding in candidate["findings"] or []]
        rows.append(row)
    return {"baseline": answer["baseline"]["label"], "candidates": rows}


def findings(baseline: str, candidate: str = "") -> dict[str, Any]:
    """What stands out, most important first, with evidence, advice and time at stake per step.

    candidate: compared with the baseline; without it only `baseline` is looked at.
    """
    if not candidate:
        run = run_at(baseline)
        run.required_trace()
        stands_out, notes = run.alone.findings, run.alone.notes
    else:
        pair = compared(baseline, [candidate]).pairs[0]
        stands_out, notes = pair.findings, pair.explanation.notes
    return {"findings": [finding_json(finding) for finding in stands_out or ()], "notes": notes}


def fusion_groups(
    baseline: str,
    candidate: str,
    contains: str = "",
    kind: str = "",
    offset: int = 0,
    limit: int = _FEW_ROWS,
) -> dict[str, Any]:
    """Which operators of the baseline became which kernels, by how much the time changed.

    contains: text in the title, module, source lines or kernel names. kind: matched, removed,
    "only in the candidate" or unmatched. Ask fusion_group for one of them in full.
    """
    ledger = compared(baseline, [candidate]).pairs[0].ledger
    wanted_text = contains.lower()
    rows = [
        _group_row(number, group)
        for number, group in enumerate(ledger.groups)
        if kind in ("", group.kind) and (not wanted_text or wanted_text in _searched(group))
    ]
    rows.sort(key=lambda row: -abs(row["delta_ns"]))
    return page(rows, offset, limit)


def fusion_group(baseline: str, candidate: str, group: int) -> dict[str, Any]:
    """One fusion group in full: operators, kernels, bytes, source lines, evidence."""
    ledger = compared(baseline, [candidate]).pairs[0].ledger
    if not 0 <= group < len(ledger.groups):
        raise BadInput(
            f"There is no group {group}: they are numbered from 0 to {len(ledger.groups) - 1}.",
            remedy="Take a number from fusion_groups.",
        )
    details: dict[str, Any] = fusion_json(ledger)["groups"][group]
    return {"group": group, "title": ledger.groups[group].title, **details}


def graph_breaks(run: str, offset: int = 0, limit: int = _FEW_ROWS) -> dict[str, Any]:
    """Where torch.compile gave up a graph: place, reason, cost per step, remedy; skipped frames."""
    answer = plain(logs_answer(compiled(run)))
    return {
        **page(answer["graph_breaks"], offset, limit),
        "frame_skips": answer["frame_skips"],
        "graph_break_cost": answer["graph_break_cost"],
        "lower_bound": answer["lower_bound"],
    }


def recompiles(run: str, offset: int = 0, limit: int = _FEW_ROWS) -> dict[str, Any]:
    """What was compiled again: place, failed guards, seconds it cost, remedy; limit hits."""
    answer = plain(logs_answer(compiled(run)))
    return {
        **page(answer["recompiles"], offset, limit),
        "recompile_limit_hits": answer["recompile_limit_hits"],
        "recompile_cost_ns": answer["recompile_cost_ns"],
        "lower_bound": answer["lower_bound"],
    }


def kernels(
    run: str, contains: str = "", offset: int = 0, limit: int = _FEW_ROWS
) -> dict[str, Any]:
    """Kernels of a run by name, longest first; totals over the profiled window, in ns."""
    of_trace = run_at(run).required_summary()
    wanted_text = contains.lower()
    rows = [
        _short_kernel(row) for row in plain(of_trace.kernels) if wanted_text in row["name"].lower()
    ]
    return {"n_steps": of_trace.n_steps, **page(rows, offset, limit)}


def kernel(run: str, name: str, code_offset: int = 0) -> dict[str, Any]:
    """One kernel: its time, and the code that Inductor generated for it, in pages.

    name: as kernels gives it; its beginning is enough where it is the only one.
    """
    opened = run_at(run)
    of_trace = opened.required_summary()
    exact = [row for row in of_trace.kernels if row.name == name]
    fitting = exact or [row for row in of_trace.kernels if row.name.startswith(name.rstrip("…"))]
    if len(fitting) != 1:
        raise BadInput(
            f"{len(fitting)} kernels of {run} are called {name[:200]}.",
            remedy="Take a name from kernels.",
        )
    definition, compile_id = _definition(opened, fitting[0].name)
    first = max(0, code_offset)
    answer = {"n_steps": of_trace.n_steps, **plain(fitting[0]), "compile_id": compile_id}
    if definition is None:
        return {
            **answer,
            "code": None,
            "note": "No structured log has its generated code.",
        }
    end = first + _CODE_CHARACTERS
    answer |= {
        "inputs": [f"{label}: {shape}" for label, shape in definition.inputs],
        "nodes": [f"{node} <- {', '.join(aten)}" for node, aten in definition.nodes],
        "code": definition.source[first:end],
        "n_code_characters": len(definition.source),
    }
    if end < len(definition.source):
        answer["next_code_offset"] = end
    return answer


READING = (
    *(list_runs, summary, compare, findings, fusion_groups, fusion_group),
    *(graph_breaks, recompiles, kernels, kernel),
)


def _run_row(entry: library.Entry) -> dict[str, Any]:
    return {
        "id": entry.key,
        "variant": entry.variant,
        "status": entry.run.status,
        "step_time_ns": step_time_ns(entry.run.measurement),
    }


def _special(entry: library.Entry) -> dict[str, Any]:
    """What sweep, ranks and counters can be asked about; nothing where a run is an ordinary one."""
    run = entry.run
    facts: dict[str, Any] = {}
    if run.sweep is not None:
        facts["sweep"] = {"id": run.sweep.id, "name": run.sweep.name, "value": run.sweep.value}
    if run.world_size > 1:
        facts["n_ranks"] = run.world_size
    if run.measurement is not None and run.measurement.counters is not None:
        facts["has_counters"] = run.measurement.counters.problem is None
    return facts


def _headline(finding: dict[str, Any]) -> dict[str, Any]:
    return {key: finding[key] for key in ("key", "title", "at_stake_ns", "at_most")}


def _short_kernel(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its kernel name cut to 160 characters; template names can have thousands."""
    name = row["name"]
    return {**row, "name": name if len(name) <= 160 else f"{name[:160]}…"}


def _group_row(number: int, group: FusionGroup) -> dict[str, Any]:
    return {
        "group": number,
        "title": group.title,
        "kind": group.kind,
        "phase": group.phase,
        "module": group.module,
        "source": group.sources[0][0] if group.sources else None,
        "n_kernels": [
            group.per_step(side.n_kernels, index)
            for index, side in enumerate((group.baseline, group.candidate))
        ],
        "class_steps": list(group.class_steps),
        "baseline_ns": group.baseline_step_ns,
        "candidate_ns": group.candidate_step_ns,
        "delta_ns": round(group.delta_ns),
        "confidence": group.confidence,
    }


def _searched(group: FusionGroup) -> str:
    names = [k.name for side in (group.baseline, group.candidate) for k in side.kernels]
    sources = [text for source in group.sources for text in source]
    return " ".join([group.title, group.module or "", *sources, *names]).lower()


def _definition(run: Run, name: str) -> tuple[KernelDefinition | None, str | None]:
    code = run.code
    for graph in code.graphs if code else ():
        for kernel_name, definition in graph.kernels.items():
            # On the CPU the trace says graph_0_cpp_fused_…, the module cpp_fused_….
            if name == kernel_name or name.endswith(f"_{kernel_name}"):
                return definition, graph.compile_id
    return None, None

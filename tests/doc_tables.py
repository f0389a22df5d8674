"""`make tables`: the tables of docs/ that follow from declarations; a test compares them."""

import dataclasses
import inspect
import re
import types
import typing
from functools import partial
from pathlib import Path

import msgspec

from profiler_core.agents.answer import Page
from profiler_core.agents.experimenting import MEASURING
from profiler_core.agents.tools import TOOLS
from profiler_core.answers import (
    compare,
    counters,
    experiment,
    explanation,
    gate,
    history,
    logs,
    memory,
    modules,
    overlap,
    patch,
    ranks,
    summary,
    sweep,
    telemetry,
)
from profiler_core.answers.record import Meaning
from profiler_core.capture.child.backends import BACKENDS
from profiler_core.capture.option import declared
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.sweep.parameters import PARAMETERS, parameter
from profiler_core.cli import audit, capture_answer, capture_sweep, doctor, export, run
from profiler_core.report.named_figures import FIGURES
from profiler_core.report.tables import TABLES as TABLES_BY_NAME
from profiler_core.ui.metrics import counted, moment
from tests.python_reference import api_reference

DOCS = Path(__file__).resolve().parents[1] / "docs"

_EAGER = ("`eager`", "torch", "", "torch 2.15.0", "everything", "")
_ANY_OTHER = (
    "`backend:NAME`",
    "your own code registers it",
    "passed on as they are",
    "torch 2.15.0",
    "as onnxrt; where its graphs run PyTorch's operators, these are shown instead",
    "",
)


def backends_table():
    """One row for each declared backend, between eager and those that nobody declared."""
    rows = [_EAGER]
    for backend in BACKENDS:
        about = backend.documented
        names = [name if name in backend.offered else f"backend:{name}" for name in backend.names]
        takes = [
            f"`{option.shown_key}`" + (f" ({option.about})" if option.kind == "table" else "")
            for option in backend.options
        ]
        takes += [about.takes] if about.takes else []
        rows.append(
            (
                about.label or ", ".join(f"`{name}`" for name in names),
                about.needs,
                "none" if backend.takes == "none" else ", ".join(takes),
                about.tried,
                about.measured,
                about.not_measured,
            )
        )
    head = ("backend", "needs", "options (`+KEY=VALUE`)", "tried", "measured", "not measured")
    return _table(head, [*rows, _ANY_OTHER])


def options_table():
    """One row for each option of a capture."""
    rows = []
    for entry in declared(CaptureSpec).values():
        flag = entry.name if entry.about.positional else f"`{entry.flag}`"
        words = "switch" if entry.kind == "switch" else entry.about.metavar or entry.kind
        rows.append(
            (
                f"`{flag.strip('`')}`",
                {"own": "text", "choices": "text"}.get(words, words),
                "on" if entry.default is True else entry.default_text,
                f"{'leaves out: ' if entry.default is True else ''}{entry.help}",
                f"*{entry.label}*" if entry.about.on_page else "",
                f"`{entry.name}`",
            )
        )
    head = ("option", "value", "default", "what it does", "on the page", "for agents, run.json")
    return _table(head, rows)


def sweep_table():
    """One row for each option that a sweep can vary."""
    rows = [
        (
            f"`{entry.name}`" + "".join(f" (or `{alias}`)" for alias in entry.aliases[:1]),
            f"`{entry.example}`",
            entry.sets,
        )
        for entry in (*PARAMETERS.values(), parameter("option.KEY"))
    ]
    return _table(("option", "values", "what is set"), rows)


_ACTIONS = {
    "`list`, `tag`, `untag`": history.RunsAnswer,
    "`import`, `push`": history.ImportAnswer,
    "`pull`": history.PulledAnswer,
    "`export`": history.ExportedRunAnswer,
    "`baseline`": history.BaselinesAnswer,
    "`delete`": history.DeletedAnswer,
    "`trash`, `restore`": history.TrashAnswer,
    "`verify`": history.VerifyAnswer,
    "`retention`": history.RetentionAnswer,
    "`findings`": history.FindingsAnswer,
    "`regressions`": history.RegressionsAnswer,
    "`reconcile`": history.ReconcileAnswer,
}


def actions_table():
    """What each action of `runs` answers with."""
    return _table(("action", "keys"), [(name, _keys(kind, {})) for name, kind in _ACTIONS.items()])


def record_table(record, beside=None):
    """One row for each key of an answer; neighbours of one meaning share it.

    Args:
        record: the answer.
        beside: another one, whose keys are left out.
    """
    left_out = set(beside.__struct_fields__) if beside else set()
    rows = []
    for name, meaning, kind in _fields(record):
        if name in left_out:
            continue
        cells = (meaning.unit if meaning else "", _text(meaning, kind))
        if rows and rows[-1][1:] == cells:
            rows[-1] = (f"{rows[-1][0]}, `{name}`", *cells)
        else:
            rows.append((f"`{name}`", *cells))
    return _table(("key", "unit", "what"), rows)


def tools_table():
    """What an agent may ask: each tool with its arguments, optional ones in brackets."""
    rows = []
    for tool in (*TOOLS, *MEASURING):
        names = [
            f"`{name}`" if parameter.default is inspect.Parameter.empty else f"[`{name}`]"
            for name, parameter in inspect.signature(tool).parameters.items()
        ]
        if len(names) > _MOST_ARGUMENTS:
            names = [names[0], "every option of [capture](capture.md#options)"]
        rows.append((f"`{tool.__name__}`", ", ".join(names), " ".join(tool.__doc__.split())))
    return _table(("tool", "takes", "what it answers"), rows)


def tool_keys_table():
    """The keys of each tool's answer; those of json.md are referred to."""
    rows = []
    for tool in (*TOOLS, *MEASURING):
        record = typing.get_type_hints(tool)["return"]
        rows.append((f"`{tool.__name__}`", _own_keys(record)))
    return _table(("tool", "keys"), rows)


def _own_keys(record):
    """The keys of an agents' record: its own in full, those that json.md has by reference."""
    of_json = next((base for base in record.__mro__ if base in _OF_JSON), None)
    elsewhere = set(of_json.__struct_encode_fields__) if of_json else set()
    if "next_offset" in [key for key, _, _ in _fields(record)]:
        elsewhere |= set(Page.__struct_fields__) - {"rows"}
    if record is of_json:
        return f"those of {_OF_JSON[of_json]}"
    part = "the first of"
    shown = [f"{part} {_OF_JSON[of_json]}"] if of_json else []
    by_meaning: dict[str, list[str]] = {}  # those of one meaning share it
    for key, meaning, kind in _fields(record):
        if key in elsewhere:
            continue
        inner = _record_in(kind)
        what = meaning.what if meaning else "{keys}" if inner else ""
        if inner and "{keys}" in what:
            what = what.replace("{keys}", _own_keys(inner))
        by_meaning.setdefault(what or f"`{key}`", []).append(f"`{key}`")
    for what, keys in by_meaning.items():
        text = ", ".join(keys)
        shown.append(text if text == what else f"{text} ({what})")
    return ", ".join(shown)


def metrics_table():
    """What a monitor may ask of a server; the last ones are the library's own, of each process."""
    rows = [
        (
            f"`{metric.sample_name}`",
            metric.kind,
            "; ".join(f"`{name}` ({values})" for name, values in metric.labels),
            metric.what,
        )
        for metric in (*counted.COUNTED, *moment.ASKED)
    ]
    processes = sorted(counted.PROCESS.collect(), key=lambda family: family.name)
    of_processes = ", ".join(
        f"`{family.name}{'_total' * (family.type == 'counter')}`" for family in processes
    )
    return _table(
        ("metric", "kind", "labels", "what"),
        [*rows, (of_processes, "", "", "of this process, where the system tells")],
    )


def names_table(head, named):
    """One row for each figure or table that results have by name."""
    return _table(
        (head, "what it shows"), [(f"`{key}`", entry.about) for key, entry in named.items()]
    )


def _fields(record):
    """(key, what it means, its type) of each field of a record."""
    hints = typing.get_type_hints(record, include_extras=True)
    if not issubclass(record, msgspec.Struct):
        names = {field.name: field.name for field in dataclasses.fields(record)}
    else:
        names = dict(zip(record.__struct_fields__, record.__struct_encode_fields__, strict=True))
    for name, key in names.items():
        parts = typing.get_args(hints[name]) if _is_annotated(hints[name]) else (hints[name],)
        yield key, next((part for part in parts[1:] if isinstance(part, Meaning)), None), parts[0]


def _is_annotated(kind):
    return typing.get_origin(kind) is typing.Annotated


def _text(meaning, kind, of_keys=types.MappingProxyType({})):
    """What a key means, with the keys inside of it."""
    inner = _record_in(kind)
    what = meaning.what if meaning else "{keys}" if inner else ""
    notes = {**of_keys, **(meaning.of_keys if meaning else {})}
    return what.replace("{keys}", _keys(inner, notes)) if inner else what


def _keys(record, of_keys):
    """The keys of a record, each with its meaning in brackets."""
    shown = []
    for key, meaning, kind in _fields(record):
        text = of_keys.get(key) or _text(meaning, kind, of_keys)
        shown.append(f"`{key}` ({text})" if text else f"`{key}`")
    return ", ".join(shown)


def _record_in(kind):
    """The record of a type, of its items or of its values; None: there is none."""
    if isinstance(kind, type) and (
        dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct)
    ):
        return kind
    return next(filter(None, map(_record_in, typing.get_args(kind))), None)


_RECORDS = {
    "summary": summary.SummaryAnswer,
    "compare": compare.ComparisonAnswer,
    "side": compare.SideAnswer,
    "bar": explanation.BarAnswer,
    "fusion": explanation.FusionAnswer,
    "divided": modules.DividedAnswer,
    "finding": explanation.FindingAnswer,
    "sweep": sweep.SweepAnswer,
    "swept": capture_sweep.SweptAnswer,
    "try": experiment.ExperimentAnswer,
    "patch": patch.PatchAnswer,
    "memory": memory.MemoryAnswer,
    "telemetry": telemetry.TelemetryAnswer,
    "counters": counters.CountersAnswer,
    "ranks": ranks.RanksAnswer,
    "job": ranks.JobAnswer,
    "logs": logs.LogsAnswer,
    "gate": gate.GateAnswer,
    "run of the history": history.RunAnswer,
    "export": export.ExportAnswer,
    "audit": audit.AuditAnswer,
    "run": run.RunAnswer,
    "capture": capture_answer.CaptureAnswer,
    "doctor": doctor.DoctorAnswer,
}

_MOST_ARGUMENTS = 9  # of one tool, before its arguments stand elsewhere
# Records that json.md has -> what mcp.md calls them.
_OF_JSON = {
    summary.SummaryNumbers: "[summary](json.md#summary)",
    compare.CandidateNumbers: "a candidate of [compare](json.md#compare)",
    explanation.FusionTotals: "`fusion` of [compare](json.md#compare)",
    explanation.FindingDetails: "a finding of [compare](json.md#compare)",
    explanation.FindingHead: "a finding of [compare](json.md#compare)",
    explanation.BarHead: "a row of `waterfall` of [compare](json.md#compare)",
    explanation.GroupAnswer: "a group of `fusion` of [compare](json.md#compare)",
    overlap.OverlapRowAnswer: "a row of `overlap` of [compare](json.md#compare)",
    modules.ModuleAnswer: "`divided` of [compare](json.md#compare)",
    modules.OperatorAnswer: "`divided` of [compare](json.md#compare)",
    explanation.NotFusedAnswer: "`not_fused` of [compare](json.md#compare)",
    logs.GraphBreakAnswer: "`graph_breaks` of [logs](json.md#logs)",
    logs.CudaGraphAnswer: "`cudagraph_skips` of [logs](json.md#logs)",
    logs.CompilationAnswer: "`compilations` of [logs](json.md#logs)",
    memory.MemoryPeaks: "[memory](json.md#memory)",
    counters.CountersTotals: "[counters](json.md#counters)",
    counters.CountedKernel: "`kernels` of [counters](json.md#counters)",
    gate.GateAnswer: "[gate](json.md#gate)",
    patch.PatchAnswer: "[try --patch](json.md#try---patch)",
    ranks.RanksAnswer: "[ranks](json.md#ranks)",
    telemetry.TelemetryAnswer: "[telemetry](json.md#telemetry)",
    sweep.SweepAnswer: "[sweep](json.md#sweep)",
}

TABLES = {
    ("mcp.md", "tools"): tools_table,
    ("mcp.md", "keys"): tool_keys_table,
    ("json.md", "candidate"): partial(
        record_table, compare.CandidateAnswer, beside=compare.SideAnswer
    ),
    ("json.md", "actions"): actions_table,
    **{("json.md", name): partial(record_table, record) for name, record in _RECORDS.items()},
    ("backends.md", "backends"): backends_table,
    ("capture.md", "options"): options_table,
    ("sweeps.md", "options"): sweep_table,
    ("deploy.md", "metrics"): metrics_table,
    ("python.md", "figures"): partial(names_table, "figure", FIGURES),
    ("python.md", "tables"): partial(names_table, "table", TABLES_BY_NAME),
    ("python.md", "names"): api_reference,
}


def written(page, name):
    """The text of the page with this table as it is declared now."""
    text = (DOCS / page).read_text("utf-8")
    start, end = f"<!-- {name}: written by make tables -->\n", "<!-- end -->"
    pattern = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
    table = TABLES[page, name]()
    text, n = pattern.subn(lambda _: f"{start}\n{table}\n{end}", text)
    assert n == 1, f"docs/{page} has {n} places for the table {name}"
    return text


def _table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") + "\n" for cells in lines)


def main():
    """Write all of them."""
    for page, name in TABLES:
        (DOCS / page).write_text(written(page, name), "utf-8")


if __name__ == "__main__":
    main()

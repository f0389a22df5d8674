"""An inference server's steps by phase and batch size, as rows; two runs side by side in a cell."""

from collections.abc import Callable, Sequence

from profiler_core.analysis.graph_replays.phases import ServerPhase
from profiler_core.analysis.rows.table import Cell, Table
from profiler_core.units import format_count, format_duration, format_share

TITLE = "Steps of the server"
MEANING = (
    "By phase and batch size, the size that a replayed graph is padded to; per step, profiled. The "
    "step lasts until the next one begins; the device waits for the rest of it."
)

_PHASES = {"prefill": "prefill", "mixed": "prefill and decode", "decode": "decode"}
# What a server's engineer asks for; the rest of the categories is one column.
_KINDS = {
    "Products": ("gemm", "triton_template_gemm"),
    "Attention": ("attention", "triton_template_attention"),
    "Communication": ("communication",),
}
_NONE = "–"

_Value = Callable[[ServerPhase], str]


def server_table(runs: Sequence[Sequence[ServerPhase]]) -> Table:
    """A row for each phase and batch size that a run has; a value for each run, in their order.

    Args:
        runs: `server_phases` of each; the baseline's first.
    """
    phases = [{(phase.phase, phase.batch): phase for phase in run} for run in runs]
    keys = list(dict.fromkeys(key for run in phases for key in run))
    every = [phase for run in runs for phase in run]
    columns = {
        head: value
        for head, value in _COLUMNS.items()
        if head not in _KINDS or any(_kind_ns(phase, _KINDS[head]) for phase in every)
    }
    rows = []
    for key in keys:
        of_runs = [run.get(key) for run in phases]
        name, batch = key
        label = _PHASES[name] + (f", {format_count(batch)}" if batch is not None else "")
        below = tuple(
            f"{text} {_unit(unit, of_runs)}"
            for unit, value in _BELOW.items()
            if (text := _values(of_runs, value)).strip(f"{_NONE} →")
        )
        values = (Cell(_values(of_runs, value)) for value in columns.values())
        rows.append((Cell(label, below=below), *values))
    return Table(("Phase, batch", *columns), tuple(rows))


def _unit(unit: str, phases: Sequence[ServerPhase | None]) -> str:
    is_one = unit == "steps" and all(phase is None or phase.n_steps == 1 for phase in phases)
    return "step" if is_one else unit


def _values(phases: Sequence[ServerPhase | None], value: _Value) -> str:
    return " → ".join(_NONE if phase is None else value(phase) for phase in phases)


def _kind_ns(phase: ServerPhase, categories: Sequence[str]) -> float:
    return sum(phase.by_category_ns.get(category, 0.0) for category in categories)


def _of_kind(categories: Sequence[str]) -> _Value:
    return lambda phase: format_duration(_kind_ns(phase, categories))


def _rest(phase: ServerPhase) -> str:
    named = {category for categories in _KINDS.values() for category in categories}
    rest = sum(ns for name, ns in phase.by_category_ns.items() if name not in named)
    return format_duration(rest)


def _replayed(phase: ServerPhase) -> str:
    return format_share(phase.replayed_ns / phase.kernel_ns) if phase.kernel_ns else _NONE


_COLUMNS: dict[str, _Value] = {
    "Step": lambda phase: format_duration(phase.step_ns),
    "Device busy": lambda phase: format_duration(phase.busy_ns),
    "Device waits": lambda phase: format_duration(phase.host_ns),
    **{label: _of_kind(categories) for label, categories in _KINDS.items()},
    "Other kernels": _rest,
    "Replayed": _replayed,
}
_BELOW: dict[str, _Value] = {
    "steps": lambda phase: format_count(phase.n_steps),
    "tokens/s": lambda phase: (
        _NONE if phase.tokens_per_s is None else format_count(round(phase.tokens_per_s))
    ),
    "padding": lambda phase: format_share(phase.padding) if phase.padding else _NONE,
}

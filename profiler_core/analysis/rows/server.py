"""An inference server's steps by phase and batch size, as rows; two runs side by side in a cell."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from profiler_core.analysis.graph_replays.kinds import Kind
from profiler_core.analysis.graph_replays.phases import Bucket, ServerPhase, StartedAs
from profiler_core.analysis.graph_replays.servers import Phase
from profiler_core.analysis.rows.table import Cell, Table
from profiler_core.analysis.wording.sentence import counted
from profiler_core.units import format_count, format_duration, format_share, format_share_of

TITLE = "Steps of the server"
MEANING = (
    "By phase and batch size, the size that a replayed graph is padded to; per step, profiled. The "
    "step lasts until the next one begins; the device waits while no kernel of it runs. Between "
    "steps: the host, from the end of one to the start of the next. One graph is a full replay, "
    "more are piecewise; single calls are what the host launches one by one."
)
_LAUNCHING = (
    "How much of these pauses launching causes is not known: the host prepares inputs and reads "
    "results in them too, the profiler slows it, and a replayed graph pauses between its kernels "
    "as well."
)

_PHASES: dict[Phase, str] = {
    "prefill": "prefill",
    "mixed": "prefill and decode",
    "decode": "decode",
}
_KINDS: dict[str, Kind] = {
    "Products": "products",
    "MoE": "moe",
    "Attention": "attention",
    "Communication": "communication",
    "Sampling": "sampling",
}
_STARTED: dict[StartedAs, str] = {
    "eager": "runs eager",
    "piecewise": "runs piecewise",
    "replayed": "is replayed as one graph",
    "differs": "is replayed as one graph in some steps only",
}
_NONE = "–"
_ARROW = " → "
_MOST_IN_A_CELL = 2  # runs

_Value = Callable[[ServerPhase], str]


def bucket_name(bucket: Bucket) -> str:
    """`decode, 32`: what the steps of one phase and batch size are called."""
    phase, batch = bucket
    return _PHASES[phase] + (f", {format_count(batch)}" if batch is not None else "")


def server_sentences(phases: Sequence[ServerPhase], label: str = "") -> tuple[str, ...]:
    """What the table does not say: a trace that begins within a step, and steps without a graph.

    Args:
        phases: of one run.
        label: what the run is called, where there are several.
    """
    return (*_before(phases, label), *_launching(phases, label))


def _before(phases: Sequence[ServerPhase], label: str) -> Iterator[str]:
    """For how long the device finishes a step that began before the trace."""
    for phase in phases:
        if phase.before_ns:
            yield (
                f"{label}{': ' if label else ''}the trace begins within a step: for "
                f"{format_duration(phase.before_ns * phase.n_steps)} of the first of "
                f"{bucket_name(phase.bucket)} the device finishes the one before, and this counts "
                "as neither busy nor waiting."
            )


def _launching(phases: Sequence[ServerPhase], label: str) -> tuple[str, ...]:
    """What it costs that steps are not replayed as one graph: a sentence for each such batch."""
    sentences = []
    for phase in phases:
        if phase.started_as == "replayed" or not phase.kernel_ns:
            continue
        share = format_share_of(phase.gaps_ns, phase.step_ns) if phase.step_ns else _NONE
        beside = _replayed_beside(phase, phases)
        against = (
            "no step of this phase is replayed as one graph, so how much of it a replay would "
            "save is not known."
            if beside is None
            else f"{bucket_name(beside.bucket)}, which is replayed as one graph, has "
            f"{format_duration(beside.gaps_ns)} between them."
        )
        around_ns = max(0.0, phase.host_ns - phase.gaps_ns)
        graphs, calls = round(phase.n_graph_launches), round(phase.n_launched)
        sentences.append(
            f"{label}{': ' if label else ''}{bucket_name(phase.bucket)} "
            f"{_STARTED[phase.started_as]} "
            f"({counted(graphs, 'graph')} and {counted(calls, 'single call')} per step): between "
            "the first and the last kernel of a step none runs for "
            f"{format_duration(phase.gaps_ns)} ({share} of the step), "
            f"before and after them for {format_duration(around_ns)}; "
            f"{against}"
        )
    return (*sentences, _LAUNCHING) if sentences else ()


def _replayed_beside(phase: ServerPhase, phases: Sequence[ServerPhase]) -> ServerPhase | None:
    """The replayed batch of the same phase that is nearest in size."""
    others = [
        other
        for other in phases
        if other.phase == phase.phase and other.started_as == "replayed" and other.kernel_ns
    ]
    return min(others, key=lambda other: abs((other.batch or 0) - (phase.batch or 0)), default=None)


def server_table(runs: Sequence[Sequence[ServerPhase]], labels: Sequence[str] = ()) -> Table:
    """A row for each phase and batch size that a run has.

    A cell holds the values of up to two runs, in their order; of more, each has a row of its own.

    Args:
        runs: `server_phases` of each; the baseline's first.
        labels: what they are called; needed for more than two.
    """
    phases = [{phase.bucket: phase for phase in run} for run in runs]
    keys = list(dict.fromkeys(key for run in phases for key in run))
    every = [phase for run in runs for phase in run]
    columns = {
        head: value
        for head, value in _COLUMNS.items()
        if not every or head not in _MAY_BE_MISSING or any(value(p) != _NONE for p in every)
    }
    rows = []
    for key in keys:
        of_runs = [run.get(key) for run in phases]
        label = bucket_name(key)
        if len(runs) <= _MOST_IN_A_CELL:
            rows.append((Cell(label, below=_below(of_runs)), *_cells(of_runs, columns)))
        else:
            rows.extend(_row_of_each(label, labels, of_runs, columns))
    run = ("Run",) if len(runs) > _MOST_IN_A_CELL else ()
    return Table(("Phase, batch", *run, *columns), tuple(rows))


def _row_of_each(
    label: str,
    labels: Sequence[str],
    phases: Sequence[ServerPhase | None],
    columns: Mapping[str, _Value],
) -> Iterator[tuple[Cell, ...]]:
    """A row for each run that has the phase; the first one names it."""
    for name, phase in zip(labels, phases, strict=True):
        if phase is not None:
            yield Cell(label), Cell(name, below=_below([phase])), *_cells([phase], columns)
            label = ""


def _cells(phases: Sequence[ServerPhase | None], columns: Mapping[str, _Value]) -> tuple[Cell, ...]:
    return tuple(Cell(_ARROW.join(_texts(phases, value))) for value in columns.values())


def _below(phases: Sequence[ServerPhase | None]) -> tuple[str, ...]:
    """How many steps there are, and what they decode."""
    return tuple(
        f"{_ARROW.join(texts)} {_unit(unit, texts)}"
        for unit, value in _BELOW.items()
        if set(texts := _texts(phases, value)) != {_NONE}
    )


def _unit(unit: str, texts: Sequence[str]) -> str:
    """The singular where no run has another number than 1: "1 step", "– → 1 graph"."""
    return _SINGULAR.get(unit, unit) if set(texts) <= {"1", _NONE} else unit


def _texts(phases: Sequence[ServerPhase | None], value: _Value) -> list[str]:
    return [_NONE if phase is None else value(phase) for phase in phases]


def _of_kind(kind: Kind) -> _Value:
    return lambda phase: format_duration(phase.by_kind_ns.get(kind))


def _replayed(phase: ServerPhase) -> str:
    return format_share_of(phase.replayed_ns, phase.kernel_ns) if phase.kernel_ns else _NONE


_COLUMNS: dict[str, _Value] = {
    "Step": lambda phase: format_duration(phase.step_ns),
    "Device busy": lambda phase: format_duration(phase.busy_ns),
    "Device waits": lambda phase: format_duration(phase.host_ns),
    "Between steps": lambda phase: format_duration(phase.between_ns),
    **{label: _of_kind(kind) for label, kind in _KINDS.items()},
    "Other kernels": _of_kind("rest"),
    "Replayed": _replayed,
}
_MAY_BE_MISSING = (*_KINDS, "Between steps")
_SINGULAR = {"steps": "step", "graphs": "graph", "single calls": "single call"}
_BELOW: dict[str, _Value] = {
    "steps": lambda phase: format_count(phase.n_steps),
    "graphs": lambda phase: format_count(round(phase.n_graph_launches)),
    "single calls": lambda phase: format_count(round(phase.n_launched)),
    "tokens/s": lambda phase: (
        _NONE if phase.tokens_per_s is None else format_count(round(phase.tokens_per_s))
    ),
    "padding": lambda phase: format_share(phase.padding) if phase.padding else _NONE,
}

"""Modules that fall together: parts of a model that are one compiled code, called several times.

Six blocks of one class, called by a loop and compiled as frames of their own, are graphs whose
`self` is the block. Neither the log nor the trace says of which block a call is, nor whether it is
always the same one, so `qkv` stands for one of six modules or for six.

Likewise a part that the log names: its path is that of the call that compiled it, and the compiled
code is entered by every equal part. Entered more often than the model itself, it is nobody's alone.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from profiler_core.analysis.ledger.graph_calls import Execution
from profiler_core.analysis.ledger.sides import ReadSide
from profiler_core.analysis.span import Span
from profiler_core.model.inductor import CompiledGraph


def merged_calls(sides: Iterable[ReadSide]) -> dict[str, int]:
    """Path of a module -> calls per step that fall together in it, at least two of them.

    Of steps that differ it is the most.
    """
    most: dict[str, int] = {}
    for side in sides:
        for executions in side.executions:
            for module, n in _of_step(executions, side.modules).items():
                if n > 1:
                    most[module] = max(n, most.get(module, 0))
    return most


def merged_parts(sides: Iterable[ReadSide]) -> tuple[str, ...]:
    """Paths of the parts that the log names and that equal parts enter too."""
    return tuple(
        dict.fromkeys(
            graph.module
            for side in sides
            for executions in side.executions
            for graph in _shared_graphs(executions)
            if not graph.is_unnamed
        )
    )


def merged_with_holders(
    paths: Sequence[str],
    above: Callable[[str], str],
    calls: Mapping[str, int],
    parts: Collection[str] = (),
) -> dict[str, int]:
    """Calls that fall together in each module, where they do in all that lies in it.

    Args:
        paths: of modules, each after what holds it.
        above: the path that a path lies right below.
        calls: of the modules that a compiled block names.
        parts: `merged_parts`; what holds one of them is known.
    """
    inside: dict[str, list[str]] = {}
    merged: dict[str, int] = {}
    for path in reversed(paths):
        inner = inside.get(path, [])
        holds_known = any(each not in merged or each in parts for each in inner)
        if (inner or path in calls) and not holds_known:
            merged[path] = max(calls.get(path, 0), *(merged[each] for each in inner), 0)
        inside.setdefault(above(path), []).append(path)
    return merged


def merged_of(modules: Iterable[str], merged: Mapping[str, int]) -> int | None:
    """Calls of several modules together, one of each that is known; None: all are known."""
    paths = tuple(modules)
    if merged.keys().isdisjoint(paths):
        return None
    return sum(merged.get(path, 1) for path in paths)


def merged_note(calls: Mapping[str, int], span: Span) -> tuple[str, ...]:
    """That modules fall together, in a sentence."""
    if not calls:
        return ()
    return (
        f"{fall_together(max(calls.values()), span)}: no file says of which of the model's "
        "blocks a call is, so equal modules in them are counted as calls.",
    )


def fall_together(n: int, span: Span) -> str:
    """That so many calls do, as the beginning of a sentence."""
    return f"{n} calls {span} of one compiled block fall together"


def _of_step(
    executions: Sequence[Execution], modules: Mapping[int, Mapping[str, str]]
) -> Counter[str]:
    """Calls of parts by module, where those of several modules may be among them.

    A call runs each graph that DDP cut the frame into once, and the code of one compilation.
    """
    of_code = _calls_of_codes(executions)
    named: dict[str, int] = {}
    within: dict[str, set[str]] = {}
    codes: dict[str, set[str]] = {}
    for graph in _shared_graphs(executions):
        inside, code, part = modules[id(graph)].values(), graph.compile_id, graph.module
        if graph.is_unnamed:
            within.setdefault(_frame(code), set()).update(inside)
            codes.setdefault(_frame(code), set()).add(code)
            continue
        # A call of a part with graph breaks runs several frames.
        for path in (part, *(path for module in inside for path in _down_to(module, part))):
            named[path] = max(of_code[code], named.get(path, 0))
    calls = Counter(named)
    for frame, paths in within.items():
        calls.update(dict.fromkeys(paths, sum(of_code[code] for code in codes[frame])))
    return calls


def _shared_graphs(executions: Sequence[Execution]) -> list[CompiledGraph]:
    """The graphs of a step that calls of several modules may have run, each once."""
    graphs = {id(graph): graph for graph in _forward_graphs(executions)}
    of_code = _calls_of_codes(executions)
    n_model_calls = _n_model_calls(executions)
    return [
        graph
        for graph in graphs.values()
        if graph.is_unnamed or (graph.module and of_code[graph.compile_id] > n_model_calls)
    ]


def _calls_of_codes(executions: Sequence[Execution]) -> dict[str, int]:
    """Compilation -> how often a step runs its code."""
    n_runs = Counter(id(graph) for graph in _forward_graphs(executions))
    of_code: dict[str, int] = {}
    for graph in _forward_graphs(executions):
        of_code[graph.compile_id] = max(n_runs[id(graph)], of_code.get(graph.compile_id, 0))
    return of_code


def _n_model_calls(executions: Sequence[Execution]) -> int:
    """How often a step calls the model itself: runs of its first frame; 1 where none is compiled.

    Gradient accumulation calls it several times, and each of its parts as often.
    """
    first = next(
        (g for g in _forward_graphs(executions) if not g.module and not g.is_unnamed), None
    )
    if first is None:
        return 1
    frame = _frame(first.compile_id)
    return sum(n for code, n in _calls_of_codes(executions).items() if _frame(code) == frame)


def _forward_graphs(executions: Sequence[Execution]) -> Iterator[CompiledGraph]:
    """The graph of each run of a step but those of the backward, in order."""
    for execution in executions:
        if execution.graph is not None and execution.graph.direction != "backward":
            yield execution.graph


def _down_to(path: str, part: str) -> Iterator[str]:
    """A module and what it lies in, as far as that lies in a part of the model."""
    while path.startswith(f"{part}."):
        yield path
        path = path.rpartition(".")[0]


def _frame(compile_id: str) -> str:
    """What all compilations of one function share: "4" of "4/1"."""
    return compile_id.partition("/")[0]

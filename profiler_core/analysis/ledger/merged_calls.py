"""Modules that fall together: parts of a model that are one compiled code, called several times.

Six blocks of one class, called by a loop and compiled as frames of their own, are graphs whose
`self` is the block. Neither the log nor the trace says of which block a call is, nor whether it is
always the same one, so `qkv` stands for one of six modules or for six.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from profiler_core.analysis.ledger.graph_calls import Execution
from profiler_core.analysis.ledger.sides import ReadSide


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


def merged_with_holders(
    paths: Sequence[str], above: Callable[[str], str], calls: Mapping[str, int]
) -> dict[str, int]:
    """Calls that fall together in each module, where they do in all that lies in it.

    Args:
        paths: of modules, each after what holds it.
        above: the path that a path lies right below.
        calls: of the modules that a compiled block names.
    """
    inside: dict[str, list[str]] = {}
    merged: dict[str, int] = {}
    for path in reversed(paths):
        inner = inside.get(path, [])
        if (inner or path in calls) and all(each in merged for each in inner):
            merged[path] = max(calls.get(path, 0), *(merged[each] for each in inner), 0)
        inside.setdefault(above(path), []).append(path)
    return merged


def merged_of(modules: Iterable[str], merged: Mapping[str, int]) -> int | None:
    """Calls of several modules together, one of each that is known; None: all are known."""
    paths = tuple(modules)
    if merged.keys().isdisjoint(paths):
        return None
    return sum(merged.get(path, 1) for path in paths)


def merged_note(calls: Mapping[str, int]) -> tuple[str, ...]:
    """That modules fall together, in a sentence."""
    if not calls:
        return ()
    return (
        f"{max(calls.values())} calls per step of one compiled block fall together: no file says "
        "of which of the model's blocks a call is, so equal modules in them are counted as calls.",
    )


def _of_step(
    executions: Sequence[Execution], modules: Mapping[int, Mapping[str, str]]
) -> Counter[str]:
    """Calls of unnamed parts by module.

    A call runs each graph that DDP cut the frame into once, and the code of one compilation.
    """
    n_runs: Counter[int] = Counter()
    graphs = {}
    for execution in executions:
        graph = execution.graph
        if graph is not None and graph.is_unnamed and graph.direction != "backward":
            n_runs[id(graph)] += 1
            graphs[id(graph)] = graph
    of_code: dict[str, int] = {}
    within: dict[str, set[str]] = {}
    for key, graph in graphs.items():
        of_code[graph.compile_id] = max(n_runs[key], of_code.get(graph.compile_id, 0))
        within.setdefault(_frame(graph.compile_id), set()).update(modules[key].values())
    of_frame: Counter[str] = Counter()
    for compile_id, n in of_code.items():
        of_frame[_frame(compile_id)] += n
    calls: Counter[str] = Counter()
    for frame, paths in within.items():
        calls.update(dict.fromkeys(paths, of_frame[frame]))
    return calls


def _frame(compile_id: str) -> str:
    """What all compilations of one function share: "4" of "4/1"."""
    return compile_id.partition("/")[0]

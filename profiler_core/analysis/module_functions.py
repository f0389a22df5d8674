"""The functions of the user's code that modules run, by the Python calls of a trace."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from profiler_core.analysis.memory.frames import MODULE_CALL, function_of
from profiler_core.model.trace import Trace

_MOST_CALLS = 200_000  # of modules and the user's functions: a step of a large model


@dataclass(frozen=True)
class ModuleFunctions:
    """What runs in a module's calls: `resnet.py:143 forward`, by the line where it begins."""

    own: tuple[str, ...] = ()  # that it calls itself, the first before the others
    around: tuple[str, ...] = ()  # the innermost that call it, where itself runs torch's code alone


@dataclass(frozen=True)
class _Call:
    """An open call."""

    end_ns: int
    module: str  # path of the innermost module
    function: str  # the innermost function of the user's


@dataclass
class _Found:
    own: dict[str, None] = field(default_factory=dict)
    around: dict[str, None] = field(default_factory=dict)


def module_functions(trace: Trace) -> Mapping[str, ModuleFunctions]:
    """Path of a module, as the ledger names it by its calls -> its functions; {} without calls."""
    names = trace.python["name"].unique().cast(pl.String).drop_nulls()
    functions = {name: text for name in names if (text := function_of(name))}
    modules = [name for name in names if name.startswith(MODULE_CALL)]
    if not modules:
        return {}
    calls = (
        trace.python.with_columns(pl.col("name").cast(pl.String))
        .filter(pl.col("name").is_in([*functions, *modules]))
        .sort("ts_ns", "dur_ns", descending=[False, True])
        .head(_MOST_CALLS)
        .select("pid", "tid", "ts_ns", "dur_ns", "name")
    )
    return {
        path: ModuleFunctions(tuple(of.own), () if of.own else tuple(of.around))
        for path, of in _found(calls.iter_rows(), functions).items()
    }


def _found(
    calls: Iterable[tuple[int, int, int, int, str]], functions: Mapping[str, str]
) -> dict[str, _Found]:
    """Of calls in the order of time, the outer of two that begin together first."""
    found: dict[str, _Found] = {}
    open_calls: dict[tuple[int, int], list[_Call]] = {}
    for pid, tid, ts_ns, dur_ns, name in calls:
        above = open_calls.setdefault((pid, tid), [])
        while above and above[-1].end_ns <= ts_ns:
            above.pop()
        module, function = (above[-1].module, above[-1].function) if above else ("", "")
        if name in functions:
            function = functions[name]
            if module:
                found[module].own[function] = None
        else:
            module = ".".join(filter(None, (module, name.removeprefix(MODULE_CALL))))
            of_module = found.setdefault(module, _Found())
            if function:
                of_module.around[function] = None
        above.append(_Call(ts_ns + dur_ns, module, function))
    return found

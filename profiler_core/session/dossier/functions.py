"""The functions of the user's code that call a thing, and the dossier of such a function."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from profiler_core.analysis.dossier.record import Dossier, Related, Relation, RunTime
from profiler_core.analysis.item import Item, kernel_item, name_key, operator_item, source_item
from profiler_core.analysis.user_functions import work_in_functions, work_of_operator
from profiler_core.analysis.wording.dossier import PythonCalls, times_answer
from profiler_core.analysis.wording.places import LINES_IN_A_FUNCTION, function_about
from profiler_core.analysis.work import device_work
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import MOST_RELATED, per_step, slowest_first
from profiler_core.session.pair import Pair

_SENTENCES = {
    "functions": "The innermost of your code around each call, by the line where it begins.",
    "operators": "",
    "kernels": "",
}

WorkOfRuns = Mapping[int, pl.DataFrame]  # place of a run with Python calls -> its work in functions


def work_of_runs(comparison: Comparison) -> WorkOfRuns:
    """What functions of the user's code launch in each run whose trace has Python calls."""
    return {
        number: work_in_functions(comparison.runs[number].required_trace())
        for number in _with_calls(comparison)
    }


def functions_of_kernel(comparison: Comparison, name: str) -> tuple[Relation, ...]:
    """The functions in which a kernel or copy is launched; () where no Python call tells."""
    return _functions(
        comparison,
        {
            number: work.filter(pl.col("name") == name)
            for number, work in work_of_runs(comparison).items()
        },
    )


def functions_of_operator(comparison: Comparison, name: str) -> tuple[Relation, ...]:
    """The functions that call an operator, with what these calls start; () as above."""
    return _functions(
        comparison,
        {
            number: work_of_operator(comparison.runs[number].required_trace(), name)
            for number in _with_calls(comparison)
        },
    )


def functions_of_group(comparison: Comparison, pair: Pair, number: int) -> tuple[Relation, ...]:
    """The functions in which the work of a fusion group is launched; () as above."""
    works = {}
    ledger, calls = pair.ledger, work_of_runs(comparison)
    sides = (0, ledger.baseline_group), (pair.number + 1, ledger.candidate_group)
    for run, group_of in sides:
        trace = comparison.runs[run].worked_trace
        is_its = trace is not None and device_work(trace).height == group_of.size
        if is_its and run in calls:
            rows = np.flatnonzero(group_of == number)
            works[run] = calls[run].filter(pl.col("row").is_in(rows.tolist()))
    return _functions(comparison, works)


def python_calls(comparison: Comparison, functions: Sequence[object]) -> PythonCalls:
    """What Python calls tell of a thing, whose `functions` are what they tell, if anything."""
    return "around" if functions else "elsewhere" if _with_calls(comparison) else ""


def function_dossier(comparison: Comparison, item: Item) -> Dossier | None:
    """What a function of the user's code launches, by the line where it begins.

    Returns:
        None: no Python call of a trace is of a function that begins there and launches work.
    """
    works = {
        number: work.filter(pl.col("place").is_in(_places(work, item)))
        for number, work in work_of_runs(comparison).items()
    }
    every = [work for work in works.values() if work.height]
    if not every:
        return None
    title = every[0]["place"][0]
    names = pl.concat([work["function"] for work in every]).unique(maintain_order=True).to_list()
    times = tuple(
        RunTime(
            number, comparison.labels[number],
            per_step(comparison, number, sum(work["dur_ns"])) if work.height else None,
            per_step(comparison, number, work.height) if work.height else None,
        )
        for number, work in works.items()
    )  # fmt: skip
    called = {f"{title} {name}" for name in names}
    return Dossier(
        item=item,
        kind="source line",
        title=title,
        answer=times_answer(times, comparison.span),
        about=(function_about(names),),
        times=times,
        modules=tuple(
            dict.fromkeys(
                module
                for number in works
                for module, of_module in comparison.runs[number].module_functions.items()
                if not called.isdisjoint(of_module.own)
            )
        ),
        relations=(
            _related(comparison, works, "operators", "operator"),
            _related(comparison, works, "kernels", "name"),
        ),
        missing=(LINES_IN_A_FUNCTION,),
    )


def _with_calls(comparison: Comparison) -> tuple[int, ...]:
    """Places of the runs whose traces have Python calls."""
    return tuple(
        number
        for number in comparison.traced
        if comparison.runs[number].required_trace().python.height
    )


def _places(work: pl.DataFrame, item: Item) -> list[str]:
    return [place for place in work["place"].unique() if name_key(place) == item.key]


def _functions(comparison: Comparison, works: WorkOfRuns) -> tuple[Relation, ...]:
    named = {
        number: work.with_columns(text=pl.col("place") + " " + pl.col("function"))
        for number, work in works.items()
    }
    places = {
        text: place
        for work in named.values()
        for text, place in work.select("text", "place").unique(maintain_order=True).iter_rows()
    }
    relation = _related(comparison, named, "functions", "text", places)
    return (relation,) if relation.entries else ()


def _related(
    comparison: Comparison,
    works: WorkOfRuns,
    kind: Literal["operators", "kernels", "functions"],
    by: str,
    places: Mapping[str, str] | None = None,
) -> Relation:
    """The time per step of some work of each run, by a column; the slowest first.

    Args:
        comparison: of the runs.
        works: of the runs that are its heads.
        kind: of the relation.
        by: the column with the names.
        places: of functions, by these names.
    """
    times: dict[str, list[float | None]] = {}
    for side, (number, work) in enumerate(works.items()):
        sums = work.drop_nulls(by).group_by(by, maintain_order=True).agg(pl.col("dur_ns").sum())
        for name, ns in sums.iter_rows():
            of_runs = times.setdefault(name, [None] * len(works))
            of_runs[side] = per_step(comparison, number, ns)

    def item_of(name: str) -> Item:
        if places is not None:
            return source_item(places[name])
        return operator_item(name) if kind == "operators" else kernel_item(name)

    entries = slowest_first(
        Related(name, item_of(name), times_ns=tuple(of_runs)) for name, of_runs in times.items()
    )
    heads = tuple(comparison.labels[number] for number in works)
    return Relation(
        kind, heads, tuple(entries[:MOST_RELATED]), _SENTENCES[kind],
        max(0, len(entries) - MOST_RELATED),
    )  # fmt: skip

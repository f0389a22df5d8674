"""Which layers and operators take the time, for agents.

As in `tools.py`, names, docstrings and parameters are what it reads.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from profiler_core.agents.answer import FEW_ROWS, Page, page
from profiler_core.agents.runs import Candidate, pair_or_run
from profiler_core.analysis.graph_replays.phases import Bucket
from profiler_core.analysis.rows.server import bucket_name
from profiler_core.answers.modules import (
    ModuleAnswer,
    OperatorAnswer,
    TablesAnswer,
    bucket_answer,
    tables_answer,
)
from profiler_core.answers.record import means
from profiler_core.errors import BadInput

By = Literal["module", "class", "operator"]


class ModulesPage(Page, frozen=True):
    """Modules or operators."""

    n_steps: Annotated[tuple[int, int], means("profiled steps of either side")]
    rows: tuple[ModuleAnswer | OperatorAnswer, ...]


def modules(
    baseline: str,
    candidate: Candidate = "",
    by: By = "module",
    contains: str = "",
    steps: str = "",
    offset: int = 0,
    limit: int = FEW_ROWS,
) -> ModulesPage:
    """Device time of both runs by nn.Module, by class of module or by operator.

    The candidate's most expensive first; totals over the profiled steps, in ns, with what lies
    below a module. Without a candidate of the run alone, on both sides. contains: words that the
    path, class or operator must have, such as "ln_1 h.3". steps: of an inference server those of
    one phase and batch size, such as "decode 32".
    """
    shown = pair_or_run(baseline, candidate)
    if steps:
        answer: TablesAnswer = bucket_answer(shown, _bucket_called(steps, shown.server_buckets))
    else:
        answer = tables_answer(shown.divided)
    of_modules = answer.by_class if by == "class" else answer.modules
    rows: Sequence[ModuleAnswer | OperatorAnswer]
    rows = answer.operators if by == "operator" else of_modules
    words = contains.lower().split()
    wanted = [row for row in rows if all(word in _searched(row) for word in words)]
    wanted.sort(key=lambda row: -row.candidate_ns)
    return page(ModulesPage, wanted, offset, limit, answer)


def _bucket_called(name: str, buckets: Sequence[Bucket]) -> Bucket:
    """The phase and batch size with a name, with or without its comma."""
    words = name.lower().replace(",", " ").split()
    for bucket in buckets:
        if bucket_name(bucket).replace(",", " ").split() == words:
            return bucket
    there = "; ".join(map(bucket_name, buckets)) or "none: no server wrote these traces"
    raise BadInput(
        f"There are no steps called {name[:80]}.", remedy=f"Leave steps empty, or take of: {there}."
    )


def _searched(row: ModuleAnswer | OperatorAnswer) -> str:
    return (row.op if isinstance(row, OperatorAnswer) else f"{row.path} {row.class_}").lower()


MODULES = (modules,)

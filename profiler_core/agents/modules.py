"""Which layers and operators take the time, for agents.

As in `tools.py`, names, docstrings and parameters are what it reads.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from profiler_core.agents.answer import FEW_ROWS, Page, page
from profiler_core.agents.runs import Candidate, pair_of
from profiler_core.answers.modules import ModuleAnswer, OperatorAnswer, divided_answer
from profiler_core.answers.record import means

By = Literal["module", "class", "operator"]


class ModulesPage(Page, frozen=True):
    """Modules or operators."""

    n_steps: Annotated[tuple[int, int], means("profiled steps of either side")]
    rows: tuple[ModuleAnswer | OperatorAnswer, ...]


def modules(
    baseline: str,
    candidate: Candidate,
    by: By = "module",
    contains: str = "",
    offset: int = 0,
    limit: int = FEW_ROWS,
) -> ModulesPage:
    """Device time of both runs by nn.Module, by class of module or by operator.

    The candidate's most expensive first; totals over the profiled steps, in ns, with what lies
    below a module. contains: words that the path, class or operator must have, such as
    "ln_1 h.3".
    """
    answer = divided_answer(pair_of(baseline, candidate).divided)
    of_modules = answer.by_class if by == "class" else answer.modules
    rows: Sequence[ModuleAnswer | OperatorAnswer]
    rows = answer.operators if by == "operator" else of_modules
    words = contains.lower().split()
    wanted = [row for row in rows if all(word in _searched(row) for word in words)]
    wanted.sort(key=lambda row: -row.candidate_ns)
    return page(ModulesPage, wanted, offset, limit, answer)


def _searched(row: ModuleAnswer | OperatorAnswer) -> str:
    return (row.op if isinstance(row, OperatorAnswer) else f"{row.path} {row.class_}").lower()


MODULES = (modules,)

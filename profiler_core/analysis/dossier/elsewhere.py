"""What of an operator's own calls the ledger has under other operators.

Calls inside of other operators are these operators' work, and what a run calls in place of those
that name the rows (mostly the baseline's) is what became of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.dossier.callers import callers_beside
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.operators import worked_for
from profiler_core.model.trace import Trace

SAME_TIME = 1e-3  # what sums of the same calls differ by at most, relative


@dataclass(frozen=True)
class CountedElsewhere:
    """Of an operator's own calls in a run, what counts under others. Times per step, ns."""

    label: str  # of the run
    calls_ns: float  # of all its calls
    inside_ns: float = 0.0  # of those inside of other operators,
    callers: tuple[str, ...] = ()  # which are these
    replacing_ns: float = 0.0  # of those that do what others of the other run do,
    replaced: tuple[str, ...] = ()  # which are these
    is_here_too: bool = False  # the latter count in its own time as well


def counted_elsewhere(
    label: str,
    trace: Trace,
    name: str,
    calls_ns: float,
    groups: Sequence[FusionGroup],
    side: int,
    naming: int,
    *,
    is_here_too: bool,
) -> CountedElsewhere | None:
    """What of its calls in one run the ledger has under other operators; None: nothing.

    Where all calls are inside of others, `callers_of` tells it.

    Args:
        label: of the run.
        trace: of the run.
        name: of the operator.
        calls_ns: of all its calls, per step.
        groups: of the ledger that have it on either side.
        side: which of a group's is the run's.
        naming: the side that names the rows of operators, see `naming_side`.
        is_here_too: calls that replace others count in the operator's own time as well.
    """
    outermost_ns = _named_ns(groups, name, side)
    if not outermost_ns:
        return None
    inside_ns = calls_ns - outermost_ns
    callers = callers_beside(trace, name) if inside_ns > SAME_TIME * calls_ns else ()
    others = [group for group in groups if name not in _names(group, naming)]
    replacing_ns = _named_ns([group for group in others if _names(group, naming)], name, side)
    if not callers and not replacing_ns:
        return None
    replaced = {
        op: None
        for group in others
        if _names(group, naming) and _named_ns([group], name, side)
        for op in worked_for(group, naming)[name]
    }
    return CountedElsewhere(
        label,
        calls_ns,
        inside_ns if callers else 0.0,
        callers,
        replacing_ns,
        tuple(replaced),
        is_here_too=is_here_too and replacing_ns > 0,
    )


def _named_ns(groups: Sequence[FusionGroup], name: str, side: int) -> float:
    """Time of one side's operators of a name, ns per step."""
    return sum(
        group.per_step(operator.time_ns, side)
        for group in groups
        for operator in (group.baseline, group.candidate)[side].operators
        if operator.op == name
    )


def _names(group: FusionGroup, naming: int) -> list[str]:
    return [operator.op for operator in (group.baseline, group.candidate)[naming].operators]

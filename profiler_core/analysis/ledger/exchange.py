"""What ranks exchange: collectives, and what DDP copies for them.

DDP launches both in hooks of the backward, beneath whatever gradient completes a bucket
(torch/csrc/distributed/c10d/reducer.cpp), and compiling moves where that is. By place they would
be tied to an operator that they only happen to follow, so they are taken out of the programs, and
all of a kind in a step is one group.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache

from profiler_core.analysis.categories import category_of_kernel, category_of_operator
from profiler_core.analysis.ledger.match import Match, Tie
from profiler_core.analysis.ledger.program import Program
from profiler_core.analysis.ranks.collective_kinds import LABELS, kind_of

_FUNCTIONAL = "c10d_functional::"  # torch 2.1 to 2.3; later with an underscore
_BUCKETS = ("torch::distributed::reducer::", "torch.distributed.ddp.reducer::")

_COPIES = ("Memcpy", "Memset")

_WAITING = "in the trace of one rank alone the wait for the others is in it"
_COPYING = "DDP copies gradients into the buckets that it sends, and back"


@lru_cache(maxsize=65536)
def exchange_of(name: str) -> tuple[str, str] | None:
    """Kind of a unit's exchange and a note on it, or None for the model's own work.

    Args:
        name: of an operator, or of a kernel that was launched outside any.
    """
    if name.startswith(_BUCKETS):
        return "buckets", _COPYING
    categories = (category_of_operator(name), category_of_kernel(name))
    if name.startswith(_FUNCTIONAL) or "communication" in categories:
        kind = kind_of(name)
        return kind, f"{LABELS[kind]} between the ranks: {_WAITING}"
    return None


def exchange_of_kernels(names: Sequence[str]) -> tuple[str, str] | None:
    """The same of an operator that starts collectives of one kind, and copies for them, alone.

    DTensor's `Redistribute` is one of these.

    Args:
        names: of the operator's device events.
    """
    kinds = {name: exchange_of(name) for name in names if not name.startswith(_COPIES)}
    exchanged = set(kinds.values())
    return exchanged.pop() if len(exchanged) == 1 else None


def match_exchange(baseline: Program, candidate: Program, match: Match) -> None:
    """All of a kind that ranks exchange in a step is one group: buckets are cut at other places.

    In a graph a collective stands among operators, and was aligned with them: no operator becomes
    it, so that those ties are taken back.
    """
    match.ties = [
        Tie(left, right, tie.evidence)
        for tie in match.ties
        if (left := _others(tie.baseline, baseline.exchange))
        and (right := _others(tie.candidate, candidate.exchange))
    ]
    for program in (baseline, candidate):
        program.ties[:] = [
            tie for tie in program.ties if len(_others(tie, program.exchange)) == len(tie)
        ]
    for kind in dict.fromkeys((*baseline.exchange.values(), *candidate.exchange.values())):
        members = [
            tuple(unit for unit, other in program.exchange.items() if other == kind)
            for program in (baseline, candidate)
        ]
        if all(members):
            match.ties.append(Tie(members[0], members[1], "exchange between ranks"))


def _others(units: tuple[int, ...], exchanged: Collection[int]) -> tuple[int, ...]:
    return tuple(unit for unit in units if unit not in exchanged)

"""What a replay of a CUDA graph launches beside it: copies into its inputs, and its seed.

Neither is a part of the program: no operator becomes it.
"""

from collections.abc import Collection, Iterable

from profiler_core.analysis.ledger.match import Match, Tie
from profiler_core.analysis.ledger.program import Program
from profiler_core.analysis.ledger.result import COPIES_INPUTS, SEEDS_REPLAY
from profiler_core.analysis.ledger.work_units import Unit


def is_seed(unit: Unit) -> bool:
    """May a unit that comes directly before a replay set its seed or offset?

    `CUDAGeneratorState::replay_prologue` (ATen/cuda/CUDAGeneratorImpl.cpp) fills a tensor of one
    64-bit integer with either.
    """
    return (
        unit.name == "aten::fill_"
        and unit.shapes[:1] in ((), ((1,),))
        and unit.dtypes[:1] in ((), ("long int",))
    )


def why_launched(units: Collection[int], program: Program) -> str:
    """A note that says what units do for replays alone; "" for those of the program."""
    if units and program.input_copies.issuperset(units):
        return COPIES_INPUTS
    return SEEDS_REPLAY if units and program.seeds.issuperset(units) else ""


def match_replays(baseline: Program, candidate: Program, match: Match) -> None:
    """Tie what replays of both runs launch beside them; with one side alone nothing became it."""
    for left, right in (
        (baseline.input_copies, candidate.input_copies),
        (baseline.seeds, candidate.seeds),
    ):
        phases = {baseline.phases[unit] for unit in left} | {candidate.phases[u] for u in right}
        for phase in sorted(phases):
            mine = _of_phase(left, baseline, phase)
            theirs = _of_phase(right, candidate, phase)
            if mine and theirs:
                match.ties.append(Tie(mine, theirs, "operator in order"))
            else:
                match.removed.update(mine)


def _of_phase(units: Iterable[int], program: Program, phase: str) -> tuple[int, ...]:
    return tuple(sorted(unit for unit in units if program.phases[unit] == phase))

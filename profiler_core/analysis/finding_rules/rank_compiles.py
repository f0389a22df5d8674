"""A rank of a job that compiles while the others wait."""

from statistics import median

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.ranks.rank_compiling import RankCompiling
from profiler_core.analysis.wording.sentence import counted
from profiler_core.model.compilation import Frame, Recompile
from profiler_core.units import format_duration

_LEAST_WAIT_S = 1e-3
_LEAST_ALONE_S = 1.0  # ranks do not begin to compile at the same instant
_LEAST_SHARE = 0.1  # of what that rank compiles

_ADVICE = (
    "Give all ranks the same shapes and constants, or warm up with every shape on every rank: pad, "
    "or torch._dynamo.mark_dynamic what differs; a guard that only one rank fails stops all."
)


def compiles_alone(facts: Facts) -> Finding | None:
    """Which rank compiled while the others waited, for how long, and for which guard."""
    ranks = facts.rank_compiling
    if len(ranks) < 2:
        return None
    row = max(ranks, key=lambda rank: (rank.made_wait_s or 0.0, rank.alone_s or 0.0))
    waited_s = row.made_wait_s or 0.0
    if waited_s >= _LEAST_WAIT_S:
        return _finding(
            facts,
            row,
            waited_s,
            f"Rank {row.rank} compiled while the others waited {format_duration(waited_s * 1e9)}.",
            "It was in the profiled steps, in collectives for which that rank came last.",
        )
    row = max(ranks, key=lambda rank: rank.alone_s or 0.0)
    alone_s = row.alone_s or 0.0
    if alone_s < max(_LEAST_ALONE_S, _LEAST_SHARE * (row.seconds or 0.0)):
        return None
    return _finding(
        facts,
        row,
        alone_s,
        f"Rank {row.rank} compiled for {format_duration(alone_s * 1e9)} while no other did.",
        "The others waited for it before their next collective, at most that long.",
    )


def _finding(
    facts: Facts,
    row: RankCompiling,
    seconds: float,
    title: str,
    when: str,
) -> Finding:
    others = [rank for rank in facts.rank_compiling if rank.rank != row.rank]
    n_others = median(len(rank.recompiles) for rank in others)
    compiled = (
        f"It compiled {counted(row.n_compilations, 'time')}, "
        f"{counted(len(row.recompiles), 'recompilation')} among them"
        if row.n_compilations is not None
        else f"It recompiled {counted(len(row.recompiles), 'time')}"
    )
    counts = (
        f"{compiled}; the others recompiled {n_others:g} "
        f"{'time' if n_others == 1 else 'times'} (the median)."
    )
    # What every rank compiles again is no news of this one.
    seen = {_place(recompile) for rank in others for recompile in rank.recompiles}
    own = [recompile for recompile in row.recompiles if _place(recompile) not in seen]
    named = own[-1] if own else row.recompiles[-1] if row.recompiles else None
    guard = f" {_guard(named)}" if named is not None else ""
    return Finding(
        key="rank_compiles",
        title=title,
        evidence=f"{when} {counts}{guard}",
        advice=_ADVICE,
        page="compilation",
        one_off_ns=seconds * 1e9,
        locations=(Frame(named.file, named.line, named.function),) if named is not None else (),
    )


def _place(recompile: Recompile) -> tuple[object, ...]:
    guards = tuple(reason.guard for reason in recompile.reasons[:1])
    return recompile.file, recompile.line, guards


def _guard(recompile: Recompile) -> str:
    why = f": {recompile.reasons[0].guard}" if recompile.reasons else ""
    return f"Its last one: {recompile.function}{why}."


PLACE = 120
RULES: tuple[Rule, ...] = (compiles_alone,)

"""The dossier of a rank of a job, in all steps or in one: where its time goes, and who waits."""

from collections.abc import Sequence
from typing import Any

from profiler_core.analysis.dossier.record import (
    Dossier,
    Related,
    Relation,
    RunTime,
    TimelineStep,
)
from profiler_core.analysis.item import Item, rank_item
from profiler_core.analysis.ranks.claim import claim_of
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.ranks.rank_row import RankRow
from profiler_core.analysis.ranks.strip import QUANTITIES
from profiler_core.analysis.wording.ranks import needs_of, rank_answer, slow_clock
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison

_MOST_STEPS = 64


def rank_dossier(comparison: Comparison, item: Item) -> Dossier:
    """A rank of a run's job beside the same rank of the other runs; times are profiled.

    Raises:
        NothingToAnalyse: the run is no job, or its job has no such rank or step.
    """
    run, rank, step = _named(item)
    rows = [_row_of(each.job, rank) for each in comparison.runs]
    own = rows[run] if run < len(rows) else None
    job = comparison.runs[run].job if own is not None else None
    if own is None or job is None or (step is not None and not 0 <= step < len(own.steps)):
        raise NothingToAnalyse(
            f"These runs have no {_title(rank, step)}.",
            remedy="Choose the runs that the link was made for.",
        )
    shown = {
        n: row for n, row in enumerate(rows) if row is not None and (step or 0) < len(row.steps)
    }
    labels = [comparison.labels[n] for n in shown]
    of_runs = list(shown.values())
    return Dossier(
        item=item,
        kind="rank" if step is None else "step of a rank",
        title=_title(rank, step),
        answer=rank_answer(job, own, step),
        about=_about(job, rank),
        times=tuple(
            RunTime(n, comparison.labels[n], _step_ns(row, step)) for n, row in shown.items()
        ),
        relations=(_parts(labels, of_runs, step), _steps(run, labels, of_runs, own)),
        **_on_timeline(comparison, run, own, step or 0),
    )


def related_rank(comparison: Comparison, item: Item, runs: Sequence[int]) -> Related | None:
    """A rank as evidence, with its step in each of these runs; None: its run has no such rank."""
    run, rank, step = _named(item)
    rows = [_row_of(comparison.runs[number].job, rank) for number in runs]
    if run not in runs or rows[runs.index(run)] is None:
        return None
    times = (None if row is None else _step_ns(row, step) for row in rows)
    return Related(_title(rank, step), item, "its step, profiled", tuple(times))


def _about(job: Job, rank: int) -> tuple[str, ...]:
    """Why the others wait for it; () where they do not."""
    if claim_of(job).rank != rank:
        return ()
    return tuple(filter(None, (needs_of(job), slow_clock(job.critical))))


def _on_timeline(comparison: Comparison, run: int, own: RankRow, step: int) -> dict[str, Any]:
    """The step's place on the timeline, or why there is none."""
    of_rank = comparison.runs[run].of_rank(own.rank)
    if of_rank is None or of_rank.files.trace is None:
        return {"missing": ("Its trace lies on a remote store, so that no timeline shows it.",)}
    place = TimelineStep(run, comparison.labels[run], own.rank, step, own.steps[step])
    return {"steps_on_timeline": (place,)}


def _named(item: Item) -> tuple[int, int, int | None]:
    parts = item.key.split(".")
    if not 2 <= len(parts) <= 3 or not all(p.isascii() and p.isdigit() for p in parts):
        raise NothingToAnalyse(
            f"{item.key} names no rank.", remedy="Open it from page Ranks: the link was cut."
        )
    run, rank, *step = (int(part[:9]) for part in parts)
    return run, rank, step[0] if step else None


def _row_of(job: Job | None, rank: int) -> RankRow | None:
    return next((row for row in job.ranks if row.rank == rank), None) if job is not None else None


def _title(rank: int, step: int | None) -> str:
    return f"rank {rank}" if step is None else f"rank {rank}, step {step + 1}"


def _step_ns(row: RankRow, step: int | None) -> float:
    return row.step_ns if step is None else float(row.steps[step].dur_ns)


def _parts(labels: Sequence[str], rows: Sequence[RankRow], step: int | None) -> Relation:
    """Where its step goes; what it made others wait is known of all steps together."""
    entries = []
    for key, label in QUANTITIES[1:]:
        values = tuple(_value(row, key, step) for row in rows)
        if any(value is not None for value in values):
            entries.append(Related(label, times_ns=values))
    return Relation("parts", tuple(labels), tuple(entries))


def _value(row: RankRow, key: str, step: int | None) -> float | None:
    if step is None:
        return float(getattr(row, key))
    if key == "waited_ns":
        waited = row.waited_in_steps_ns
        return float(waited[step]) if step < len(waited) else None
    if key == "made_wait_ns":
        return None
    return float(getattr(row.steps[step], key))


def _steps(run: int, labels: Sequence[str], rows: Sequence[RankRow], own: RankRow) -> Relation:
    """Each step with what the rank waited in it."""
    n = min(len(own.steps), _MOST_STEPS)
    return Relation(
        "steps",
        tuple(labels),
        tuple(
            Related(
                f"step {number + 1}",
                rank_item(run, own.rank, number),
                times_ns=tuple(
                    float(row.waited_in_steps_ns[number])
                    if number < len(row.waited_in_steps_ns)
                    else None
                    for row in rows
                ),
            )
            for number in range(n)
        ),
        "",
        len(own.steps) - n,
    )

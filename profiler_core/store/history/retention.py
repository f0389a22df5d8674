"""How long files are kept: the newest captures of each workload, the youngest, and what is marked.

Retention deletes files; the numbers stay, so that a trend goes on. A capture is kept whole or
not at all: one variant without the others compares with nothing. Captures and uploads are counted
apart: an upload takes no capture's place.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, select

from profiler_core.model.history import RecordedRun
from profiler_core.settings import settings
from profiler_core.store.history.audit import days_of_audit
from profiler_core.store.history.clock import Clock, noted_set_back
from profiler_core.store.history.database import reading
from profiler_core.store.history.files import has_files
from profiler_core.store.history.marks import marked_captures
from profiler_core.store.history.old_experiments import OldExperiment, old_experiments
from profiler_core.store.history.query import n_runs, runs
from profiler_core.store.history.tables import audit
from profiler_core.store.history.trash import delete_at, delete_files_of
from profiler_core.store.history.trash_files import size_at
from profiler_core.store.history.unfinished import Unfinished


@dataclass(frozen=True)
class Rules:
    """A capture stays while one of its rules holds for it; without any rule everything stays."""

    keep_captures: int | None = None  # the newest of each workload
    keep_days: int | None = None  # captures that are younger
    keep_uploads_days: int | None = None  # uploads that came later; None: uploads stay


@dataclass(frozen=True)
class Removal:
    """A run whose files may go, and by which rules."""

    run: RecordedRun
    reason: str
    rule: str  # as it stands in settings.toml; several where none of them keeps it


@dataclass(frozen=True)
class Plan:
    """What retention would do now. notes: what it leaves alone because of a clock."""

    removals: tuple[Removal, ...]  # oldest first
    notes: tuple[str, ...]
    n_marked: int = 0  # captures that stay because a run is tagged, a baseline or reviewed
    experiments: tuple[OldExperiment, ...] = ()  # that may go; oldest first


@dataclass(frozen=True)
class RuleTotal:
    """What one rule would take now. n_bytes: of the files on this machine."""

    origin: str  # "capture" or "upload"
    rule: str
    n_captures: int
    n_runs: int
    n_bytes: int


def configured_rules() -> Rules:
    """Those of settings.toml."""
    configured = settings()
    return Rules(configured.keep_captures, configured.keep_days, configured.keep_uploads_days)


def planned(rules: Rules, *, at: datetime | None = None) -> Plan:
    """Which files may go and why. Those of tagged, reviewed and baseline runs never do.

    Nor those of a capture, sweep or experiment that somebody is still at.

    A capture whose date is implausible stays and takes no other's place; time in which the history
    saw nothing at all does not count towards an age (clock.py).

    Args:
        rules: what stays.
        at: the moment from which days are counted; now by default.
    """
    if rules == Rules():
        return Plan((), ())
    moment = at or datetime.now(UTC)
    every = runs(limit=max(1, n_runs()))
    with reading() as connection:
        marked = marked_captures(connection)
        days = days_of_audit(connection)
        set_back = noted_set_back(moment, _records(connection), days)
    clock = Clock(moment, [*(run.recorded_at for run in every), *(day for _, day in days)])
    captures = _by_capture(run for run in every if run.origin == "capture")
    uploads = _by_capture(run for run in every if run.origin == "upload")

    def is_trusted(members: list[RecordedRun]) -> bool:
        return set_back.isdisjoint(run.run_id for run in members)

    dated = [c for c in captures if clock.is_plausible(c[0].created_at)]
    leaving = _leaving_captures(list(filter(is_trusted, dated)), rules, clock)
    leaving += _leaving_uploads(list(filter(is_trusted, uploads)), rules, clock)
    with_files = _that_can_go(leaving)
    removals = [
        Removal(run, reason, rule)
        for members, reason, rule in with_files
        if members[0].capture_id not in marked
        for run in members
    ]
    removals.sort(key=lambda removal: (removal.run.created_at, removal.run.run_id))
    n_set_back = sum(not is_trusted(members) for members in (*captures, *uploads))
    notes = clock.notes(n_undated=len(captures) - len(dated), n_set_back=n_set_back)
    n_marked = sum(members[0].capture_id in marked for members, _, _ in with_files)
    return Plan(tuple(removals), notes, n_marked, old_experiments(rules.keep_days, clock))


def totals(plan: Plan) -> tuple[RuleTotal, ...]:
    """What each rule would take, captures before uploads; looks at the files."""
    by_rule: dict[tuple[str, str], list[RecordedRun]] = defaultdict(list)
    for removal in plan.removals:
        by_rule[removal.run.origin, removal.rule].append(removal.run)
    return tuple(
        RuleTotal(
            origin=origin,
            rule=rule,
            n_captures=len({run.capture_id for run in members}),
            n_runs=len(members),
            n_bytes=size_at([run.key for run in members]),
        )
        for (origin, rule), members in sorted(by_rule.items())
    )


def delete_files(
    outdated_runs: Iterable[RecordedRun],
    *,
    reasons: Mapping[str, str] | None = None,
    person: str | None = None,
) -> int:
    """Move the files of these runs into the trash and keep their numbers; how many runs that were.

    What is measured again by now stays.

    Args:
        outdated_runs: as `planned` names them.
        reasons: run_id -> why, as `planned` says.
        person: who does it; by default the user of the system.
    """
    n_deleted = 0
    for members in _by_capture(outdated_runs):
        reason = (reasons or {}).get(members[0].run_id, "retention")
        if not Unfinished().holds(members) and delete_files_of(members, reason, person=person):
            n_deleted += len(members)
    return n_deleted


def apply(plan: Plan, *, person: str | None = None) -> int:
    """Do what was planned, but for what was marked since; how many runs lost their files.

    Experiments go with their own files, and can be put back as runs can.
    """
    reasons = {removal.run.run_id: removal.reason for removal in plan.removals}
    for old in plan.experiments:
        title = f"Experiment on {old.title}"
        delete_at([], old.key, title, person=person, reason=old.reason)
    return delete_files([removal.run for removal in plan.removals], reasons=reasons, person=person)


# The runs of a capture, why they may go, and by which rule.
_Leaving = list[tuple[list[RecordedRun], str, str]]


def _that_can_go(leaving: _Leaving) -> _Leaving:
    """Of the captures those with files that nobody is still at, with the runs that have files."""
    unfinished = Unfinished()
    return [
        (capture, reason, rule)
        for members, reason, rule in leaving
        if (capture := [run for run in members if has_files(run)]) and not unfinished.holds(capture)
    ]


def _by_capture(newest_first: Iterable[RecordedRun]) -> list[list[RecordedRun]]:
    """The runs of each capture, in the order of their newest run."""
    members: dict[str, list[RecordedRun]] = defaultdict(list)
    for run in newest_first:
        members[run.capture_id].append(run)
    return list(members.values())


def _records(connection: Connection) -> dict[str, tuple[int, str]]:
    """run_id -> number and moment of the entry that says that it was recorded."""
    query = select(audit.c.subject, audit.c.entry_id, audit.c.at).where(audit.c.action == "record")
    rows = connection.execute(query.order_by(audit.c.entry_id.desc()))  # the first one wins
    return {row.subject: (row.entry_id, row.at) for row in rows}


def _leaving_captures(
    newest_first: Sequence[list[RecordedRun]], rules: Rules, clock: Clock
) -> _Leaving:
    if rules.keep_captures is None and rules.keep_days is None:
        return []
    n_newer: dict[str, int] = defaultdict(int)  # workload -> its captures that are newer
    leaving: _Leaving = []
    for members in newest_first:
        workload = members[0].workload
        rank, n_newer[workload] = n_newer[workload], n_newer[workload] + 1
        age = clock.age(members[0].created_at)
        is_new = rules.keep_captures is not None and rank < rules.keep_captures
        is_young = rules.keep_days is not None and age <= timedelta(days=rules.keep_days)
        if not (is_new or is_young):
            reasons, by_rules = [], []
            if rules.keep_captures is not None:
                reasons.append(
                    f"{rank} captures of “{workload}” are newer "
                    f"(keep_captures = {rules.keep_captures})"
                )
                by_rules.append(f"keep_captures = {rules.keep_captures}")
            if rules.keep_days is not None:
                reasons.append(f"it is {age.days} days old (keep_days = {rules.keep_days})")
                by_rules.append(f"keep_days = {rules.keep_days}")
            leaving.append((members, " and ".join(reasons), " and ".join(by_rules)))
    return leaving


def _leaving_uploads(uploads: Sequence[list[RecordedRun]], rules: Rules, clock: Clock) -> _Leaving:
    if rules.keep_uploads_days is None:
        return []
    leaving: _Leaving = []
    for members in uploads:
        # From the day it came: what is uploaded may be old already.
        age = clock.age(max(run.recorded_at for run in members))
        if age > timedelta(days=rules.keep_uploads_days):
            rule = f"keep_uploads_days = {rules.keep_uploads_days}"
            leaving.append((members, f"it was uploaded {age.days} days ago ({rule})", rule))
    return leaving

"""How long files are kept: the newest captures of each workload, the youngest, and what is marked.

Retention deletes files; the numbers stay, so that a trend goes on. A capture is kept whole or
not at all: one variant without the others compares with nothing.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, select, update

from profiler_core.model.history import RecordedRun
from profiler_core.settings import settings
from profiler_core.store.history.audit import note
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.files import has_files
from profiler_core.store.history.moments import now
from profiler_core.store.history.moments import person as this_person
from profiler_core.store.history.query import runs
from profiler_core.store.history.removal import protected, remove_files
from profiler_core.store.history.tables import runs as table
from profiler_core.store.history.tables import tags


@dataclass(frozen=True)
class Rules:
    """A capture stays while one of the rules holds for it; without any rule everything stays."""

    keep_captures: int | None = None  # the newest of each workload
    keep_days: int | None = None
    keep_uploads_days: int | None = None  # for uploads, instead of the two above


def configured_rules() -> Rules:
    """Those of settings.toml."""
    configured = settings()
    return Rules(configured.keep_captures, configured.keep_days, configured.keep_uploads_days)


def outdated(rules: Rules, *, at: datetime | None = None) -> tuple[RecordedRun, ...]:
    """Runs whose files may go, oldest first. Tagged runs, baselines and reviewed runs never do.

    Args:
        rules: what stays.
        at: the moment from which days are counted; now by default.
    """
    if rules == Rules():
        return ()
    recorded = runs()
    with reading() as connection:
        marked = protected(connection)
    by_capture: dict[str, list[RecordedRun]] = defaultdict(list)
    for run in recorded:  # newest first, so captures come in that order too
        by_capture[run.capture_id].append(run)
    kept_captures = _newest(by_capture, rules.keep_captures) | _youngest(
        recorded, rules.keep_days, at
    )
    if rules.keep_captures is None and rules.keep_days is None:
        kept_captures = set(by_capture)
    if rules.keep_uploads_days is not None:
        uploads = {run.capture_id for run in recorded if run.origin == "upload"}
        # From the day it came: what is uploaded may be old already.
        border = _days_ago(rules.keep_uploads_days, at)
        young = {run.capture_id for run in recorded if run.recorded_at >= border}
        kept_captures = (kept_captures - uploads) | (young & uploads)
    gone = [
        run
        for capture_id, members in by_capture.items()
        if capture_id not in kept_captures
        and not any(m.tags or m.run_id in marked for m in members)
        for run in members
        if has_files(run)
    ]
    return tuple(reversed(gone))


def delete_files(recorded: Iterable[RecordedRun], *, person: str | None = None) -> int:
    """Delete the files of these runs and keep their numbers; how many runs that were."""
    actor = this_person() if person is None else person
    n_deleted = 0
    for run in recorded:
        with writing() as connection:
            if run.run_id in protected(connection) or _is_tagged(connection, run.run_id):
                continue  # marked since it was found outdated
            connection.execute(
                update(table).where(table.c.run_id == run.run_id).values(files_deleted_at=now())
            )
            note(connection, actor, "retention", run.run_id)
            remove_files(run)
        n_deleted += 1
    return n_deleted


def _is_tagged(connection: Connection, run_id: str) -> bool:
    return connection.execute(select(tags.c.tag).where(tags.c.run_id == run_id)).first() is not None


def _newest(by_capture: dict[str, list[RecordedRun]], keep: int | None) -> set[str]:
    if keep is None:
        return set()
    of_workload: dict[str, list[str]] = defaultdict(list)
    for capture_id, members in by_capture.items():
        of_workload[members[0].workload].append(capture_id)
    return {capture_id for ids in of_workload.values() for capture_id in ids[:keep]}


def _youngest(
    recorded: Iterable[RecordedRun], keep_days: int | None, at: datetime | None
) -> set[str]:
    if keep_days is None:
        return set()
    border = _days_ago(keep_days, at)
    return {run.capture_id for run in recorded if run.created_at >= border}


def _days_ago(n_days: int, at: datetime | None) -> str:
    """A moment as the history writes it."""
    return ((at or datetime.now(UTC)) - timedelta(days=n_days)).strftime("%Y-%m-%dT%H:%M:%SZ")

"""The history: which runs there were, their numbers over time, and what people said about them.

    record(run_directory)            -> RecordedRun; makes the headline numbers, keeps the files
    run(run_id), runs(RunFilter(workload=("bert",))), choices()
    directory_of(recorded)           -> Path of its run directory, fetched where it must be
    set_baseline("main", run_id), baseline("main") -> RecordedRun, baselines(), remove_baseline
    tag(run_id, "nightly"), untag
    keep_predictions(experiments), predictions() -> what findings predicted, and what came true
    reconcile()                      -> records what lies here and is not recorded yet
    planned(Rules(...)), delete_files(...): retention
    delete_run(run_id), delete_at(keys, folder), trash_contents(), restore(id), empty(id)
    receive(path), packed(directory) import and export a run as one .zip

`RecordedRun` is in model/history.py: numbers in `.metrics`, raw rounds in `.rounds`,
`.as_record()` for analyses that take a RunRecord. SQLite below the home by default, PostgreSQL
by FUSIONSCOPE_DATABASE_URL; the schema is brought up by itself. Each deed leaves an entry in the
audit, in its own transaction: `entries(person="ada")`, and `note` for deeds elsewhere.

    begin_review(title, sides, findings, person=…) -> review_id; review, review_heads
    change_review(review_id, version, …), add_note, delete_note, sign_off, delete_review
    assign_finding(review_id, (position, key), version, owner=…, …), close_finding(…, later run)
    later_runs(run_id), difference_for(finding, before, after): what it is closed with
    newest_regressions(), waiting_notices, claim_notice, note_notice: runs that became slower

Every error is a FusionscopeError. The web process may ask (`runs`, `choices`), but `record` and
`reconcile` read traces: `python -m profiler_core.store.history` does it in a process of its own.
"""

from profiler_core.model.history import Baseline, HeadlineMetrics, RecordedRun
from profiler_core.store.history.audit import AuditEntry, entries
from profiler_core.store.history.audit import note_alone as note
from profiler_core.store.history.database import HistoryUnavailable, reading, where, writing
from profiler_core.store.history.files import directory_of, has_files
from profiler_core.store.history.integrity import (
    FilesChanged,
    changed_files,
    check_directory,
    notice,
)
from profiler_core.store.history.kept_trends import lasting
from profiler_core.store.history.marks import (
    baseline,
    baselines,
    remove_baseline,
    set_baseline,
    tag,
    untag,
)
from profiler_core.store.history.moments import person
from profiler_core.store.history.packing import packed
from profiler_core.store.history.people import name_of, names_of, remember_person
from profiler_core.store.history.predictions import keep_predictions, predictions
from profiler_core.store.history.query import (
    FILTERS,
    RunFilter,
    choices,
    listed_runs,
    n_lines_of_several,
    n_runs,
    run,
    runs,
    runs_of,
    version,
)
from profiler_core.store.history.receiving import receive, runs_in
from profiler_core.store.history.reconciliation import Reconciled, pending, reconcile, waiting
from profiler_core.store.history.recording import record
from profiler_core.store.history.regressions import (
    Regression,
    claim_notice,
    newest_regressions,
    note_notice,
    recent_notices,
    waiting_notices,
)
from profiler_core.store.history.remeasured import (
    close_finding,
    difference_between,
    difference_for,
    later_runs,
)
from profiler_core.store.history.retention import (
    Plan,
    Rules,
    RuleTotal,
    apply,
    configured_rules,
    delete_files,
    planned,
    totals,
)
from profiler_core.store.history.review_query import (
    ReviewFilter,
    review,
    review_heads,
    review_of,
    run_ids_of,
)
from profiler_core.store.history.review_tasks import (
    UNFINISHED,
    AssignedFinding,
    assign_finding,
    assigned_findings,
)
from profiler_core.store.history.reviews import (
    ReviewChanged,
    add_findings,
    add_note,
    begin_review,
    change_review,
    delete_note,
    delete_review,
    sign_off,
)
from profiler_core.store.history.trash import delete_at, delete_run, empty, restore
from profiler_core.store.history.trash_list import Deletion, in_trash, trash_contents
from profiler_core.store.history.trend_query import (
    MOST_POINTS,
    Charts,
    Drawn,
    TrendRow,
    baselines_with_newest,
    charts,
    drawn,
    trend_rows,
)
from profiler_core.store.history.verification import verified
from profiler_core.store.history.waiting_deeds import NotRecorded, note_or_keep

__all__ = [
    "FILTERS",
    "MOST_POINTS",
    "UNFINISHED",
    "AssignedFinding",
    "AuditEntry",
    "Baseline",
    "Charts",
    "Deletion",
    "Drawn",
    "FilesChanged",
    "HeadlineMetrics",
    "HistoryUnavailable",
    "NotRecorded",
    "Plan",
    "Reconciled",
    "RecordedRun",
    "Regression",
    "ReviewChanged",
    "ReviewFilter",
    "RuleTotal",
    "Rules",
    "RunFilter",
    "TrendRow",
    "add_findings",
    "add_note",
    "apply",
    "assign_finding",
    "assigned_findings",
    "baseline",
    "baselines",
    "baselines_with_newest",
    "begin_review",
    "change_review",
    "changed_files",
    "charts",
    "check_directory",
    "choices",
    "claim_notice",
    "close_finding",
    "configured_rules",
    "delete_at",
    "delete_files",
    "delete_note",
    "delete_review",
    "delete_run",
    "difference_between",
    "difference_for",
    "directory_of",
    "drawn",
    "empty",
    "entries",
    "has_files",
    "in_trash",
    "keep_predictions",
    "lasting",
    "later_runs",
    "listed_runs",
    "n_lines_of_several",
    "n_runs",
    "name_of",
    "names_of",
    "newest_regressions",
    "note",
    "note_notice",
    "note_or_keep",
    "notice",
    "packed",
    "pending",
    "person",
    "planned",
    "predictions",
    "reading",
    "receive",
    "recent_notices",
    "reconcile",
    "record",
    "remember_person",
    "remove_baseline",
    "restore",
    "review",
    "review_heads",
    "review_of",
    "run",
    "run_ids_of",
    "runs",
    "runs_in",
    "runs_of",
    "set_baseline",
    "sign_off",
    "tag",
    "totals",
    "trash_contents",
    "trend_rows",
    "untag",
    "verified",
    "version",
    "waiting",
    "waiting_notices",
    "where",
    "writing",
]

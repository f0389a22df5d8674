"""Recorded runs, and what the actions of `runs` did with them."""

from pathlib import Path
from typing import Annotated

from profiler_core.answers.record import Answer, means
from profiler_core.model.history import Baseline, HeadlineMetrics, ListedRun, RecordedRun

_OF_RECORD = means("as in run.json")
_WHERE = means(
    "where its files are: in the library of the machine that recorded it, among the artifacts"
)
_WHEN = means("ISO 8601, UTC")
_UNKNOWN = means("empty where not known")


class RunAnswer(Answer, frozen=True, kw_only=True):
    """A recorded run; its environment stays in run.json."""

    run_id: Annotated[str, _OF_RECORD]
    capture_id: Annotated[str, _OF_RECORD]
    baseline_run_id: Annotated[str | None, _OF_RECORD]
    role: Annotated[str | None, _OF_RECORD]
    name: Annotated[str, _OF_RECORD]
    workload: Annotated[str, _OF_RECORD]
    variant: Annotated[str, _OF_RECORD]
    status: Annotated[str, _OF_RECORD]
    error: Annotated[str | None, _OF_RECORD]
    created_at: Annotated[str, _WHEN]
    recorded_at: Annotated[str, _WHEN]
    origin: Annotated[str, means("`capture` or `upload`")]
    gpu: Annotated[str, _UNKNOWN]
    torch: Annotated[str, _UNKNOWN]
    git_branch: Annotated[str, _UNKNOWN]
    git_commit: Annotated[str, _UNKNOWN]
    host: Annotated[str, _UNKNOWN]
    person: Annotated[str, _UNKNOWN]
    metrics: Annotated[HeadlineMetrics, means("{keys}")]
    n_rounds: Annotated[int, means("timed rounds", "count")]
    tags: Annotated[tuple[str, ...], means("in the order of the alphabet")]
    key: Annotated[str, _WHERE]
    artifact: Annotated[str | None, _WHERE]
    files_deleted_at: Annotated[
        str | None, means("when retention deleted the files; null: it did not")
    ]


class LeavingRun(RunAnswer, frozen=True, kw_only=True):
    """A run whose files may go."""

    reason: str


class RunsAnswer(Answer, frozen=True):
    """`runs list`, `tag` and `untag`."""

    runs: Annotated[tuple[RunAnswer, ...], means("see below")]


class ImportAnswer(RunsAnswer, frozen=True):
    """`runs import` and `runs push`."""

    notes: Annotated[tuple[str, ...], means("a sentence for each file that is in no run")]


class PulledAnswer(ImportAnswer, frozen=True):
    """`runs pull`."""

    path: Annotated[Path | None, means("of the .zip; null where the runs were recorded here")]


class ExportedRunAnswer(Answer, frozen=True):
    """`runs export`."""

    run_id: str
    path: Path
    size_bytes: int


class BaselinesAnswer(Answer, frozen=True):
    """`runs baseline`."""

    baselines: Annotated[tuple[Baseline, ...], means("{keys}")]


class DeletedAnswer(Answer, frozen=True):
    """`runs delete`."""

    deleted: Annotated[tuple[str, ...], means("the run ids")]


class DeletionAnswer(Answer, frozen=True, kw_only=True):
    """What was deleted at once."""

    deletion_id: Annotated[str, means("`runs restore` takes it, or one of the run ids")]
    kind: Annotated[str, means("`runs`, or `files`: the numbers stayed")]
    title: str
    reason: Annotated[str, means("the rule of retention; empty where a person did it")]
    run_ids: Annotated[tuple[str, ...], means("empty where nothing of it was recorded")]
    n_bytes: Annotated[int, means("of the files", "bytes")]
    deleted_at: Annotated[str, _WHEN]
    person: Annotated[str, means("who did it")]
    days_left: Annotated[float, means("until it goes for good", "days")]


class TrashAnswer(Answer, frozen=True):
    """`runs trash` and `restore`."""

    deletions: Annotated[tuple[DeletionAnswer, ...], means("{keys}")]
    emptied: Annotated[bool, means("whether they went for good just now")]
    restored: Annotated[bool, means("whether they were put back just now")]


class VerifiedRun(Answer, frozen=True):
    """One run whose files were hashed anew."""

    run_id: str
    outcome: Annotated[
        str, means("`unchanged`, `changed`, `remembered`, `not here` or `unfinished`")
    ]
    sentence: Annotated[str, means("which files differ; empty where all is well")]


class VerifyAnswer(Answer, frozen=True):
    """`runs verify`."""

    runs: Annotated[tuple[VerifiedRun, ...], means("{keys}")]


class RulesAnswer(Answer, frozen=True):
    """What stays."""

    keep_captures: int | None
    keep_days: int | None
    keep_uploads_days: int | None


class RuleTotalAnswer(Answer, frozen=True, kw_only=True):
    """What one rule would take, or took."""

    origin: Annotated[str, means("`capture` or `upload`")]
    rule: str
    n_captures: int
    n_runs: int
    n_bytes: Annotated[int, means("of the files on this machine", "bytes")]


class LeavingExperiment(Answer, frozen=True):
    """An experiment that may go into the trash, or went there."""

    experiment_id: str
    title: str
    created_at: Annotated[str, means("ISO 8601, UTC")]
    reason: str
    n_bytes: Annotated[int, means("of its own files, beside its captures", "bytes")]


class RetentionAnswer(Answer, frozen=True):
    """`runs retention`."""

    rules: Annotated[RulesAnswer, means("{keys}")]
    runs: Annotated[
        tuple[LeavingRun, ...], means("whose files may go or went, each with its `reason`")
    ]
    notes: Annotated[tuple[str, ...], means("what stays because of a clock")]
    totals: Annotated[tuple[RuleTotalAnswer, ...], means("{keys}")]
    n_marked: Annotated[
        int, means("captures and uploads that stay: a run is tagged, a baseline or reviewed")
    ]
    n_deleted: int
    experiments: Annotated[tuple[LeavingExperiment, ...], means("that may go or went: {keys}")] = ()


class ReconcileAnswer(Answer, frozen=True):
    """`runs reconcile`."""

    recorded: Annotated[tuple[str, ...], means("run ids")]
    problems: Annotated[tuple[tuple[str, str], ...], means("pairs of a place and a sentence")]


class DifferenceAnswer(Answer, frozen=True, kw_only=True):
    """The unprofiled step times of two runs of one workload."""

    before_run_id: str
    after_run_id: str
    before_ns: Annotated[float, means("per step", "ns")]
    after_ns: Annotated[float, means("per step", "ns")]
    gained_ns: Annotated[
        tuple[float, float] | None,
        means("95 % interval of before - after; null: too few rounds", "ns"),
    ]
    predicted_ns: Annotated[float | None, means("what the finding put at stake per step", "ns")]
    is_bound: Annotated[bool, means("whether that was the most that could be gained")]


class AssignedFindingAnswer(Answer, frozen=True, kw_only=True):
    """A finding of a review, and who looks after it."""

    review_id: str
    review: Annotated[str, means("the title")]
    position: Annotated[int, means("of the candidate among the review's runs, from 1")]
    key: Annotated[str, means("the same finding next week has the same")]
    title: str
    stake: str
    unit: str
    owner: Annotated[str, means("a name or an account; empty: nobody")]
    state: Annotated[str, means("`open`, `doing`, `done` or `won't do`")]
    due: Annotated[str | None, means("as 2026-12-01")]
    difference: Annotated[
        DifferenceAnswer | None, means("with which it was closed; null: with none")
    ]


class FindingsAnswer(Answer, frozen=True):
    """`runs findings`."""

    findings: Annotated[tuple[AssignedFindingAnswer, ...], means("{keys}")]


class RegressionAnswer(Answer, frozen=True, kw_only=True):
    """A run that takes longer than the run before it, by more than noise."""

    run_id: str
    workload: str
    variant: str
    gpu: Annotated[str, _UNKNOWN]
    git_commit: Annotated[str, _UNKNOWN]
    created_at: Annotated[str, _WHEN]
    noticed_at: Annotated[str, _WHEN]
    difference: Annotated[DifferenceAnswer, means("{keys}")]


class RegressionsAnswer(Answer, frozen=True):
    """`runs regressions`."""

    regressions: Annotated[tuple[RegressionAnswer, ...], means("{keys}")]


def run_answer(recorded: RecordedRun | ListedRun) -> RunAnswer:
    """One recorded run."""
    return RunAnswer.of(recorded)

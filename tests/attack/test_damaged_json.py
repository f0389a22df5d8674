"""What others wrote, and is no JSON of ours, costs nobody else a page, and the history nothing."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from profiler_core import home as home_of
from profiler_core.capture.spec import CaptureSpec
from profiler_core.dates import day, minute, second, short
from profiler_core.experiments.request import new_experiment
from profiler_core.figures.trend import _moment
from profiler_core.ingest.compile_log import belonging
from profiler_core.ingest.kineto.chunks import _keys_of
from profiler_core.ingest.kineto.counter_events import counter_rows
from profiler_core.ingest.kineto.repair import metadata
from profiler_core.ingest.torch_trace.records import decode
from profiler_core.jobs import directory as files
from profiler_core.jobs import service as jobs
from profiler_core.jobs.capture_progress import fold
from profiler_core.model.history import RecordedRun
from profiler_core.owner_file import FILE as OWNER
from profiler_core.owner_file import owner_of
from profiler_core.store import catalogue, history
from profiler_core.store.experiments import FILE, experiments, folder_of, write_experiment
from profiler_core.store.history import reconciliation
from profiler_core.store.history.reconciliation import reconcile
from profiler_core.ui.runs.run_list import _facts
from tests.store.history.samples import redated_copy

NESTED = b"[" * 30_000
# Half a character in a text, a field of no interest that nests without end, and no JSON at all.
BAD = pytest.mark.parametrize(
    "text", [b'{"t": 1, "phase": "\xff"}', b'{"t": 1, "phase": "x", "y": ' + NESTED, b"\xff", b""]
)


def submitted(**more: Any) -> Path:
    """A job of which nobody looks after any more."""
    directory = home_of.jobs_directory() / "20260101-000000-abcdef"
    directory.mkdir(parents=True)
    spec = files.JobSpec(
        job_id=directory.name, command=("x",), title="x", device="cpu", submitted_at=1.0, **more
    )
    files.write(directory, spec)
    files.write(directory, files.JobStatus(state="running", n_starts=files.MOST_STARTS))
    return directory


@BAD
def test_a_line_of_progress_breaks_no_list_of_jobs(home: Path, text: bytes) -> None:
    directory = submitted()
    good = b'{"t": 2.0, "phase": "timing", "text": "times"}'
    (directory / files.PROGRESS).write_bytes(text + b"\n" + good + b"\n")
    (job,) = jobs.jobs()
    assert job.progress.latest is not None and job.progress.latest.text == "times"
    assert fold([text, good]).n_unreadable == bool(text)


def test_a_folder_that_is_no_text_breaks_no_list_of_jobs(home: Path) -> None:
    directory = submitted()
    (directory / files.SCRATCH).write_bytes(b"/there/\xff\xfe")
    (job,) = jobs.jobs()
    assert job.error is not None and "/there/" in job.error
    msgspec.json.encode(job.error)  # as its status is written


@BAD
def test_an_owner_or_an_experiment_that_cannot_be_read_stops_nobody(
    home: Path, text: bytes
) -> None:
    out = home_of.runs_directory()
    good, bad = (
        new_experiment(
            CaptureSpec("customcnn"), budget_s=60.0, experiment_id=f"20260101-000000-try-x-{end}"
        )
        for end in ("aaaa", "bbbb")
    )
    for experiment in (good, bad):
        write_experiment(out, experiment)
    folder = folder_of(out, bad.experiment_id)
    (folder / FILE).write_bytes(text)
    (folder / OWNER).write_bytes(text)
    assert owner_of(folder) is None
    assert [each.experiment_id for each in experiments(out)] == [good.experiment_id]
    assert reconcile().problems == ()


@BAD
def test_a_part_of_a_trace_or_a_log_is_left_out(text: bytes) -> None:
    event = b'{"ph": "C", "name": "x", "args": {"y": "\xff"}}'
    assert counter_rows(event)[1] == 0
    assert counter_rows(b'{"ph": "C", "name": "x", "args": ' + NESTED)[1] == 0
    assert isinstance(metadata(text), dict)
    assert isinstance(_keys_of(text), str)
    with pytest.raises(ValueError, match=r"."):
        decode(text)
    assert decode(json.dumps({"x": float("nan")}).encode()).keys() == {"x"}


@pytest.mark.parametrize(
    "created_at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0500-01-01", "x"]
)
def test_a_date_that_no_calendar_has_stops_no_page(home: Path, created_at: str) -> None:
    """One upload stopped page Runs, and Trends, for everybody."""
    directory = redated_copy(home, "c1", created_at=created_at)
    group = catalogue.group("run/c1")
    assert group is not None and _facts(group)
    recorded = history.record(directory)
    for text in (created_at, recorded.created_at):
        assert all((day(text), minute(text), second(text), short(text)))
    assert _moment(recorded.created_at) <= _moment("9999-12-31T23:59:59Z")
    assert len(recorded.created_at) == len("2026-01-01T00:00:00Z")


def test_a_moment_in_a_log_that_no_calendar_has_is_of_no_zone() -> None:
    assert belonging._clock(10**30).month == 1
    assert belonging._clock(-(10**30)).month == 1


def test_a_list_within_a_text_of_a_log_that_nests_without_end_stops_no_recording(
    home: Path,
) -> None:
    """The history took in nothing that came after this run."""
    directory = redated_copy(home, "c1", whole=True)
    (log,) = (directory / "torch_trace").iterdir()
    nested = json.dumps({"restart_reasons": NESTED.decode() * 4})[1:-1]
    text = gzip.decompress(log.read_bytes()).decode()
    text = re.sub(r', "restart_reasons": (\[[^\]]*\]|null|"[^"]*")', "", text)
    opened = '"compilation_metrics": {'
    assert opened in text
    log.write_bytes(gzip.compress(text.replace(opened, f"{opened}{nested}, ").encode()))
    redated_copy(home, "c2")
    assert reconcile().problems == ()
    assert {run.run_id for run in history.runs()} == {"c1.default", "c2.default"}


def test_a_fault_of_ours_with_one_run_keeps_no_other_out_of_the_history(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories = [redated_copy(home, name) for name in ("c1", "c2", "c3")]
    record = reconciliation.record

    def faulty(directory: Path) -> RecordedRun:
        if directory == directories[1]:
            raise RecursionError("maximum recursion depth exceeded")
        return record(directory)

    monkeypatch.setattr(reconciliation, "record", faulty)
    outcome = history.reconcile()
    assert len(outcome.recorded) == 2
    ((name, problem),) = outcome.problems
    assert name.startswith("c2/")
    assert "fault of Fusionscope (RecursionError('maximum recursion" in problem

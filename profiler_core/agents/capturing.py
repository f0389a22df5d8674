"""The tools that start a capture; offered only where the user allowed it, since it runs code."""

import inspect
import time
from dataclasses import MISSING
from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType

from profiler_core.answers.record import Answer, means
from profiler_core.capture.option import Declared, declared
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.sweep.points import points_of
from profiler_core.door import deeds
from profiler_core.door.asker import Asker, asker_now
from profiler_core.errors import BadInput
from profiler_core.jobs import service as jobs
from profiler_core.person import system_user
from profiler_core.settings import settings
from profiler_core.store import library

_OPTIONS = declared(CaptureSpec)
LONGEST_WAIT_S = 300.0
_POLL_S = 0.5


def _parameter(entry: Declared) -> inspect.Parameter:
    """The parameter of `start_capture` for one option; texts of special types are parsed here."""
    types: dict[str, Any] = {"own": str, "texts": list[str]}
    if entry.kind == "choices":
        names = tuple(entry.about.choices or ())
        types["choices"] = list[Literal[names]]  # type: ignore[valid-type]  # known at run time
    default: Any = entry.default
    if default is MISSING:
        default = inspect.Parameter.empty
    elif entry.kind == "own":
        default = entry.default_text
    elif entry.kind in ("texts", "choices"):
        default = []
    return inspect.Parameter(
        entry.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=Annotated[types.get(entry.kind, entry.type), entry],
    )


_SIGNATURE = inspect.Signature(
    [_parameter(entry) for entry in _OPTIONS.values()], return_annotation=Answer
)


class Started(Answer, frozen=True):
    """A capture that waits for its turn."""

    job: str
    state: str


class Progress(Answer, frozen=True):
    """How far a capture is."""

    job: str
    state: Annotated[
        str, means("`queued`, `running`, `finished`, `failed`, `cancelled`, `interrupted`")
    ]
    cancel_requested: Annotated[bool, means("it stops within seconds")]
    phase: str | None
    text: Annotated[str | None, means("what it does now")]
    error: str | None
    runs: Annotated[tuple[str, ...] | UnsetType, means("their ids; absent before there is any")] = (
        UNSET
    )


def start_capture(*ordered: Any, **options: Any) -> Started:
    """Run a model eager and compiled on this machine. Takes minutes: wait by capture_progress."""
    arguments = _SIGNATURE.bind(*ordered, **options).arguments
    spec = CaptureSpec(**{name: _OPTIONS[name].value(value) for name, value in arguments.items()})
    points_of(spec)  # each point is checked before the first one starts
    job_id = deeds.start_capture(agent(), spec)
    return Started(job_id, "queued")


def agent() -> Asker:
    """Whose token asks; else the user who started this server with captures allowed.

    That user is on a team's machine not its owner.

    Raises:
        Refused: the token, or its person's right, ended after the question came.
    """
    by_token = asker_now()
    if by_token is not None:
        return by_token
    is_team = settings().team is not None
    rights = ("look", "capture") if settings().allow_capture or not is_team else ("look",)
    return Asker(system_user(), rights, is_own_machine=not is_team, signed_in=True, is_agent=True)


def check_wait(wait_seconds: float) -> None:
    """Refuse to wait longer than an agent's client does.

    Raises:
        BadInput: with the longest time.
    """
    if not 0 <= wait_seconds <= LONGEST_WAIT_S:
        raise BadInput(
            f"wait_seconds is {wait_seconds:g}.", remedy=f"Pass 0 to {LONGEST_WAIT_S:g}."
        )


def capture_progress(job: str, wait_seconds: float = 0) -> Progress:
    """How far a capture is; once it has ended, the ids of its runs.

    wait_seconds: answer once it has ended, or after so many seconds (at most 300).
    """
    check_wait(wait_seconds)
    deadline = time.monotonic() + wait_seconds
    capture_job = jobs.job(job)
    asker = agent()
    if not deeds.may_see(asker, capture_job):
        raise BadInput(f"There is no capture {job[:60]} of yours.", remedy="Start one.")
    while capture_job.is_live and time.monotonic() < deadline:
        time.sleep(min(_POLL_S, max(0.0, deadline - time.monotonic())))
        capture_job = jobs.job(job)
    return _progress(capture_job)


def is_under_way(job: str) -> bool:
    """Does the job wait or run?"""
    return jobs.job(job).is_live


def cancel_capture(job: str) -> Progress:
    """Stop a capture that an agent started; what was measured until then is kept."""
    deeds.cancel_capture(agent(), job)
    return _progress(jobs.job(job))


def _progress(capture_job: jobs.Job) -> Progress:
    latest = capture_job.progress.latest
    folder = capture_job.result
    group = None if folder is None else library.group_at(folder)
    runs = () if group is None else tuple(entry.key for entry in group.entries)
    return Progress.of(
        capture_job,
        job=capture_job.job_id,
        phase=latest.phase if latest else None,
        text=latest.text if latest else None,
        runs=UNSET if folder is None else runs,
    )


start_capture.__signature__ = _SIGNATURE  # type: ignore[attr-defined]  # the tool's schema
CAPTURING = (start_capture, capture_progress, cancel_capture)

"""The rights of people and tokens to what they had queued: asked anew before it starts.

A capture may wait for its device for hours. Whoever lost the role, or whose server allows no
captures any more, would have code run then: such a job is cancelled, and one whose supervisor asks
(`jobs/rights.py`) starts only after a yes. The profile of a server that waits is cancelled
likewise. What runs already goes on: admins can stop it.

Of a token that was revoked everything that waits is cancelled, and what runs code on a device also
where it runs: whoever had it may be anybody. Runs that it sent and that are just read are kept.
"""

import logging
from threading import Event
from typing import NamedTuple

from profiler_core import home
from profiler_core.door.asker import Refused, why_no_capture
from profiler_core.door.servers import is_profile
from profiler_core.door.still_allowed import check_still_allowed
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.jobs import directory as files
from profiler_core.jobs import rights
from profiler_core.jobs import service as jobs
from profiler_core.jobs.directory import MEASURING, JobSpec, JobStatus
from profiler_core.person import is_account
from profiler_core.settings import settings

_LOOK_EVERY_S = 1.0

_log = logging.getLogger(__name__)


class _Withdrawal(NamedTuple):
    """Why a job is cancelled, for its page, and what its person can do."""

    problem: str
    remedy: str


def look_after_rights(stopped: Event) -> None:
    """Answer and cancel, again and again until `stopped`; a thread of each server does it."""
    while not stopped.wait(_LOOK_EVERY_S):
        try:
            look_at_rights()
        except (FusionscopeError, OSError) as error:  # nothing is known: the next look tells
            _log.debug("Nobody can tell who may capture: %s", error)


def look_at_rights() -> tuple[str, ...]:
    """Confirm what may start, cancel what may not any more; the ids of the cancelled jobs.

    Without `[team]` nobody can tell the rights of an account: its jobs wait.

    Raises:
        BadInput: settings.toml cannot be used.
        HistoryUnavailable: the database cannot be read.
    """
    if settings().team is None:
        return ()
    withdrawn = []
    for directory, spec, status in files.live_jobs(home.jobs_directory()):
        if (directory / files.CANCEL).exists():
            continue
        asked = rights.question(directory)  # before the look that answers it
        why = _withdrawal(spec, status)
        if why is not None:
            jobs.cancel(spec.job_id, *why)
            _log.info("%s is cancelled: %s", spec.job_id, why.problem)
            withdrawn.append(spec.job_id)
        elif asked and asked != rights.answer(directory):
            rights.confirm(directory, asked)
    return tuple(withdrawn)


def _withdrawal(spec: JobSpec, status: JobStatus) -> _Withdrawal | None:
    waits = status.state == "queued"
    if spec.token and (waits or spec.kind in MEASURING) and not _is_token_good(spec.token):
        return _Withdrawal(
            "The API token that asked for this was revoked.", "Ask for it with another token."
        )
    # A capture that was started may still wait for the device that somebody uses from a shell.
    needs_right = rights.is_asked_for(spec) or _is_profile(spec)
    if needs_right and (waits or jobs.job(spec.job_id).state == "queued"):
        return _why_not(spec)
    return None


def _is_profile(spec: JobSpec) -> bool:
    """Of a server, by somebody who signed in or by a token."""
    return is_profile(spec.command) and spec.owner is not None and is_account(spec.owner)


def _is_token_good(token_id: str) -> bool:
    """Whether nobody revoked it; what was asked for before it expired is done.

    Raises:
        HistoryUnavailable: nobody can say; what it asked for goes on meanwhile.
    """
    from profiler_core.store.history import api_tokens  # late: see `_why_not`
    from profiler_core.store.history.database import HistoryUnavailable

    try:
        return api_tokens.token(token_id).revoked_at is None
    except HistoryUnavailable:
        raise
    except BadInput:  # of another database: nobody can say that it is good
        return False


def _why_not(spec: JobSpec) -> _Withdrawal | None:
    """By the rules and lists of this moment; what stands in a rule must be known of the account."""
    # Late: a server starts without the database, and few jobs wait.
    from profiler_core.ui.sign_in.asker import asker_of_account

    asker = asker_of_account(spec.owner or "")
    why = why_no_capture(asker)
    if why is not None:
        return _Withdrawal(why, "Ask whoever runs the server.")
    try:
        check_still_allowed(asker, spec.command, spec.runner)
    except Refused as refused:
        return _Withdrawal(refused.problem, refused.remedy)
    return None

"""Captures and experiments that wait while their person loses the right: they start no more.

A capture may wait for its device for hours. Whoever lost the role, or whose server allows no
captures any more, would have code run then. What runs already goes on: admins can stop it.
"""

import logging
from threading import Event

from profiler_core import home
from profiler_core.errors import FusionscopeError
from profiler_core.jobs import directory as files
from profiler_core.jobs import service as jobs
from profiler_core.jobs.directory import MEASURING
from profiler_core.person import is_account
from profiler_core.settings import settings

_LOOK_EVERY_S = 2.0

_log = logging.getLogger(__name__)


def look_after_rights(stopped: Event) -> None:
    """Cancel them, again and again until `stopped`; a thread of each server does it."""
    while not stopped.wait(_LOOK_EVERY_S):
        try:
            cancel_withdrawn()
        except (FusionscopeError, OSError) as error:  # nothing is known: the next look tells
            _log.debug("Nobody can tell who may capture: %s", error)


def cancel_withdrawn() -> tuple[str, ...]:
    """Cancel what waits of people who may not capture any more; the ids of these jobs.

    Raises:
        BadInput: settings.toml cannot be used.
        HistoryUnavailable: the database cannot be read.
    """
    if settings().team is None:
        return ()
    withdrawn = []
    for directory, spec, status in files.live_jobs(home.jobs_directory()):
        waits = spec.kind in MEASURING and status.state == "queued"
        if not waits or (directory / files.CANCEL).exists() or _may_capture(spec.owner):
            continue
        jobs.cancel(spec.job_id)
        _log.info("%s is cancelled: its person may not capture any more.", spec.job_id)
        withdrawn.append(spec.job_id)
    return tuple(withdrawn)


def _may_capture(owner: str | None) -> bool:
    """By the rules of this moment; of whoever never signed in here nobody can tell."""
    if owner is None or not is_account(owner):
        return True
    if not settings().allow_capture:
        return False
    # Late: a server starts without the database, and few jobs wait.
    from profiler_core.store.history.people import known_person
    from profiler_core.ui.sign_in.by_token import role_now
    from profiler_core.ui.sign_in.roles import ALLOWED

    person = known_person(owner)
    if person is None:
        return True
    role = role_now(person)
    return role is not None and "capture" in ALLOWED[role]

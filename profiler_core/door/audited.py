"""What every deed needs: whose it is, the environment of the code it runs, its audit entry."""

from typing import TypedDict

from profiler_core.door.asker import AGENT, Asker
from profiler_core.settings import settings
from profiler_core.worker.environment import child_environment

LONGEST_TITLE = 300


class Whose(TypedDict):
    """What a job keeps of who asked for it, as words of `jobs.submit`."""

    owner: str | None
    token: str | None


def whose(asker: Asker) -> Whose:
    """To be kept with each job that somebody asks for."""
    return {"owner": owner_for(asker), "token": asker.token}


def owner_for(asker: Asker) -> str | None:
    """Whose the job is; None: nobody signs in here."""
    return AGENT if asker.is_agent else asker.person if asker.signed_in else None


def for_code_of(asker: Asker) -> dict[str, str]:
    """The environment of a process that runs this person's code."""
    return child_environment(
        kept_names=settings().capture_variables, is_own_machine=asker.is_own_machine
    )


def write_down(asker: Asker, action: str, subject: str, **detail: object) -> None:
    """Put the deed into the audit, before anything starts.

    Raises:
        HistoryUnavailable: the audit cannot be written.
    """
    from profiler_core.store import history  # an agent's server starts without the database

    if asker.is_agent:
        detail["by"] = AGENT
    history.note(asker.person, action, subject, **detail)

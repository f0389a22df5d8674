"""Which inference servers a request may have profiled: those that the owner listed.

On one's own machine any address; on a server for several people an address that somebody typed
would let the server be used to reach what only it can reach.
"""

from collections.abc import Sequence

from profiler_core.capture.elsewhere.profiler_route import ProfiledServer
from profiler_core.door.asker import Asker, Refused, check_may_capture
from profiler_core.door.audited import LONGEST_TITLE, for_code_of, owner_for, whose, write_down
from profiler_core.errors import BadInput
from profiler_core.jobs import service as jobs
from profiler_core.settings import FILE, Server, settings
from profiler_core.store import incoming
from profiler_core.store.owners import room_left
from profiler_core.worker.environment import Need, child_environment
from profiler_core.worker.process import module_words

_MODULE = "profiler_core.cli.server_profile_job"  # a stage above: only its process knows it
_NEEDS: tuple[Need, ...] = ("remote",)
_LONGEST_S = 600.0
_LONGEST = 200  # characters of a text that is repeated


def may_name_any_server(asker: Asker) -> bool:
    """Whether this person may pass any address: on their own machine, and never as an agent."""
    return asker.is_own_machine and not asker.is_agent


def start_server_profile(asker: Asker | None, name: str, traces: str, seconds: float) -> str:
    """Submit the profiling of a running server as a job; returns its id.

    Args:
        asker: who asks.
        name: of the settings, or an address.
        traces: where it writes; empty: as the settings say.
        seconds: how long.

    Raises:
        Refused: this person may not, or not that server.
        BadInput: there is no such server, or it is not said where it writes.
        HistoryUnavailable: the audit cannot be written; nothing starts then.
    """
    asker = check_may_capture(asker)
    server = _server_for(name.strip(), traces.strip(), asker)
    ProfiledServer(server.url)
    if not 0 < seconds <= _LONGEST_S:
        raise BadInput(
            f"A server is to be profiled for {seconds:g} s.",
            remedy=f"Choose up to {_LONGEST_S:g} s.",
        )
    upload_id = incoming.new_upload_id()
    owner = owner_for(asker)
    if owner is not None and room_left(owner) == 0:
        raise Refused(
            "Your uploads take all the room that one person may have here.",
            remedy="Delete some of them, and empty the trash.",
        )
    write_down(asker, "profile server", name[:LONGEST_TITLE], url=server.url, seconds=seconds)
    words = [
        upload_id,
        f"--url={server.url}",
        f"--traces={server.traces}",
        f"--seconds={seconds:g}",
        *([f"--owner={owner}"] if owner else []),
    ]
    return jobs.submit(
        module_words(_MODULE, *words),
        kind="ingest",
        title=f"Profile of {name}"[:LONGEST_TITLE],
        subject=upload_id,
        **whose(asker),
        needs=_NEEDS,
        environment=for_code_of(asker)
        if asker.is_own_machine
        else child_environment(_NEEDS, kept_names=settings().capture_variables),
    )


def is_profile(command: Sequence[str]) -> bool:
    """Whether a job of this command profiles a server."""
    return _MODULE in command


def check_still_listed(command: Sequence[str]) -> None:
    """May the server be profiled still that a job of this command profiles?

    Raises:
        Refused: it is not listed any more, or writes elsewhere by now.
        BadInput: settings.toml cannot be used.
    """
    listed = settings().servers.values()
    if not any(
        {f"--url={server.url}", f"--traces={server.traces}"} <= set(command) for server in listed
    ):
        raise Refused(
            f"The server that it was to profile is not in [servers] of {FILE} any more.",
            remedy="Choose one from the list.",
        )


def _server_for(name: str, traces: str, asker: Asker) -> Server:
    listed = settings().servers.get(name)
    if may_name_any_server(asker):
        where = traces or (listed.traces if listed is not None else "")
        if not where:
            raise BadInput(
                "It is not said where the server writes its traces.",
                remedy="Name a folder, USER@HOST:DIR or a URL.",
            )
        return Server(listed.url if listed is not None else name, where)
    if listed is None or traces not in ("", listed.traces):
        raise Refused(
            f"The server {name[:_LONGEST]} may not be profiled from here.",
            remedy=f"Choose one from the list, or ask whoever runs this to add it to [servers] in "
            f"{FILE}.",
        )
    return listed

"""All that is wrong with a server before it starts, at once."""

import errno
import math
import os
import socket
from collections.abc import Iterator

from profiler_core import extras
from profiler_core.errors import FusionscopeError
from profiler_core.home import cache_directory, home_directory
from profiler_core.operate import parts
from profiler_core.operate.addresses import is_loopback
from profiler_core.operate.fault import Fault, fault_of
from profiler_core.operate.plan import Plan
from profiler_core.operate.secret_checks import secret_faults
from profiler_core.operate.setting_checks import setting_faults
from profiler_core.settings import settings, settings_file

_COMMAND = "command line"
_DATABASE, _ARTIFACTS = "FUSIONSCOPE_DATABASE_URL", "FUSIONSCOPE_ARTIFACTS_URL"


def faults_of(plan: Plan, *, is_to_start: bool = True) -> tuple[Fault, ...]:
    """Everything that is wrong, then what only the owner can check.

    Args:
        plan: what is to be served.
        is_to_start: its ports must be free, which those of a running server are not.
    """
    faults = [*_of_command(plan), *setting_faults(plan.name), *secret_faults(plan), *_of_home()]
    if is_to_start:
        faults += _of_ports(plan)
    if _are_settings_usable():
        faults += [*_of_stores(), *_of_proxy(plan)]
    return tuple(sorted(faults, key=lambda fault: not fault.stops))


def _are_settings_usable() -> bool:
    """Without them nobody knows which database is meant."""
    try:
        settings()
    except FusionscopeError:
        return False
    return True


def _of_command(plan: Plan) -> Iterator[Fault]:
    lacking = extras.missing("server")
    if lacking:
        text = f"It lacks {', '.join(lacking)}."
        yield Fault("this Python", "", "", text, extras.how_to("server"))
    if getattr(os, "geteuid", lambda: 1)() == 0:
        yield Fault(
            "this process", "its user", "root",
            "Whatever reads traces or captures would be root too.",
            "Start it as a user of its own, as deploy/fusionscope.service does.", stops=False,
        )  # fmt: skip
    if not plan.name or any(sign in plan.name for sign in "/ :"):
        yield Fault(
            _COMMAND, "--name", plan.name,
            "That is no name of a server." if plan.name else
            "The server's name is told neither here nor by redirect_uri.",
            "Write what people type, without https://: --name fusionscope.your-company.com",
        )  # fmt: skip
    if not is_loopback(plan.address) and not plan.is_behind_proxy:
        yield Fault(
            _COMMAND, "--address", plan.address,
            "Others reach it there without TLS: cookies and runs could be read on the way.",
            "Leave it out, or add --behind-proxy where only a proxy that speaks TLS reaches it.",
        )  # fmt: skip


def _of_ports(plan: Plan) -> Iterator[Fault]:
    for port in plan.ports:
        try:
            kind, _, _, _, address = socket.getaddrinfo(
                plan.address.strip("[]") or None, port, type=socket.SOCK_STREAM,
                flags=socket.AI_PASSIVE,
            )[0]  # fmt: skip
            with socket.socket(kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
        except (OSError, OverflowError) as error:
            number = getattr(error, "errno", None)
            why = "Another process listens there." if number == errno.EADDRINUSE else f"{error}."
            remedy = "End that one, or choose another --port."
            yield Fault(_COMMAND, "--port", f"{plan.address}:{port}", why, remedy)


def _of_home() -> Iterator[Fault]:
    for folder, check in (
        (home_directory(), parts.check_disk),
        (cache_directory(), parts.check_cache),
    ):
        try:
            check()
        except OSError as error:
            yield Fault(
                "environment", "FUSIONSCOPE_HOME", str(folder),
                f"{error.strerror}." if error.strerror else f"{error}.",
                "Let the user who runs the server write there, and leave 1 GB free.",
            )  # fmt: skip
            return


def _of_stores() -> Iterator[Fault]:
    from profiler_core.store.history import artifacts, database

    decisions = settings()
    try:
        database.check()
    except FusionscopeError as error:
        yield fault_of(*_place(_DATABASE, "database_url"), error)
    if decisions.artifacts_url is None:
        return
    try:
        store = artifacts.artifacts()
        if store is not None:
            store.check()
    except FusionscopeError as error:
        yield fault_of(*_place(_ARTIFACTS, "artifacts_url"), error)


def _place(variable: str, key: str) -> tuple[str, str]:
    """(where the URL stands, by what it is called there)."""
    if os.environ.get(variable):
        return "environment", variable
    return str(settings_file()), key


def _at_least(n_bytes: int, small: str, n_small: int, large: str, n_large: int) -> str:
    """The size in a proxy's whole units: small ones below a large one."""
    unit, n_unit = (large, n_large) if n_bytes >= n_large else (small, n_small)
    return f"{math.ceil(n_bytes / n_unit)}{unit}"


def _of_proxy(plan: Plan) -> Iterator[Fault]:
    largest = settings().largest_upload_bytes
    yield Fault(
        "the proxy", "its largest body", "",
        "It cannot be asked from here, and refuses uploads above its own limit.",
        f"Set client_max_body_size {_at_least(largest, 'm', 2**20, 'g', 2**30)} in nginx, or "
        f"max_size {_at_least(largest, 'MB', 10**6, 'GB', 10**9)} in Caddy: largest_upload_gb is "
        f"{largest / 1e9:g}.",
        stops=False,
    )  # fmt: skip
    if plan.n_workers > 1:
        servers = " ".join(f"server {plan.address}:{port};" for port in plan.ports)
        yield Fault(
            "the proxy", "its upstream", "",
            f"It must know all {plan.n_workers} workers, and lead a browser to the same one.",
            f"Write into the upstream of deploy/nginx.conf: {servers}", stops=False,
        )  # fmt: skip

"""`serve`: a server for a team. It checks all settings first, and says all that is wrong."""

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.home import claim_home
from profiler_core.operate.checks import faults_of
from profiler_core.operate.fault import Fault
from profiler_core.operate.plan import Plan, usual_secrets
from profiler_core.operate.secret_checks import name_in
from profiler_core.settings import settings

_MOST_WORKERS = 64


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "serve",
        help="a server for a team, after a look at its settings",
        description="Starts the dashboard for a team, behind a proxy that speaks TLS. "
        "All settings are checked first; docs/deploy.md walks through them.",
    )
    parser.add_argument(
        "--check", action="store_true",
        help="only check: 0 where it could start, 1 where not",
    )  # fmt: skip
    parser.add_argument("--name", help="what people type (default: the name in redirect_uri)")
    parser.add_argument("--base-path", default="", help="beside other services of that name")
    parser.add_argument("--address", default="127.0.0.1", help="where the proxy reaches it")
    parser.add_argument("--port", type=int, default=8501, help="of the first worker")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N",
        help="processes, at N ports beginning with --port, for the proxy to choose among",
    )  # fmt: skip
    parser.add_argument(
        "--behind-proxy",
        action="store_true",
        help="only a proxy that speaks TLS reaches --address, though it is not this machine's own",
    )
    parser.add_argument(
        "--secrets", type=Path, metavar="FILE", help="where people sign in "
        "(default: .streamlit/secrets.toml, here or in the user's home)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Check, then serve until a signal comes.

    Raises:
        BadInput: the number of workers or the port is none.
    """
    plan = _plan(arguments)
    faults = faults_of(plan, is_to_start=not arguments.check)
    wrong = [fault for fault in faults if fault.stops]
    if not arguments.quiet or wrong:
        _print(faults)
    if wrong:
        n = f"{len(wrong)} settings are" if len(wrong) > 1 else "1 setting is"
        print(f"The server does not start: {n} wrong.", file=sys.stderr)
        return 1
    if arguments.check:
        if not arguments.quiet:
            print(f"The server can start as {plan.name}.")
        return 0
    from profiler_core.operate import log, secret_words
    from profiler_core.operate.workers import Workers

    secret_words.watch(plan.secrets)
    log.configure_server(settings().log_format)
    with suppress(OSError):  # its web processes say what cannot be written
        claim_home()  # one that is started again later begins no other
    commands = {f"{plan.address}:{port}": plan.command(port) for port in plan.ports}
    return Workers(commands).run()


def _plan(arguments: argparse.Namespace) -> Plan:
    if not 1 <= arguments.workers <= _MOST_WORKERS:
        raise BadInput(f"--workers is {arguments.workers}.", remedy=f"Write 1 to {_MOST_WORKERS}.")
    if not 1 <= arguments.port <= 65536 - arguments.workers:
        raise BadInput(f"--port is {arguments.port}.", remedy="Write one that is free, like 8501.")
    secrets = arguments.secrets or usual_secrets()
    return Plan(
        name=(arguments.name or name_in(secrets)).strip().lower(),
        secrets=secrets,
        address=arguments.address,
        port=arguments.port,
        base_path=arguments.base_path.strip("/"),
        n_workers=arguments.workers,
        is_behind_proxy=arguments.behind_proxy,
    )


def _print(faults: tuple[Fault, ...]) -> None:
    for fault in faults:
        print(f"{'' if fault.stops else 'To check: '}{fault.text}\n", file=sys.stderr)

"""`open [RUN_OR_TRACE…]`: the dashboard in the browser, already at that run or comparison.

Without the dashboard's extra it is a report of the runs instead.

A dashboard of this user that runs already is used; else one is started here and lives until
Ctrl-C. The link lets in one browser, once. Where no browser can be opened, it is printed how to
reach it from afar.
"""

import argparse
import getpass
import os
import signal
import socket
import subprocess
import sys
import time
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlencode

from profiler_core import extras, home, page_specs
from profiler_core.errors import BadInput
from profiler_core.ingest.kinds import accepted_sentence, kind_of_trace
from profiler_core.ingest.run import open_run
from profiler_core.operate.plan import SECRETS
from profiler_core.resources import dashboard_words
from profiler_core.session.folder import runs_at
from profiler_core.store import browser_links, library, opened, running
from profiler_core.store.private_file import write_private
from profiler_core.store.running import Running

_PORT = 8501  # Streamlit's own
_START_TIMEOUT_S = 60.0
_END_TIMEOUT_S = 15.0
_POLL_S = 0.1
_LOOK_S = 0.5  # whether the dashboard has ended by itself


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "open",
        help="the dashboard in the browser, at these runs",
        epilog=f"What can be opened: {accepted_sentence()}",
    )
    parser.add_argument(
        "paths",
        type=Path,
        nargs="*",
        metavar="RUN_OR_TRACE",
        help="baseline and candidates, or the folder of a capture; nothing: the newest comparison",
    )
    parser.add_argument(
        "--page",
        help="timeline, kernels, fusion … (`docs pages` lists them; default: the overview)",
    )
    parser.add_argument("--port", type=int, help=f"of a new dashboard (default {_PORT}, if free)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(arguments: argparse.Namespace) -> int:
    """Open it; returns at once where a dashboard runs already.

    Raises:
        BadInput: a path holds no run or trace, or no dashboard can be started.
    """
    if arguments.paths and extras.missing("dashboard"):
        return _report(arguments)
    extras.require("dashboard", "The dashboard")
    keys = [_key(path) for path in runs_at(arguments.paths)]
    page = _page(arguments.page)
    server = running.find()
    process = None
    if server is None:
        process = _start(arguments.port)
    try:
        if server is None and process is not None:
            server = _wait(process)
        assert server is not None  # noqa: S101 - _wait raises where there is none
        query = {"baseline": keys[0], "candidate": keys[1:]} if keys else {}
        address = f"{server.url}{page}{'?' if query else ''}{urlencode(query, doseq=True)}"
        token = browser_links.new_token()
        print(browser_links.link(address, token), flush=True)
        if arguments.no_browser or not browser_links.show_in_browser(address, token):
            print(_tunnel(server.port), flush=True)
        if process is not None:
            # SIGTERM ends it as Ctrl-C does, so that no dashboard is left behind.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            print("Ctrl-C ends the dashboard.", flush=True)
            while process.poll() is None:  # polars lets no signal interrupt a plain wait()
                time.sleep(_LOOK_S)
    except KeyboardInterrupt:  # how it is meant to end
        return 0
    finally:
        if process is not None:
            _end(process)
    return 0


def _report(arguments: argparse.Namespace) -> int:
    """The runs as a report in the browser: what there is of the dashboard without its extra.

    The file is `<home>/reports/<hash of the runs' paths>.html`, written anew each time.

    Raises:
        BadInput: a page or port of the dashboard is asked for, a path holds no run or trace, or
            the report cannot be written.
    """
    # Only here: a report's charts and analyses take half a second to import.
    from profiler_core.report.contents import gather
    from profiler_core.report.write import write_report
    from profiler_core.session.comparison import Comparison

    if arguments.page is not None or arguments.port is not None:
        extras.require("dashboard", f"--{'page' if arguments.page is not None else 'port'}")
    runs = runs_at(arguments.paths)
    contents = gather(Comparison.open(runs).check())
    name = blake2b("\0".join(str(path.resolve()) for path in runs).encode(), digest_size=8)
    file = home.home_directory() / "reports" / f"{name.hexdigest()}.html"
    write_report(contents, file)
    print(file, flush=True)
    if not arguments.no_browser:
        browser_links.show_file(file)
    modules = " and ".join(extras.missing("dashboard"))
    print(
        f"This is a report: the dashboard needs {modules}, not installed here.\n"
        f"{extras.how_to('dashboard')}",
        file=sys.stderr,
    )
    return 0


def _key(path: Path) -> str:
    """What names the run in an address, after making sure that there is one.

    Raises:
        NotARun: no run or trace lies there.
        NotATrace: it begins like a trace and is none.
    """
    entry = library.at_path(path.resolve() if path.exists() else path)
    trace = open_run(entry.path).trace
    kind = None if trace is None else kind_of_trace(trace)
    if trace is not None and kind is not None:
        kind.check(trace)
    opened.allow([path])
    return entry.key


def _page(name: str | None) -> str:
    spec = page_specs.start_page() if name is None else page_specs.page_spec(name)
    if spec is None:
        names = ", ".join(spec.name for spec in page_specs.page_specs())
        raise BadInput(f"There is no page {name}.", remedy=f"Use one of {names}.")
    return spec.path


def _start(port: int | None) -> "subprocess.Popen[bytes]":
    log = home.home_directory() / "server.log"
    write_private(log, b"")  # the server prints its link into it
    chosen = port or (_PORT if _is_free(_PORT) else 0)
    with log.open("wb") as output:
        return subprocess.Popen(
            dashboard_words(
                "--server.headless=true",
                f"--server.port={chosen}",
                # Streamlit makes variables of what such a file holds, and the folder that runs
                # are opened in may be somebody else's.
                f"--secrets.files={Path.home() / SECRETS}",
            ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _wait(process: "subprocess.Popen[bytes]") -> Running:
    """Until it answers.

    Raises:
        BadInput: it ends, or does not answer in time.
    """
    deadline = time.monotonic() + _START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        server = running.find()
        if server is not None:
            return server
        time.sleep(_POLL_S)
    log = home.home_directory() / "server.log"
    last_line = log.read_text("utf-8", "replace").strip().splitlines()[-1:]
    raise BadInput(
        f"The dashboard did not start{': ' + last_line[0] if last_line else '.'}",
        remedy=f"Look into {log}, or name another --port.",
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _tunnel(port: int) -> str:
    """The line that makes the address work on the machine one sits at."""
    # "client-address client-port server-address server-port", as sshd sets it
    words = os.environ.get("SSH_CONNECTION", "").split()
    host = words[2] if len(words) == 4 else socket.gethostname()
    port_option = f" -p {words[3]}" if len(words) == 4 and words[3] != "22" else ""
    line = f"ssh -N -L {port}:localhost:{port}{port_option} {getpass.getuser()}@{host}"
    return f"From another machine, run this there and open the address:\n  {line}"

"""`server-profile URL`: profile a running vLLM or SGLang, fetch its traces, make runs of them."""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from profiler_core import run_directory as names
from profiler_core.capture.elsewhere.far_files import Listing
from profiler_core.capture.elsewhere.profiler_route import ProfiledServer
from profiler_core.capture.signals import cancel_flag
from profiler_core.cli.main import run_verb
from profiler_core.cli.server_traces import Folder, folder_at, is_capture, new_traces, put_together
from profiler_core.errors import BadInput, Cancelled
from profiler_core.home import uploads_directory
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.owner_file import write_owner
from profiler_core.settings import settings
from profiler_core.store import incoming, library
from profiler_core.store.owners import room_left
from profiler_core.store.uploads import Accepted, accept
from profiler_core.units import format_bytes

_LOOK_EVERY_S = 1.0
_COPIES = 3  # of the traces: fetched, packed, and unpacked as an upload
_STEADY_LOOKS = 2  # without a change; then a file is written whole
Say = Callable[[str], None]


@dataclass(frozen=True)
class Wish:
    """What is asked for. options: of SGLang's start; n_steps: it stops by itself after so many."""

    server: ProfiledServer
    traces: str
    seconds: float
    options: dict[str, object]
    n_steps: int | None = None
    stop_within_s: float = 1800.0
    written_within_s: float = 120.0


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "server-profile", help="profile a running vLLM or SGLang, and open what it writes"
    )
    parser.add_argument(
        "url", metavar="URL", help="http://HOST:PORT, or a name of [servers] in settings.toml"
    )
    parser.add_argument(
        "--traces", metavar="WHERE",
        help="where the server writes its traces: a folder of this machine, USER@HOST:DIR, or a "
        "URL such as s3://…; with a name it is in the settings",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="how long it is profiled; with --steps at most"
    )
    parser.add_argument("--steps", type=int, help="of SGLang: stop after so many")
    parser.add_argument("--output-dir", help="of SGLang: the folder there (default: the server's)")
    parser.add_argument("--activities", help="of SGLang: CPU,GPU (default), MEM")
    parser.add_argument(
        "--key-variable", metavar="NAME", help="the variable that holds the server's API key"
    )
    parser.add_argument(
        "--stop-timeout", type=float, default=1800.0, metavar="SECONDS",
        help="for stopping, while the server writes its traces",
    )  # fmt: skip
    parser.add_argument(
        "--wait", type=float, default=120.0, metavar="SECONDS", help="for the files after that"
    )
    parser.add_argument("--open", action="store_true", help="then open it in the dashboard")
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and stop")


def run(arguments: argparse.Namespace) -> int:
    """Profile, fetch, and print what came.

    Raises:
        BadInput: the server refuses or does not answer, or wrote nothing.
        Cancelled: its profiler was stopped all the same.
    """
    wish = _wish_of(arguments)
    if arguments.dry_run:
        print(_plan(wish))
        return 0

    def say(text: str) -> None:
        if not arguments.quiet:
            print(text, file=sys.stderr, flush=True)

    accepted = profile(wish, say, cancel_flag())
    paths = [str(library.entry(key).path) for key in accepted.keys]
    print("\n".join([*paths, *accepted.notes]))
    return run_verb("open", ["open", *paths]) if arguments.open else 0


def _wish_of(arguments: argparse.Namespace) -> Wish:
    named = settings().servers.get(arguments.url)
    traces = arguments.traces or (named.traces if named is not None else None)
    if not traces:
        raise BadInput(
            "It is not said where the server writes its traces.",
            remedy="Pass --traces with a folder, USER@HOST:DIR or a URL.",
        )
    options: dict[str, object] = {}
    if arguments.steps is not None:
        options["num_steps"] = _checked_steps(arguments.steps)
    if arguments.output_dir:
        options["output_dir"] = arguments.output_dir
    if arguments.activities:
        options["activities"] = arguments.activities.split(",")
    key = os.environ.get(arguments.key_variable or "")
    if arguments.key_variable and not key:
        raise BadInput(
            f"There is no variable {arguments.key_variable} in the environment.",
            remedy="Set it to the server's API key.",
        )
    server = ProfiledServer(named.url if named is not None else arguments.url, key)
    if arguments.seconds <= 0:
        raise BadInput(f"--seconds is {arguments.seconds:g}.", remedy="Pass more than 0.")
    return Wish(
        server, traces, arguments.seconds, options, arguments.steps, arguments.stop_timeout,
        arguments.wait,
    )  # fmt: skip


def _checked_steps(number: int) -> int:
    """The same.

    Raises:
        BadInput: it is no number of steps.
    """
    if number < 1:
        raise BadInput(f"--steps is {number}.", remedy="Pass 1 or more.")
    return number


def _plan(wish: Wish) -> str:
    url = wish.server.url
    stop = "waits until it has stopped by itself" if wish.n_steps else f"POST {url}/stop_profile"
    return "\n".join(
        [
            f"POST {url}/start_profile {wish.options or ''}".rstrip(),
            f"waits {wish.seconds:g} s, while the server has to work",
            stop,
            f"fetches what is new below {wish.traces}, and {names.GRAPH_CAPTURES}/",
        ]
    )


def profile(
    wish: Wish,
    say: Say,
    is_cancelled: Callable[[], bool],
    *,
    upload_id: str = "",
    owner: str = "",
) -> Accepted:
    """Start the profiler, wait, stop it, fetch the new traces, and make runs of them.

    Args:
        wish: what is asked for.
        say: told what is done.
        is_cancelled: asked often.
        upload_id: of the runs; empty: a new one.
        owner: whose they are; empty: nobody's.

    Raises:
        BadInput: the server refuses or does not answer, or nothing new can be read.
        Cancelled: after the profiler was stopped.
    """
    folder = folder_at(wish.traces)
    before = folder.listing()
    wish.server.start(wish.options)
    until = time.monotonic() + wish.seconds
    say(f"Profiles {wish.server.url} for {wish.seconds:g} s")
    try:
        while time.monotonic() < until and not is_cancelled():
            if wish.n_steps and new_traces(before, folder.listing()):
                break
            time.sleep(min(_LOOK_EVERY_S, max(0.0, until - time.monotonic())))
    finally:
        # With steps it has stopped by itself, once it has done so many.
        if not (wish.n_steps and new_traces(before, folder.listing())):
            say("Stops the profiler, which writes its traces now")
            wish.server.stop(wish.stop_within_s)
    if is_cancelled():
        raise Cancelled("Cancelled; the profiler was stopped.", remedy="Start it again.")
    written = _written(folder, before, wish, is_cancelled)
    captures = {name: about[0] for name, about in folder.listing().items() if is_capture(name)}
    size = format_bytes(int(sum(written.values())))
    say(f"Fetches {len(written)} traces ({size}) and {len(captures)} of graph captures")
    _check_disk(sum(written.values()) + sum(captures.values()), wish)
    upload_id = upload_id or incoming.new_upload_id()
    with tempfile.TemporaryDirectory(prefix="fusionscope-server-") as temporary:
        fetched = Path(temporary) / "traces"
        fetched.mkdir()
        folder.fetch([*written, *captures], fetched)
        put_together(fetched, written)
        packed = shutil.make_archive(str(Path(temporary) / "server"), "zip", fetched)
        _check_owners_room(Path(packed).stat().st_size, owner, wish)
        part = incoming.part_path(upload_id, 0)
        shutil.move(packed, part)
    if owner:
        write_owner(part.parent, owner)
    incoming.keep(part, f"{PurePosixPath(wish.server.url).name.replace(':', '-')}.zip")
    return accept(upload_id, (0,), lambda text, _done, _total: say(text), owner)


def _check_disk(n_bytes: float, wish: Wish) -> None:
    """Is there room for what is fetched, beside it for the archive, and for what it becomes?

    Raises:
        BadInput: there is not.
    """
    folder = uploads_directory()
    folder.mkdir(parents=True, exist_ok=True)
    places = (Path(tempfile.gettempdir()), folder)
    free = min(shutil.disk_usage(path).free for path in places) - KEEP_FREE_BYTES
    if n_bytes * _COPIES > free:
        raise BadInput(
            f"The server wrote {format_bytes(int(n_bytes))} below {wish.traces}, for which the "
            "disk here has no room.",
            remedy="Make room, or profile for less long.",
        )


def _check_owners_room(n_bytes: int, owner: str, wish: Wish) -> None:
    """May this person's uploads take so much more?

    Raises:
        BadInput: they may not; the traces stay where the server wrote them.
    """
    left = room_left(owner) if owner else None
    if left is not None and n_bytes > left:
        raise BadInput(
            f"The traces take {format_bytes(n_bytes)}, and your uploads may take "
            f"{format_bytes(left)} more.",
            remedy=f"Delete uploads and empty the trash; the traces lie below {wish.traces}.",
        )


def _written(
    folder: Folder, before: Listing, wish: Wish, is_cancelled: Callable[[], bool]
) -> dict[str, float]:
    """The bytes of each new trace, once none grows any more.

    Raises:
        BadInput: there is none after all that time.
        Cancelled: meanwhile.
    """
    until = time.monotonic() + wish.written_within_s
    last: dict[str, float] = {}
    n_steady = 0
    while n_steady < _STEADY_LOOKS:
        if is_cancelled():
            raise Cancelled("Cancelled; the profiler was stopped.", remedy="Start it again.")
        if time.monotonic() > until:
            raise (
                _nothing_written(wish)
                if not last
                else BadInput(
                    f"The traces below {wish.traces} still grow after {wish.written_within_s:g} s.",
                    remedy="Pass a longer --wait.",
                )
            )
        now = new_traces(before, folder.listing())
        n_steady = n_steady + 1 if now and now == last else 0
        last = now
        if n_steady < _STEADY_LOOKS:
            time.sleep(_LOOK_EVERY_S)
    return last


def _nothing_written(wish: Wish) -> BadInput:
    return BadInput(
        f"{wish.server.url} wrote no new trace below {wish.traces} within "
        f"{wish.written_within_s:g} s.",
        remedy="Send it requests while it is profiled, and name the folder that it writes to: "
        "vLLM's torch_profiler_dir, SGLang's SGLANG_TORCH_PROFILER_DIR (else /tmp).",
    )

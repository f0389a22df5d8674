"""A folder on another machine, over ssh: what is in it, and copies of its files."""

import json
import os
import resource
import shutil
import signal
import subprocess
import tarfile
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec

from profiler_core.capture.elsewhere.host import Address
from profiler_core.capture.elsewhere.transport import sent_text, ssh_words, starter
from profiler_core.errors import BadInput
from profiler_core.jobs.received import Member
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.typed import ready
from profiler_core.units import format_bytes

_FILES_SIDE = Path(__file__).with_name("files_side.py")
_LISTED_WITHIN_S = 60.0
_SENT_WITHIN_S = 3600.0
_NO_FOLDER = 3
_LONGEST_LISTING = 20_000_000  # bytes

Listing = dict[str, tuple[float, float]]  # path below the folder -> bytes, time


@dataclass(frozen=True)
class FarFolder:
    """A folder there, reached as ssh reaches that address."""

    address: Address
    folder: str

    def listing(self) -> Listing:
        """Its files.

        Raises:
            BadInput: there is no such folder, or the machine cannot be reached.
        """
        with tempfile.TemporaryFile() as output:
            self._run(None, output.fileno(), _LISTED_WITHIN_S, _LONGEST_LISTING)
            output.seek(0)
            try:
                about = msgspec.json.decode(output.read(_LONGEST_LISTING), type=ready(Listing))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise BadInput(
                    f"{self.address.host} did not list {self.folder}: {error}.",
                    remedy="Copy the folder by hand and open it.",
                ) from error
        # A name that leads out of the folder would be a path of this machine.
        return {name: facts for name, facts in about.items() if _is_inside(name)}

    def fetch(self, names: Collection[str], target: Path) -> None:
        """Copy these into a folder, below their paths.

        Raises:
            BadInput: it did not work.
        """
        # What comes is written here, unpacked beside it, and packed as an upload.
        room = max(0, (shutil.disk_usage(target).free - KEEP_FREE_BYTES) // 3)
        with tempfile.TemporaryFile(dir=target) as output:
            self._run(list(names), output.fileno(), _SENT_WITHIN_S, room)
            output.seek(0)
            try:
                with tarfile.open(fileobj=output, tarinfo=Member) as archive:
                    members = [member for member in archive if member.isreg()]
                    # A file with holes takes no room on its way, and as much as it says in a zip.
                    if sum(member.size for member in members) > room:
                        raise self._too_much(room)
                    archive.extractall(target, members, filter="data")
            except (tarfile.TarError, OSError) as error:
                raise BadInput(
                    f"What came from {self.folder} cannot be unpacked: {error}.",
                    remedy="Make room, or copy the folder by hand and open it.",
                ) from error
        missing = [name for name in names if not (target / name).is_file()]
        if missing:
            raise BadInput(
                f"{self.address.host} listed {missing[0][:200]} and did not send it.",
                remedy="Look whether something deletes it there, and try it again.",
            )

    def _too_much(self, most_bytes: int) -> BadInput:
        return BadInput(
            f"{self.address.host} sends more than {format_bytes(most_bytes)} of {self.folder}, "
            "and there is no room for more.",
            remedy="Make room, or profile for less long.",
        )

    def _run(self, names: list[str] | None, output: int, within_s: float, most_bytes: int) -> None:
        order = json.dumps({"folder": self.folder, "names": names}).encode() + b"\n"
        try:
            done = subprocess.run(
                ssh_words(self.address, starter(None)),
                input=sent_text(_FILES_SIDE) + order,
                stdout=output,
                stderr=subprocess.PIPE,
                timeout=within_s,
                check=False,
                preexec_fn=partial(_bound_files, most_bytes),
            )
        except FileNotFoundError:
            raise BadInput("ssh is not on the PATH here.", remedy="Install it.") from None
        except subprocess.TimeoutExpired:
            raise BadInput(
                f"{self.address.host} did not send its files within {within_s:g} s.",
                remedy="Copy the folder by hand and open it.",
            ) from None
        if done.returncode == -signal.SIGXFSZ or os.fstat(output).st_size >= most_bytes:
            raise self._too_much(most_bytes)
        if done.returncode == _NO_FOLDER:
            raise BadInput(
                f"There is no folder {self.folder} on {self.address.host}.",
                remedy="Name the folder that the server writes its traces to.",
            )
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = lines[-1].rstrip(".") if lines else f"status {done.returncode}"
            raise BadInput(
                f"{self.address.host} cannot be reached: {reason}.",
                remedy=f"Try ssh {self.address.host} by hand (docs/hosts.md).",
            )


def _bound_files(most_bytes: int) -> None:
    """In the process of ssh: what it writes grows no larger."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name

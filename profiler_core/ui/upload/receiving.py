"""Follows the process that makes runs of what was uploaded."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from profiler_core.capture.jobs import working_directory
from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.ui.upload.drop_zone import Arrived

Show = Callable[[str, float | None], None]  # a sentence, and how much is done (0 to 1)


@dataclass(frozen=True)
class Received:
    """The runs' keys, the baseline first, and a sentence for each file that is in none."""

    keys: tuple[str, ...]
    notes: tuple[str, ...]


def receive(arrived: Arrived, show: Show, owner: str) -> Received:
    """Run the process to its end, showing what it says; its end stands in the audit.

    Raises:
        BadInput: nothing usable was among the files; the sentence is the process's own.
    """
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "profiler_core.store.uploads", arrived.upload_id),
            *(str(place) for place in arrived.places),
            f"--owner={owner}",
        ],
        cwd=working_directory(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    said: dict[str, object] = {}
    assert process.stdout is not None  # noqa: S101 - PIPE was asked for
    with process.stdout as lines:
        for line in lines:
            said = json.loads(line)
            if "text" in said:
                done, total = said.get("done"), said.get("total")
                share = (
                    done / total
                    if isinstance(done, int) and isinstance(total, int) and total
                    else None
                )
                show(str(said["text"]), share)
    process.wait()
    keys, notes = said.get("keys"), said.get("notes")
    if not isinstance(keys, list) or not isinstance(notes, list):
        raise BadInput(
            str(said.get("problem") or "The files could not be read: the reader was ended."),
            remedy=str(said.get("remedy") or "Drop them again; a large trace needs free memory."),
        )
    history.note(owner, "upload", f"upload/{arrived.upload_id}", n_files=len(arrived.places))
    return Received(tuple(map(str, keys)), tuple(map(str, notes)))

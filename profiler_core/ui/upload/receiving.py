"""Follows the process that makes runs of what was uploaded."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from profiler_core.door import deeds
from profiler_core.door.asker import Asker
from profiler_core.errors import BadInput
from profiler_core.ui.upload.drop_zone import Arrived

Show = Callable[[str, float | None], None]  # a sentence, and how much is done (0 to 1)


@dataclass(frozen=True)
class Received:
    """The runs' keys, the baseline first, and a sentence for each file that is in none."""

    keys: tuple[str, ...]
    notes: tuple[str, ...]


def receive(arrived: Arrived, show: Show, who: Asker | None) -> Received:
    """Run the process to its end, showing what it says; the audit has it before it starts.

    Raises:
        Refused: this person may not upload.
        HistoryUnavailable: the audit cannot be written; nothing is read then.
        BadInput: nothing usable was among the files; the sentence is the process's own.
    """
    process = deeds.start_reading_upload(who, arrived.upload_id, arrived.places)
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
    return Received(tuple(map(str, keys)), tuple(map(str, notes)))

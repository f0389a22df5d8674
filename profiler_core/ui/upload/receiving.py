"""Follows the process that makes runs of what was uploaded."""

from collections.abc import Callable

from profiler_core.door import deeds
from profiler_core.door.asker import Asker
from profiler_core.store.uploads import Accepted
from profiler_core.ui.upload.drop_zone import Arrived

Show = Callable[[str, float | None], None]  # a sentence, and how much is done (0 to 1)


def receive(arrived: Arrived, show: Show, who: Asker | None) -> Accepted:
    """Run the process to its end, showing what it says; the audit has it before it starts.

    Raises:
        Refused: this person may not upload.
        HistoryUnavailable: the audit cannot be written; nothing is read then.
        BadInput: nothing usable was among the files; the sentence is the process's own.
    """
    worker = deeds.start_reading_upload(who, arrived.upload_id, arrived.places)
    for progress in worker.progress():
        if progress.text:
            show(progress.text, progress.share if progress.total else None)
    return worker.result(
        Accepted,
        ended="The files could not be read: the reader was ended.",
        remedy="Drop them again; a large trace needs free memory.",
    )

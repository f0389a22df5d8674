"""Follows the process that makes runs of what was uploaded, which goes on without the page."""

from collections.abc import Callable
from dataclasses import dataclass

from profiler_core.door import deeds
from profiler_core.door.asker import Asker
from profiler_core.store.uploads import Accepted
from profiler_core.ui.upload.drop_zone import Arrived
from profiler_core.worker.worker import Worker

Show = Callable[[str, float | None], None]  # a sentence, and how much is done (0 to 1)


@dataclass(frozen=True)
class Reading:
    """An upload that is being read, or was read while nobody looked."""

    worker: Worker

    @property
    def has_ended(self) -> bool:
        """Is there nothing to wait for?"""
        return not self.worker.is_running

    def follow(self, show: Show) -> None:
        """Show what it says, until it has ended or the page is left."""
        for progress in self.worker.progress():
            if progress.text:
                show(progress.text, progress.share if progress.total else None)

    def accepted(self) -> Accepted:
        """What it made; waits for it.

        Raises:
            BadInput: nothing usable was among the files; the sentence is the process's own.
        """
        return self.worker.result(
            Accepted,
            ended="The files could not be read: the reader was ended.",
            remedy="Drop them again; a large trace needs free memory.",
        )


def start_reading(arrived: Arrived, who: Asker | None) -> Reading:
    """Start the process; the audit has it before.

    Raises:
        Refused: this person may not upload.
        HistoryUnavailable: the audit cannot be written; nothing is read then.
    """
    return Reading(deeds.start_reading_upload(who, arrived.upload_id, arrived.places))

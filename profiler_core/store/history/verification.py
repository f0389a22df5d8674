"""Hash the files of recorded runs anew, whatever their times say."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from profiler_core.model.history import RecordedRun
from profiler_core.store.history import places
from profiler_core.store.history.integrity import changed_files, keep_if_missing, sentence

Outcome = Literal["unchanged", "changed", "remembered", "not here", "unfinished"]


@dataclass(frozen=True)
class Verified:
    """What became of one run; the sentence is empty where all is well."""

    run_id: str
    outcome: Outcome
    sentence: str


def verified(runs: Iterable[RecordedRun]) -> Iterator[Verified]:
    """Each run as it is asked for; reads all of its files.

    Runs of versions that kept no hashes are remembered as they are now. An artifact is compared
    with the hash in its name whenever it is opened.

    Raises:
        HistoryUnavailable: the database cannot be used.
    """
    for run in runs:
        directory = places.directory_of_key(run.key)
        if directory is None or not places.has_run(directory):
            yield Verified(run.run_id, "not here", "Its files are not on this machine.")
        elif run.status != "finished":
            yield Verified(run.run_id, "unfinished", f"It is {run.status}: no hashes are kept.")
        elif keep_if_missing(run.run_id, directory):
            yield Verified(run.run_id, "remembered", "It had no hashes yet; they are kept now.")
        elif changed := changed_files(run.run_id, directory, fully=True):
            yield Verified(run.run_id, "changed", sentence(changed))
        else:
            yield Verified(run.run_id, "unchanged", "")

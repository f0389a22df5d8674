"""From a recorded run to its files: the directory of this machine, else the team's artifact."""

from pathlib import Path

from profiler_core.errors import BadInput, NothingToAnalyse
from profiler_core.model.history import RecordedRun, RunHead
from profiler_core.settings import settings
from profiler_core.store.history import places
from profiler_core.store.history.artifacts import artifacts
from profiler_core.store.history.claims import is_another_persons
from profiler_core.store.history.integrity import refuse_if_changed
from profiler_core.store.records import read_record


def directory_of(recorded: RecordedRun) -> Path:
    """The run directory; an artifact is fetched into the cache the first time.

    Raises:
        FilesChanged: its files here are not those that were recorded.
        NothingToAnalyse: retention deleted the files, or they lie on another machine only.
        BadInput: the artifact cannot be read, was changed, or holds another run.
    """
    local = places.directory_of_key(recorded.key)
    if local is not None and _is_here(recorded):
        refuse_if_changed(recorded.run_id, local)
        return local
    if recorded.files_deleted_at is not None:
        raise NothingToAnalyse(
            f"The files of the run “{recorded.run_id}” were deleted "
            f"on {recorded.files_deleted_at[:10]}; its numbers are kept.",
            remedy="Tag runs that must stay, or raise keep_days.",
        )
    artifact_store = artifacts() if recorded.artifact is not None else None
    if artifact_store is None or recorded.artifact is None:
        raise NothingToAnalyse(
            f"The files of the run “{recorded.run_id}” are not on this machine; "
            f"they were recorded on {recorded.host or 'another one'}.",
            remedy="Open it there, or keep artifacts under a URL that both machines reach.",
        )
    directory = artifact_store.fetch(recorded.artifact)
    inside, _ = read_record(directory, may_be_alive=False)
    if inside.run_id and inside.run_id != recorded.run_id:
        # Earlier versions named artifacts by folders, which two runs of a capture could share.
        raise BadInput(
            f"The artifact {recorded.artifact} holds the run “{inside.run_id[:200]}”, "
            f"not “{recorded.run_id}”.",
            remedy=f"Import “{recorded.run_id}” again from {recorded.host or 'where it was made'}.",
        )
    return directory


def has_files(recorded: RunHead) -> bool:
    """True if `directory_of` is expected to succeed; does not use the network."""
    if _is_here(recorded):
        return True
    is_kept = recorded.artifact is not None and recorded.files_deleted_at is None
    return is_kept and settings().artifacts_url is not None


def _is_here(recorded: RunHead) -> bool:
    has_run = places.has_run(places.directory_of_key(recorded.key))
    return has_run and not is_another_persons(recorded.person, recorded.key)

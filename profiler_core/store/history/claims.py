"""What calls itself by the id of somebody else's run: refused where its files cannot settle it.

A run.json says its own id, so whoever may upload can write anybody's. Where the recorded files lie
here they are compared; where they do not, the id belongs to the person that the history names.
Somebody at the server's own command line may bring back what they like: that is how a backup of
single runs comes home.
"""

from collections.abc import Collection
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.model.history import RecordedRun
from profiler_core.person import is_account
from profiler_core.store.history import places
from profiler_core.store.history.query import run_ids_at
from profiler_core.store.key_parts import encode_part
from profiler_core.store.records import read_record


def refuse_to_replace(recorded: RecordedRun, key: str | None, person: str | None) -> None:
    """Before files are taken for those of a recorded run whose own are not here.

    Args:
        recorded: the run.
        key: where the files lie.
        person: who sends them; None: whoever owns the folder.

    Raises:
        BadInput: somebody who signed in sends them, and the run is another person's.
    """
    if _is_anothers(recorded.person, key, person):
        raise BadInput(
            f"The run “{recorded.run_id[:200]}” is somebody else's, and its files are not here.",
            remedy="Let whose run it is send them, or whoever runs the server: runs import.",
        )


def may_put_back(deleted_by: str, key: str | None, person: str | None) -> bool:
    """May the very files of a deleted run take it out of the trash, sent by this person?

    Args:
        deleted_by: who deleted it.
        key: where the files lie.
        person: who sends them; None: whoever owns the folder.
    """
    return not _is_anothers(deleted_by, key, person)


def refuse_id_of_capture(run_id: str, key: str | None) -> None:
    """Before an upload is recorded under an id that the history does not know yet.

    Args:
        run_id: that its run.json says.
        key: where the files lie.

    Raises:
        BadInput: a capture of this server has it, which is recorded once it has ended.
    """
    if key is None or places.origin_of(key) != "upload":
        return
    parts = run_id.split(".")
    for n_parts in range(1, len(parts)):
        folder = places.directory_of_key(f"run/{encode_part('.'.join(parts[:n_parts]))}")
        for directory in places.folders_in(folder) if folder is not None else ():
            inside = read_record(directory, may_be_alive=False)[0].run_id
            if places.has_run(directory) and inside == run_id:
                raise BadInput(
                    f"“{run_id[:200]}” is the id of a capture of this server.",
                    remedy="Give the run an id of its own: run_id in run.json.",
                )


def refuse_another_id(run_id: str, key: str) -> None:
    """Before what lies at a place is recorded.

    Args:
        run_id: that its run.json says.
        key: where it lies.

    Raises:
        BadInput: the history has another run there.
    """
    problem = another_id(run_id, run_ids_at(key))
    if problem is not None:
        raise BadInput(
            problem, remedy="Put its run.json back; another run belongs into a folder of its own."
        )


def another_id(run_id: str, recorded_ids: Collection[str]) -> str | None:
    """What is said of a folder whose run.json has another id than was recorded from it.

    Args:
        run_id: that its run.json says.
        recorded_ids: of what the history has there.
    """
    if not recorded_ids or run_id in recorded_ids:
        return None
    return (
        f"Its run.json says “{run_id[:200]}”, and the history has the run "
        f"“{min(recorded_ids)[:200]}” there."
    )


def is_another_run(run_id: str, owner: str, key: str) -> bool:
    """Does another run than this recorded one lie at its place, as far as its files tell?

    Who captures elsewhere names its folder, and each server has folders of its own; so a place
    alone names no run.

    Args:
        run_id: of the recorded run.
        owner: its person.
        key: of the library, where the history has it.
    """
    directory = places.directory_of_key(key)
    ids = frozenset() if directory is None else ids_in(directory)
    return _is_anothers(owner, key, None) or bool(ids and run_id not in ids)


def is_another_persons(owner: str, key: str) -> bool:
    """Does what lies at a recorded run's place here belong to somebody else, as far as is known?

    A run that was recorded by a user of the system, as servers of earlier versions recorded all,
    may be of anybody.

    Args:
        owner: the recorded run's person.
        key: of the library, where the history has it.
    """
    return is_account(owner) and _is_anothers(owner, key, None)


def ids_in(folder: Path) -> frozenset[str]:
    """By what the history would know the run, or the runs of the capture, in a folder.

    Without those whose run.json cannot be read.
    """
    directories = [folder] if places.has_run(folder) else sorted(folder.glob("*/"))
    ids = set()
    for directory in filter(places.has_run, directories):
        inside, problem = read_record(directory, may_be_alive=False)
        if problem is None:
            ids.add(inside.run_id or places.key_of(directory) or "")
    return frozenset(ids)


def _is_anothers(owner: str, key: str | None, person: str | None) -> bool:
    sender = person if person is not None else places.person_of(key) if key is not None else None
    return sender is not None and is_account(sender) and sender != owner

"""Whose turn it is: decided under one lock, by the supervisors themselves.

Captures wait for their device alone. All else shares slots, memory and disk: who has fewer jobs
running comes first, then who came first.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from profiler_core.errors import FusionscopeError
from profiler_core.jobs import directory as files
from profiler_core.jobs.directory import JobSpec, JobStatus
from profiler_core.jobs.rights import Right
from profiler_core.jobs.room import KEEP_FREE_BYTES, Room, room_at
from profiler_core.settings import settings
from profiler_core.units import format_bytes


class QueueFull(FusionscopeError):
    """No further job is taken now."""


@dataclass(frozen=True)
class Other:
    """Another job that is queued or running."""

    spec: JobSpec
    is_running: bool


@dataclass(frozen=True)
class Waiting:
    """Why a job does not start yet."""

    text: str
    n_ahead: int = 0  # jobs that wait too and come first; one that runs waits no more


def take_turn(directory: Path, spec: JobSpec, running: JobStatus, right: Right) -> Waiting | None:
    """Begin, or say what the job waits for.

    Args:
        directory: of the job.
        spec: of the job.
        running: is written where it is the job's turn.
        right: that must hold at that moment.

    Raises:
        OSError: it cannot be asked for.
    """
    with files.queue_lock(directory.parent):
        waiting = waits_for(spec, _others(directory), room_at(directory))
        if waiting is not None:
            right.lapse()
        elif right.is_confirmed():
            files.write(directory, running)
        else:
            waiting = Waiting(
                "Its turn has come; the server asks once more whether its person may capture."
            )
        return waiting


def check_number(live: Collection[JobSpec], owner: str | None) -> None:
    """Is one job more within the limits? To be asked under the lock of the queue.

    Args:
        live: those that run or wait.
        owner: whose it would be.

    Raises:
        QueueFull: it is not.
    """
    limits = settings().jobs
    owners = [spec.owner for spec in live]
    if owners.count(owner) >= limits.per_person:
        raise QueueFull(
            f"You have {owners.count(owner)} jobs that run or wait, and more are not taken.",
            remedy="Wait until some have ended, or cancel them on page Jobs.",
        )
    if len(owners) >= limits.in_all:
        raise QueueFull(
            f"{len(owners)} jobs run or wait on this server, and more are not taken.",
            remedy="Try it again later.",
        )


def waits_for(spec: JobSpec, others: Sequence[Other], room: Room) -> Waiting | None:
    """What a job waits for; None: it may start.

    Args:
        spec: of the job.
        others: every other job that is queued or running.
        room: what there is.
    """
    if not _fits_disk(spec, room):
        return Waiting(
            f"Waits for room on the disk: about {format_bytes(spec.disk_bytes)} are needed, and "
            f"{format_bytes(KEEP_FREE_BYTES)} must stay free of the "
            f"{format_bytes(room.disk_free_bytes)} that are left."
        )
    if spec.kind in files.MEASURING:
        return _waits_for_device(spec, others)
    shared = [other for other in others if other.spec.kind not in files.MEASURING]
    running = [other.spec for other in shared if other.is_running]
    ahead = [
        other
        for other in shared
        if not other.is_running
        and _fits_disk(other.spec, room)
        and _turn(other.spec, running) < _turn(spec, running)
    ]
    if ahead:
        n = len(ahead)
        return Waiting(f"Waits for {n} job{'' if n == 1 else 's'} ahead of it.", n)
    if len(running) >= room.slots:
        return Waiting(f"Is the next one, when one of the {len(running)} jobs that run has ended.")
    taken = sum(other.memory_bytes for other in running)
    left = min(room.memory_bytes - taken, room.memory_free_bytes)
    # Alone it starts in any case: waiting would not bring more.
    if running and spec.memory_bytes > left:
        return Waiting(
            f"Waits for memory: about {format_bytes(spec.memory_bytes)} are needed, and "
            f"{format_bytes(max(0, left))} are left beside the jobs that run."
        )
    return None


def _waits_for_device(spec: JobSpec, others: Sequence[Other]) -> Waiting | None:
    ahead = sorted(
        (
            other
            for other in others
            if other.spec.kind in files.MEASURING
            and other.spec.device == spec.device
            and _submitted(other.spec) < _submitted(spec)
        ),
        key=lambda other: _submitted(other.spec),
    )
    if not ahead:
        return None
    title = ahead[-1].spec.title
    n_queued = sum(not other.is_running for other in ahead)
    if not n_queued:
        return Waiting(f"Is the next one, when the capture that runs has ended: {title}.")
    return Waiting(f"Waits for the capture ahead of it: {title}.", n_queued)


def _fits_disk(spec: JobSpec, room: Room) -> bool:
    return room.disk_free_bytes - spec.disk_bytes >= KEEP_FREE_BYTES


def _turn(spec: JobSpec, running: Sequence[JobSpec]) -> tuple[int, float, str]:
    n_running = sum(other.owner == spec.owner for other in running)
    return (n_running, *_submitted(spec))


def _submitted(spec: JobSpec) -> tuple[float, str]:
    return spec.submitted_at, spec.job_id


def _others(directory: Path) -> list[Other]:
    return [
        Other(spec, status.state == "running")
        for other, spec, status in files.live_jobs(directory.parent)
        if other != directory
    ]

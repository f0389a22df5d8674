"""Who starts next, and what the others wait for: decided on made-up jobs and rooms."""

from dataclasses import replace

import pytest

from profiler_core.jobs.directory import JobSpec
from profiler_core.jobs.queue import Other, Waiting, waits_for
from profiler_core.jobs.room import KEEP_FREE_BYTES, Room

GB = 10**9
ROOM = Room(slots=2, memory_bytes=8 * GB, memory_free_bytes=8 * GB, disk_free_bytes=100 * GB)


def a_job(
    at: float, owner: str = "ada", memory_gb: float = 1, disk_gb: float = 0, **more: str
) -> JobSpec:
    return JobSpec(
        job_id=f"20260101-000000-{int(at):06x}",
        command=(),
        title=f"job {at:g}",
        submitted_at=at,
        owner=owner,
        memory_bytes=int(memory_gb * GB),
        disk_bytes=int(disk_gb * GB),
        **{"kind": "ingest", "device": "", **more},
    )


def running(*specs: JobSpec) -> list[Other]:
    return [Other(spec, is_running=True) for spec in specs]


def queued(*specs: JobSpec) -> list[Other]:
    return [Other(spec, is_running=False) for spec in specs]


def test_a_job_starts_where_there_is_room() -> None:
    assert waits_for(a_job(2), running(a_job(1)), ROOM) is None


def test_no_more_run_than_there_are_slots() -> None:
    waiting = waits_for(a_job(3), running(a_job(1), a_job(2)), ROOM)
    assert waiting == Waiting("Is the next one, when one of the 2 jobs that run has ended.")


def test_who_came_first_starts_first() -> None:
    assert waits_for(a_job(2), queued(a_job(3)), ROOM) is None
    waiting = waits_for(a_job(4), queued(a_job(3), a_job(2), a_job(5)), ROOM)
    assert waiting == Waiting("Waits for 2 jobs ahead of it.", 2)


def test_a_person_with_nothing_running_comes_before_one_with_a_job_that_runs() -> None:
    others = running(a_job(1, "ada"))
    assert waits_for(a_job(9, "bob"), [*others, *queued(a_job(2, "ada"))], ROOM) is None
    assert waits_for(a_job(2, "ada"), [*others, *queued(a_job(9, "bob"))], ROOM) == Waiting(
        "Waits for 1 job ahead of it.", 1
    )


def test_memory_that_others_will_take_is_not_free_for_a_further_job() -> None:
    large = a_job(1, memory_gb=6)
    assert waits_for(a_job(2, memory_gb=2), running(large), ROOM) is None
    waiting = waits_for(a_job(2, memory_gb=3), running(large), ROOM)
    assert waiting is not None and waiting.text == (
        "Waits for memory: about 3.00 GB are needed, and 2.00 GB are left beside the jobs that run."
    )
    little = replace(ROOM, memory_free_bytes=GB)
    assert waits_for(a_job(2, memory_gb=2), running(a_job(1)), little) is not None


def test_what_never_fits_beside_another_runs_alone() -> None:
    assert waits_for(a_job(1, memory_gb=50), [], ROOM) is None


def test_a_job_waits_for_the_disk_and_lets_smaller_ones_pass() -> None:
    room = replace(ROOM, disk_free_bytes=KEEP_FREE_BYTES + 2 * GB)
    large = a_job(1, disk_gb=3)
    waiting = waits_for(large, [], room)
    assert waiting is not None and waiting.text.startswith("Waits for room on the disk: about 3.00")
    assert waits_for(a_job(2, disk_gb=1), queued(large), room) is None


@pytest.mark.parametrize(("device", "waits"), [("cpu", True), ("cuda:0", False)])
def test_captures_wait_for_their_device_alone(device: str, waits: bool) -> None:
    others = [
        *running(a_job(1), a_job(2), a_job(3, device="cpu", kind="capture")),
        *queued(a_job(4, device="cpu", kind="capture")),
    ]
    waiting = waits_for(a_job(5, device=device, kind="capture"), others, ROOM)
    ahead = Waiting("Waits for the capture ahead of it: job 4.", 1)
    assert waiting == (ahead if waits else None)


def test_the_only_capture_that_waits_is_the_next_one() -> None:
    """Page Jobs called it "Place 2 in the queue": the one that runs is in the queue no more."""
    others = running(a_job(1, device="cpu", kind="capture"))
    assert waits_for(a_job(2, device="cpu", kind="capture"), others, ROOM) == Waiting(
        "Is the next one, when the capture that runs has ended: job 1."
    )


def test_captures_take_no_slot_from_what_is_read() -> None:
    captures = running(*(a_job(n, device=f"cuda:{n}", kind="capture") for n in range(4)))
    assert waits_for(a_job(9), captures, ROOM) is None

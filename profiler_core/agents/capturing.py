"""Starting a capture for an agent: only where the user switched it on, because it runs code."""

from typing import Any

from profiler_core.capture import jobs
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.door import deeds
from profiler_core.door.asker import Asker
from profiler_core.person import system_user
from profiler_core.settings import settings
from profiler_core.store import library


def start_capture(
    workload: str,
    variants: str = "eager,default",
    device: str = "auto",
    python: str = "",
    batch_size: int | None = None,
    training: bool = False,
    counters: bool = False,
) -> dict[str, Any]:
    """Run a model eager and compiled on this machine. Takes minutes: ask capture_progress.

    workload: resnet50, bert, customcnn … or path/to/file.py:function. variants: comma separated,
    the first is the baseline. device: auto, cpu, cuda or cuda:1. python: the interpreter that has
    the model's packages. counters: also measure memory traffic with Nsight Compute.
    """
    spec = CaptureSpec(
        workload,
        variants=parse_variants(variants),
        device=device,
        python=python or None,
        batch_size=batch_size,
        training=training,
        counters=counters,
    )
    job_id = deeds.start_capture(_agent(), spec)
    return {"job": job_id, "state": "queued"}


def _agent() -> Asker:
    """The user who started this server with captures allowed; on a team's machine not its owner."""
    is_team = settings().team is not None
    rights = ("look", "capture") if settings().allow_capture or not is_team else ("look",)
    return Asker(system_user(), rights, is_own_machine=not is_team, signed_in=True, is_agent=True)


def capture_progress(job: str) -> dict[str, Any]:
    """How far a capture is; once it has ended, the ids of its runs."""
    found = jobs.job(job)
    latest = found.progress.latest
    answer: dict[str, Any] = {
        "job": job,
        "state": found.state,
        "phase": latest.phase if latest else None,
        "text": latest.text if latest else None,
        "error": found.error,
    }
    folder = found.result
    if folder is not None:
        answer["runs"] = [
            entry.key
            for group in library.comparisons()
            if group.path == folder
            for entry in (group.baseline, *group.candidates)
        ]
    return answer


CAPTURING = (start_capture, capture_progress)

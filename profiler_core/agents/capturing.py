"""Starting a capture for an agent: only where the user switched it on, because it runs code."""

import sys
from typing import Any

from profiler_core import home
from profiler_core.capture import jobs
from profiler_core.capture.spec import CaptureSpec, parse_variants
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
    out = home.runs_directory()
    words = ["capture", *spec.to_argv(), "--out", str(out), "--progress", "{progress}"]
    job_id = jobs.submit(
        [sys.executable, "-m", "profiler_core", *words],
        title=f"{spec.title} · {', '.join(one.label for one in spec.variants)}"[:200],
        device=spec.device,
        owner="agent",
        out=out,
        capture=spec.to_dict(),
    )
    return {"job": job_id, "state": "queued"}


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

"""Agents try a change of the code: a patch, timed in turns with the file as it is, and judged."""

from profiler_core.agents.capturing import agent, capture_progress, check_wait
from profiler_core.answers.patch import PatchAnswer, patch_answer
from profiler_core.answers.record import Answer
from profiler_core.capture.spec import CaptureSpec, parse_option
from profiler_core.door.patching import start_patch as start
from profiler_core.jobs import service as jobs
from profiler_core.session.patched import judged


class PatchTrying(Answer, frozen=True):
    """How far it is; once both are measured, the verdict."""

    job: str
    state: str
    text: str | None
    error: str | None
    verdict: PatchAnswer | None


def start_patch(
    workload: str,
    patch: str,
    variant: str = "default",
    options: list[str] = [],  # noqa: B006 - never changed; the schema shows it
    training: bool = False,
    device: str = "auto",
) -> PatchTrying:
    """Judge a change of the user's file, which itself is not touched. Poll by patch_progress.

    workload: FILE.py:FUNCTION. patch: a unified diff, as git diff writes it. variant: what both
    run under. The verdict has the speed-up with its interval, whether the answers are still right,
    what moved, and which findings are gone.
    """
    spec = CaptureSpec(
        workload=workload,
        options=tuple(map(parse_option, options)),
        training=training,
        device=device,
    )
    return patch_progress(start(agent(), spec, patch, variant))


def patch_progress(job: str, wait_seconds: float = 0) -> PatchTrying:
    """How far a patch's capture is; once it has ended, the verdict.

    wait_seconds: answer once it has ended, or after so many seconds (at most 300).
    """
    check_wait(wait_seconds)
    progress = capture_progress(job, wait_seconds)
    folder = jobs.job(job).result if progress.state == "finished" else None
    verdict = None if folder is None else patch_answer(judged(folder), folder)
    return PatchTrying.of(progress, verdict=verdict)

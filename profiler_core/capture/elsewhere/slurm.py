"""A capture as a job of Slurm: the script is written, submitted, and waited for.

The folder is shared by this machine and the nodes. The script becomes the capture (`exec`), so
that what Slurm sends reaches it: a cancelled job cancels the capture, which leaves readable runs.
"""

import contextlib
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from profiler_core.capture.elsewhere.lost import end_unfinished
from profiler_core.capture.progress import ProgressLog
from profiler_core.errors import Cancelled, CaptureFailed

SCRIPT = "job.sh"
LOG = "slurm.log"
# Our code as a folder, wherever it lies: `python -c START folder words…`.
START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from profiler_core.capture.elsewhere.there import main; sys.exit(main())"
)
_LOOK_EVERY_S = 2.0
_ANSWERS_WITHIN_S = 60
_GIVES_UP_AFTER = 30  # questions in a row that the queue does not answer
_GONE = "Invalid job id"  # what squeue says of a job that ended some minutes ago
_HAS_ENDED = {"COMPLETED", "COMPLETING", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY"} | {
    "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE",
}  # fmt: skip
_LOG_TAIL_BYTES = 4_000


def job_words(words: Sequence[str], out: Path, progress: Path) -> list[str]:
    """What the job becomes: the capture, by the Python and the code that run this."""
    folder = Path(__file__).resolve().parents[3]
    capture = [*words, f"--out={out}", f"--progress={progress}"]
    return [sys.executable, "-P", "-c", START, str(folder), *capture]


def script_text(words: Sequence[str], out: Path, progress: Path) -> str:
    """The script for sbatch."""
    return f"#!/bin/sh\nexec {shlex.join(job_words(words, out, progress))}\n"


def submit_words(options: Sequence[str], folder: Path) -> list[str]:
    """The command line that submits the script; a later option wins over an earlier one."""
    own = ["--parsable", "--job-name=fusionscope", f"--output={folder / LOG}", "--open-mode=append"]
    return ["sbatch", *own, *options, str(folder / SCRIPT)]


def run_on_slurm(
    words: Sequence[str],
    options: Sequence[str],
    out: Path,
    progress: Path,
    *,
    is_cancelled: Callable[[], bool],
) -> None:
    """Submit a capture and wait for its end; what it made lies in `out`.

    Args:
        words: of the capture.
        options: of sbatch.
        out: a folder that the nodes share with this machine; the script is written beside it.
        progress: gets lines of progress, those of the queue among them.
        is_cancelled: asked several times a second.

    Raises:
        CaptureFailed: it cannot be submitted, or ended with nothing captured.
        Cancelled: likewise, because it was cancelled.
    """
    folder = out.parent
    script = folder / SCRIPT
    script.write_text(script_text(words, out, progress), encoding="utf-8")
    script.chmod(0o700)
    job = _submitted(submit_words(options, folder))
    was_cancelled = _wait(job, progress, is_cancelled)
    if (out / "failure.json").exists():
        return
    captures = [path for path in out.iterdir() if path.is_dir()]
    ended = _how_it_ended(job, folder / LOG, has_captured=bool(captures))
    if not captures and was_cancelled:
        raise Cancelled("The capture was cancelled.", remedy="Start it again when you like.")
    if not captures:
        raise ended
    end_unfinished(captures, ended)


def _submitted(words: Sequence[str]) -> str:
    done = _asked(words)
    job = done.stdout.strip().partition(";")[0]  # "123" or "123;cluster"
    if done.returncode or not job.isdigit():
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise CaptureFailed(
            f"Slurm did not take the job: {lines[-1].rstrip('.') if lines else 'it said nothing'}.",
            remedy="Pass what it needs, for example --slurm-option=--partition=gpu.",
        )
    return job


def _wait(job: str, progress: Path, is_cancelled: Callable[[], bool]) -> bool:
    """Until the job is in the queue no more; returns whether it was cancelled from here."""
    told = ""
    was_cancelled = False
    n_unanswered = 0
    asked_at = 0.0
    while True:
        if is_cancelled() and not was_cancelled:
            was_cancelled = True
            _asked(["scancel", job])
        if time.monotonic() - asked_at < _LOOK_EVERY_S:
            time.sleep(0.1)
            continue
        asked_at = time.monotonic()
        done = _asked(["squeue", "--noheader", f"--jobs={job}", "--format=%T %r"])
        state, _, reason = done.stdout.strip().partition(" ")
        if _GONE in done.stderr or (not done.returncode and (not state or state in _HAS_ENDED)):
            return was_cancelled
        n_unanswered = n_unanswered + 1 if done.returncode else 0
        if n_unanswered == _GIVES_UP_AFTER:
            raise CaptureFailed(
                f"Slurm's queue does not answer any more: {done.stderr.strip().rstrip('.')}.",
                remedy=f"Look at the job {job} with squeue; its folder is {progress.parent}.",
            )
        if state == "PENDING" and reason != told:
            told = reason
            ProgressLog((progress,)).say(
                "queued", f"Waits in Slurm's queue as job {job} ({reason})"
            )


def _how_it_ended(job: str, log: Path, *, has_captured: bool) -> CaptureFailed:
    """Why the job is over though it did not say so itself."""
    words: list[str] = []
    with contextlib.suppress(CaptureFailed):  # a cluster without accounting
        done = _asked(["sacct", "-n", "-X", "-P", f"--jobs={job}", "--format=State"])
        words = [] if done.returncode else done.stdout.split()
    state = words[0] if words else "no state that is known"  # "CANCELLED by 1000"
    tail = log.read_bytes()[-_LOG_TAIL_BYTES:] if log.exists() else b""
    lines = [line.strip() for line in tail.decode("utf-8", "replace").splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    when = "before all was measured" if has_captured else "before anything was captured"
    quoted = f", and its log ends with “{last.rstrip('.')}”" if last else ""
    remedies = {
        "TIMEOUT": "Give it more time: --slurm-option=--time=60.",
        "OUT_OF_MEMORY": "Give it more memory: --slurm-option=--mem=64G.",
    }
    return CaptureFailed(
        f"Slurm's job {job} ended {when} ({state}){quoted}.",
        remedy=remedies.get(state, "Start the capture again."),
    )


def _asked(words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWERS_WITHIN_S,
            check=False,
        )
    except FileNotFoundError:
        raise CaptureFailed(
            f"{words[0]} is not on the PATH here.",
            remedy="Capture on a machine of the cluster, or name its login node with --host.",
        ) from None
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(list(words), 1, "", f"{words[0]} took a minute")

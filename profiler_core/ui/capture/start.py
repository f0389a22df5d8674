"""From the spec to a running job, and to the command line that does the same."""

import shlex
import sys

import streamlit as st

from profiler_core import home
from profiler_core.capture import jobs
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import CaptureFailed
from profiler_core.store import history
from profiler_core.ui.capture.permission import signed_in_as, why_no_capture
from profiler_core.ui.sign_in.visitor import visitor


def start(spec: CaptureSpec | None) -> str:
    """Submit the capture as a job; returns its id.

    Raises:
        CaptureFailed: this visitor may not start one, or the supervisor does not start.
    """
    refusal = why_no_capture()
    if refusal or spec is None:
        # The button is disabled then; a click may still be on its way.
        raise CaptureFailed(refusal or "The form is not complete.", remedy="Look at the form.")
    out = home.runs_directory()
    title = f"{spec.title} · {', '.join(v.label for v in spec.variants)}"
    who = visitor()
    if who is not None:  # before it starts: what runs code here is written down, or does not run
        history.note(who.person, "capture", title[:300], device=spec.device)
    words = ["capture", *spec.to_argv(), "--out", str(out), "--progress", "{progress}"]
    return jobs.submit(
        [sys.executable, "-m", "profiler_core", *words],
        title=title,
        device=spec.device,
        owner=signed_in_as(),
        out=out,
        capture=spec.to_dict(),
    )


def command_line(spec: CaptureSpec | None) -> None:
    """Show the words that start the same capture from a shell."""
    if spec is None:
        return
    st.html("<h2 class=fs-h>The same from a shell</h2>")
    words = ["python", "-m", "profiler_core", "capture", *spec.to_argv(), "--out", "runs/"]
    st.code(shlex.join(words), language="bash", wrap_lines=True)
